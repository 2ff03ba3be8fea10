"""A day of history as Parquet files, one for each cluster, before it is dropped.

    <archive>/production/2026-01-10.parquet      every generation of that day, its members in the document

The name says cluster and day, so a repetition replaces what an attempt before it has left. A file counts once it was
read back and every row of it is as it was written. `docs/history.md` has a query of Spark over them.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem, FileType

from rebalance_monitor.streaming.core import tables
from rebalance_monitor.streaming.core.columns import DAY_MS
from .database import Connection

AT_ONCE = 5_000
"""Rows in a row group: what is in memory at once."""
_TYPES = {"text": pa.string(), "int4": pa.int32(), "int8": pa.int64(), "bool": pa.bool_(), "jsonb": pa.string()}
COLUMNS = tables.GENERATIONS.columns
SCHEMA = pa.schema([(column.name, _TYPES[column.plain_type]) for column in COLUMNS])


class NotWritten(Exception):
    """A day is not in the archive. One sentence, without a secret."""


class ParquetArchive:
    """Writes to a path of this machine, or to an address that pyarrow knows, such as s3://bucket/folder."""

    def __init__(self, where: str) -> None:
        self._where, self._shown = where, re.sub(r"://[^/@]*@", "://", where)

    def __call__(self, connection: Connection, day: int) -> int:
        """How many generations of that day there are. NotWritten."""
        written = 0
        try:
            files, folder = _opened(self._where)
            with connection.transaction():
                for cluster, rows in groupby(_rows(connection, day), key=lambda row: str(row[0])):
                    path = f"{folder}/{quote(cluster, safe='')}/{_date(day)}.parquet"
                    told = _write(files, path, rows)
                    if (found := _read(files, path)) != told:
                        raise NotWritten(f"{path} has other rows than were written: {found[0]}, not {told[0]}")
                    written += told[0]
        except (OSError, pa.ArrowException) as why:
            said = why.strerror if isinstance(why, OSError) and why.strerror else type(why).__name__
            raise NotWritten(f"storage.archive {self._shown} cannot be written ({said})") from why
        return written


def _opened(where: str) -> tuple[FileSystem, str]:
    if "://" in where:
        files, folder = FileSystem.from_uri(where)
        return files, folder.rstrip("/")
    return FileSystem.from_uri(f"file://{where}")[0], where.rstrip("/")


def _read(files: FileSystem, path: str) -> tuple[int, str]:
    """How many rows a file has, and a digest of all that they say, in their order."""
    count, digest = 0, hashlib.sha256()
    with pq.ParquetFile(path, filesystem=files) as file:
        for some in file.iter_batches(AT_ONCE):
            rows = list(zip(*(column.to_pylist() for column in some.columns), strict=True))
            digest.update(_text(rows))
            count += len(rows)
    return count, digest.hexdigest()


def _text(rows: Iterable[Sequence[Any]]) -> bytes:
    return b"".join(repr(tuple(row)).encode("utf-8", "surrogatepass") for row in rows)


def _write(files: FileSystem, path: str, rows: Iterator[Sequence[Any]]) -> tuple[int, str]:
    """Beside its place first: a reader never sees half of a file. What `_read` has to find."""
    beside, count, digest = f"{path}.new", 0, hashlib.sha256()
    files.create_dir(path.rpartition("/")[0], recursive=True)
    with pq.ParquetWriter(beside, SCHEMA, filesystem=files, compression="zstd") as writer:
        while some := list(islice(rows, AT_ONCE)):
            columns = [
                pa.array(column, kind) for column, kind in zip(zip(*some, strict=True), SCHEMA.types, strict=True)
            ]
            writer.write_batch(pa.record_batch(columns, schema=SCHEMA))
            digest.update(_text(some))
            count += len(some)
    if files.get_file_info(path).type is not FileType.NotFound:
        files.delete_file(path)
    files.move(beside, path)
    return count, digest.hexdigest()


def _rows(connection: Connection, day: int) -> Iterator[Sequence[Any]]:
    """Of one day, by cluster, in the order of the log."""
    columns = ", ".join(
        f'"{column.name}"::text' if column.plain_type == "jsonb" else f'"{column.name}"' for column in COLUMNS
    )
    with connection.cursor("archived") as cursor:
        cursor.itersize = AT_ONCE
        cursor.execute(
            f"select {columns} from rebalance_monitor.generations where day = {day}"
            ' order by cluster, topic_id, partition, "offset"'.encode()
        )
        yield from cursor


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()
