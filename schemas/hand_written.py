"""Layouts made of codecs, compiled once per version into readers and writers.

Theory, the same as in `schemas.compiled`. A layout is turned into the source of one function, which is an optimist: it
compares nothing with the end of the buffer. Reading a number behind the end raises, a slice behind the end comes out
short and is noticed by one comparison at the end, and a position never moves backwards. Whatever surprises it (a
negative count, a named topology, the end of the buffer) makes it give up, and the exact reader, made of the codecs' own
readers, decides: it names the error, or reads what is unusual but sound. Both accept the same bytes and give the same
values; a property test holds them together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from struct import error as StructError  # noqa: N812 - a class like any other
from typing import Any

from .codecs import Codec, Row
from .errors import NotInVersion, UnsupportedVersion
from .layouts import FIRST_RELEASE, LAST_RELEASE, Release
from .source import Source
from .wire import Reader, Writer


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One field: versions `since` to `until`, in releases from `added` on and before `dropped`; `default` elsewhere."""

    name: str
    codec: Codec
    since: int = 1
    until: int = 0x7FFF
    default: Any = None
    added: Release = FIRST_RELEASE
    dropped: Release = LAST_RELEASE


@dataclass(frozen=True, slots=True, eq=False)
class HandWritten:
    """A payload whose fields stand in the order of `lines`; versions 1 to `newest`."""

    name: str
    newest: int
    lines: tuple[Line, ...]

    def names(self) -> tuple[str, ...]:
        """The fields in the order in which readers return them."""
        return tuple(dict.fromkeys(line.name for line in self.lines))


def _present(layout: HandWritten, version: int, release: Release) -> dict[str, Codec]:
    if not 1 <= version <= layout.newest:
        raise UnsupportedVersion(version)
    return {
        line.name: line.codec
        for line in layout.lines
        if line.since <= version <= line.until and line.added <= release < line.dropped
    }


def _defaults(layout: HandWritten) -> dict[str, Any]:
    return {line.name: line.default for line in layout.lines}


@cache
def exact_reader(layout: HandWritten, version: int, release: Release) -> Reader[Row]:
    """Reads field by field and says what is wrong; raises UnsupportedVersion."""
    present = _present(layout, version, release)
    defaults = _defaults(layout)

    def read(buf: bytes, pos: int) -> tuple[Row, int]:
        found = dict(defaults)
        for name, codec in present.items():
            found[name], pos = codec.read(buf, pos)
        return tuple(found.values()), pos

    return read


@cache
def reader(layout: HandWritten, version: int, release: Release) -> Reader[Row]:
    """The fast reader: values in the order of `layout.names()`. Raises what the exact one raises."""
    exact = exact_reader(layout, version, release)
    source = Source()
    results = []
    present = _present(layout, version, release)
    for name, default in _defaults(layout).items():
        results.append(name if name in present else source.constant(default))
    for name, codec in present.items():
        codec.emit(source, source.variable(name))
    source.scope["read_exactly"] = exact
    values = f"({''.join(f'{one}, ' for one in results)})"
    return source.function(
        f"{layout.name} v{version}", source.text(values, otherwise="return read_exactly(whole, start)")
    )


@cache
def writer(layout: HandWritten, version: int, release: Release) -> Writer[Mapping[str, Any]]:
    """The writer of `layout` at `version`, values by name; raises UnsupportedVersion. It raises SchemaError for what
    doesn't fit, numbers too large for their field included."""
    present = _present(layout, version, release)

    def write(out: bytearray, values: Mapping[str, Any]) -> None:
        for name, codec in present.items():
            try:
                codec.write(out, values[name])
            except StructError as why:
                raise NotInVersion(f"{name}: {why}") from why

    return write
