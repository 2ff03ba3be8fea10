"""A day's file has what the table had, for each cluster, and a repetition replaces it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rebalance_monitor.streaming.core import tables
from rebalance_monitor.streaming.core.model.details import ConnectorCost
from rebalance_monitor.streaming.store.archive import NotWritten, ParquetArchive
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import PARTITION, commit, generation
from tests.streaming.core.test_costs import lasted
from tests.streaming.store.object_store import object_store
from tests.streaming.store.test_retention import TODAY, World, world

__all__ = ["world"]
pytestmark = pytest.mark.postgres
OLD = TODAY - 40
DATE = "2024-08-25"


def stored(world: World, cluster: str) -> list[dict[str, Any]]:
    """The rows of the day, as the archive has to have them."""
    names = [column.name for column in tables.GENERATIONS.columns]
    picked = ", ".join(
        f'"{column.name}"::text' if column.plain_type == "jsonb" else f'"{column.name}"'
        for column in tables.GENERATIONS.columns
    )
    rows = world.rows(
        f"select {picked} from rebalance_monitor.generations where day = {OLD} and cluster = '{cluster}'"
        ' order by "offset"'
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def file_of(folder: Path, cluster: str) -> Path:
    return folder / cluster / f"{DATE}.parquet"


def test_the_files_have_every_row_of_each_cluster(world: World, tmp_path: Path, dsn: str) -> None:
    world.write(OLD)
    world.write(OLD)
    other = PostgresStore(dsn, "d", now_ms=world.store._now_ms)
    epoch = other.claim()
    there = generation(3, cluster="d", group="h", at_ms=OLD * 86_400_000)
    other.commit(commit(epoch, 0, 10, there, key=PARTITION._replace(cluster_id="k2", topic_id="id-2")))
    other.close()
    wanted = {name: stored(world, name) for name in ("c", "d")}
    world.write(TODAY)
    assert world.cut(archive=ParquetArchive(str(tmp_path))).cut == (OLD,)
    for name, rows in wanted.items():
        assert rows
        assert pq.read_table(file_of(tmp_path, name)).to_pylist() == rows
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == [f"{DATE}.parquet"] * 2


def test_a_file_says_what_each_connector_cost(world: World, tmp_path: Path) -> None:
    told = {"moved": 2, "idle_ms": 9}
    world.write(OLD, by_connector={"a": ConnectorCost(**told)}, downtime=(lasted("clean", 7, a=7),))
    world.write(TODAY)
    world.cut(archive=ParquetArchive(str(tmp_path)))
    (row,) = pq.read_table(file_of(tmp_path, "c")).to_pylist()
    document = json.loads(row["document"])
    assert (document["by_connector"], document["downtime"][0]["by_connector"]) == ({"a": told}, {"a": 7})


def test_a_day_that_never_had_partitions_is_archived_too(world: World, tmp_path: Path) -> None:
    world.write(TODAY - 100)
    world.write(TODAY)
    world.cut(archive=ParquetArchive(str(tmp_path)))
    (file,) = tmp_path.rglob("*.parquet")
    assert pq.read_metadata(file).num_rows == 1
    assert world.days() == [TODAY]


def test_a_second_attempt_replaces_the_first_one(world: World, tmp_path: Path) -> None:
    world.write(OLD)
    file_of(tmp_path, "c").parent.mkdir()
    file_of(tmp_path, "c").write_text("half of a file")
    with world.store.database.session() as connection:
        assert ParquetArchive(f"file://{tmp_path}")(connection, OLD) == 1
    assert pq.read_metadata(file_of(tmp_path, "c")).num_rows == 1


def test_an_object_store_gets_the_same_rows_and_a_repetition_replaces_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write(OLD)
    world.write(OLD)
    rows = stored(world, "c")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    with object_store() as (port, objects), world.store.database.session() as connection:
        archive = ParquetArchive(f"s3://days/kept?region=any&scheme=http&endpoint_override=127.0.0.1%3A{port}")
        assert [archive(connection, OLD) for _ in range(2)] == [2, 2]
    files = {key: one for key, one in objects.items() if one}
    assert [*files] == [f"days/kept/c/{DATE}.parquet"]
    assert pq.read_table(pa.BufferReader(files[f"days/kept/c/{DATE}.parquet"])).to_pylist() == rows


def test_a_file_that_is_read_back_with_another_row_keeps_the_day(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write(OLD)
    world.write(TODAY)
    read = pq.ParquetFile.iter_batches

    def changed(file: Any, size: int) -> Iterator[Any]:
        for some in read(file, size):
            at = some.schema.get_field_index("grade")
            yield some.set_column(at, "grade", pa.array(["unexplained"] * len(some)))

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", changed)
    failed = world.cut(archive=ParquetArchive(str(tmp_path))).failed
    assert "has other rows than were written" in str(failed)
    assert world.days() == [OLD, TODAY]


def test_a_place_that_cannot_be_written_is_one_sentence(world: World, tmp_path: Path) -> None:
    world.write(OLD)
    world.write(TODAY)
    (tmp_path / "taken").write_text("a file, no folder")
    failed = world.cut(archive=ParquetArchive(str(tmp_path / "taken"))).failed
    assert isinstance(failed, NotWritten)
    assert str(failed).startswith(f"storage.archive {tmp_path}/taken cannot be written (")
    assert world.days() == [OLD, TODAY]


def test_what_an_address_holds_before_its_host_is_not_said(world: World) -> None:
    world.write(OLD)
    archive = ParquetArchive("nowhere://key:s3cr3t@archive/a")
    with world.store.database.session() as connection, pytest.raises(NotWritten) as said:
        archive(connection, OLD)
    assert str(said.value).startswith("storage.archive nowhere://archive/a cannot be written (")
    assert "s3cr3t" not in str(said.value)
