"""Lines of a file that a command is given, or of standard input: packed with gzip or not, by what the file begins with.

Every damage is one sentence that says where it is.
"""

import gzip
import io
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

from .exit_codes import InputError

STDIN = "-"
_GZIP_MAGIC = b"\x1f\x8b"
InputPlace: TypeAlias = Path | zipfile.Path
"""A file or folder, on disk or within a zip."""


def lines_of(path: str | InputPlace) -> Iterator[bytes]:
    """The lines as they are, with their ends. Raises InputError."""
    try:
        with _opened(path) as raw:
            packed = raw.peek(2)[:2] == _GZIP_MAGIC
            yield from gzip.GzipFile(fileobj=raw) if packed else raw
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as why:
        raise unreadable(path, why) from why


def unreadable(path: object, why: Exception) -> InputError:
    """The sentence about a file that cannot be read."""
    match why:
        case EOFError():
            said = f"its gzip data is cut off ({why}); copy the file again"
        case gzip.BadGzipFile() | zlib.error():
            said = f"its gzip data is damaged ({why}); copy the file again"
        case zipfile.BadZipFile():
            said = f"its zip data is damaged ({why}); copy the file again"
        case UnicodeDecodeError():
            said = "it is not UTF-8 text; name another file"
        case OSError(strerror=str(strerror)):
            said = f"{strerror}; correct the path, or its permissions"
        case _:
            said = str(why)
    return InputError(f"cannot read {path}: {said}")


@contextmanager
def _opened(path: str | InputPlace) -> Iterator["io.BufferedReader[Any]"]:
    """The bytes of the file; standard input stays open."""
    if isinstance(path, zipfile.Path):
        with path.open("rb") as member:
            yield io.BufferedReader(cast(io.RawIOBase, member))
        return
    if str(path) != STDIN:
        with open(path, "rb") as file:
            yield file
        return
    raw: io.BufferedReader[Any] = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
    try:
        yield raw
    finally:
        if not raw.closed:  # a reader that stopped early is finalized with whatever it had open
            raw.detach()
