"""Fast readers: a plain layout written out once as straight Python, without a call per field.

Theory. `structs.reader` walks a layout with small closures and says exactly what is wrong with bad bytes. This module
turns the same declaration into the source of one function and compiles it. That function is an optimist:

- neighbouring fixed-width fields, together with the length that follows them, are unpacked by one precompiled struct;
- nothing is compared with the end of the buffer on the way. Reading a number behind the end raises, a slice behind the
  end comes out short and is noticed by one comparison at the end, and a position never moves backwards;
- the whole buffer is decoded once as latin-1, where characters and bytes have the same index: a slice of that text is
  the field if it is ASCII, else its bytes are decoded as Java would;
- an array of (name, numbers) comes out flat, as pairs (name, number): the shape in which every caller wants it. A field
  with a number set `apart` comes out as two lists, the names that have it and the other pairs.

Whatever surprises it (null, negative, beyond the end) makes it give up, and the exact reader decides: it names the
error, or reads what is unusual but sound. So both accept the same bytes and give the same values, and a property test
holds them together. Example, `Layout("L", (Field("at", INT64), Field("name", STRING)))`:

    (at, length_of_name,) = unpack_qH(buf, pos)
    pos += 10
    if length_of_name > 32767: raise GiveUp
    end = pos + length_of_name
    name = text[pos:end]
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial
from struct import Struct as Packer
from struct import error as BehindTheEnd  # noqa: N812 - what it means here
from typing import Any, TypeAlias

from schemas.java_text import decode_utf8
from schemas.structs import Array, Field, Group, Kind, Layout, Type, reader

# Values of a struct in the order of its declaration, arrays of structs as lists of such tuples. A field that the
# version lacks is there with its declared default, so that a row has the same shape in every version.
Row: TypeAlias = tuple[Any, ...]
RowReader: TypeAlias = Callable[[bytes, int], tuple[Row, int]]

_CODES = {Kind.INT8: "b", Kind.INT16: "h", Kind.UINT16: "H", Kind.INT32: "i", Kind.INT64: "q", Kind.UUID: "16s"}
# A string's length is read unsigned: a negative one shows as more than Java's largest short.
_LONGEST_STRING = 0x7FFF


class GiveUp(Exception):
    """Something the compiled reader does not handle; the exact reader takes over."""


@cache
def row_reader(layout: Layout, version: int, make: Callable[..., Any] | None = None) -> Callable[..., tuple[Any, int]]:
    """The fast reader of `layout` at `version`; raises SchemaError exactly where `structs.reader` does. With `make` it
    answers what that makes of the row's values, given one by one."""
    exact = reader(layout, version)

    def read_exactly(buf: bytes, pos: int) -> tuple[Any, int]:
        values, end = exact(buf, pos)
        row = row_of(layout.fields, values)
        return (row if make is None else make(*row)), end

    if version >= layout.flexible_since:
        return read_exactly  # no broker writes hot records in the flexible encoding
    text = source(layout, version, made=make is not None)
    return _compiled(text, f"<{layout.name} v{version}>", {"read_exactly": read_exactly, "make": make})


def row_of(fields: tuple[Field, ...], values: Mapping[str, Any]) -> Row:
    """What the exact reader read, in the shape of the fast one; without tagged fields."""
    row: list[Any] = []
    for name, field in {f.name: f for f in fields if f.tag is None}.items():
        value = _shaped(field, values[name]) if name in values else field.default
        if field.apart is None:
            row.append(value)
        else:
            row += _NO_PAIRS if value is None else value
    return tuple(row)


_NO_PAIRS: tuple[tuple[()], tuple[()]] = ((), ())


def _shaped(field: Field, value: Any) -> Any:
    if value is None:
        return None
    match field.type:
        case Array(Group(fields)) if is_named_numbers(field.type):
            name, numbers = (f.name for f in fields)
            pairs = tuple([(one[name], number) for one in value for number in one[numbers]])
            if field.apart is None:
                return pairs
            names = tuple([one for one, number in pairs if number == field.apart])
            return names, tuple([pair for pair in pairs if pair[1] != field.apart])
        case Array(Group(fields)):
            return [row_of(fields, one) for one in value]
        case Array(Kind.INT32):
            return tuple(value)
        case _:
            return value


def is_named_numbers(type_: Type) -> bool:
    """Whether this is an array of { string, array of int32 }."""
    match type_:
        case Array(Group((Field(type=Kind.STRING), Field(type=Array(Kind.INT32))))):
            return True
        case _:
            return False


class _Int32s(dict[int, Callable[[bytes, int], tuple[int, ...]]]):
    """By their count: unpacks so many numbers at a position. Small counts, which are nearly all, are kept."""

    def __missing__(self, count: int) -> Callable[[bytes, int], tuple[int, ...]]:
        unpack = Packer(f">{count}i").unpack_from
        if count <= _KEPT_COUNTS:
            self[count] = unpack
        return unpack


_KEPT_COUNTS = 256
_INT32S = _Int32s()


def int32s(count: int) -> Callable[[bytes, int], tuple[int, ...]]:
    """Unpacks `count` numbers at a position."""
    return _INT32S[count]


def _compiled(text: str, name: str, known: Mapping[str, Any]) -> RowReader:
    codes = {word for word in text.replace("(", " ").split() if word.startswith("unpack_")}
    scope: dict[str, Any] = {code: Packer(">" + code.removeprefix("unpack_")).unpack_from for code in codes}
    scope |= {"BehindTheEnd": BehindTheEnd, "GiveUp": GiveUp, "utf8": decode_utf8, "INT32S": _INT32S, **known}
    exec(compile(text, name, "exec"), scope)
    made: RowReader = scope["read"]
    return made


def source(layout: Layout, version: int, *, made: bool = False) -> str:
    """The text of the function for one version of a plain layout."""
    may_end_early = any(field.optional for field in layout.fields)
    writer = _Source(version, may_end_early=may_end_early)
    names = writer.struct(layout.fields, "        ")
    lines = [
        "def read(buf, start=0):",
        "    try:",
        "        pos = start",
        '        text = buf.decode("latin-1")',
        # An array may stand at the very end: the look ahead at what follows it must find something.
        *(['        padded = buf + b"\\0\\0"'] if may_end_early else []),
        *writer.lines,
        "        if pos > len(buf): raise GiveUp",
        f"        return {'make' if made else ''}({''.join(name + ', ' for name in names)}), pos",
        "    except (BehindTheEnd, IndexError, GiveUp):",
        "        return read_exactly(buf, start)",
    ]
    return "\n".join(lines)


class _Source:
    """Lines under construction, and the fixed-width numbers that wait to be unpacked together."""

    def __init__(self, version: int, *, may_end_early: bool) -> None:
        self.lines: list[str] = []
        self.ahead = "padded" if may_end_early else "buf"
        self._version = version
        self._waiting: list[tuple[str, str]] = []
        self._used: Counter[str] = Counter()

    def _variable(self, name: str) -> str:
        self._used[name] += 1
        return name if self._used[name] == 1 else f"{name}_{self._used[name]}"

    def struct(self, fields: tuple[Field, ...], indent: str) -> list[str]:
        """Read every field; returns what holds them: a variable, or the default of a field this version lacks."""
        held: dict[str, str] = {}
        for field in fields:
            if not field.since <= self._version <= field.until:
                held.setdefault(field.name, repr(field.default) if field.apart is None else "(), ()")
                continue
            name = self._variable(field.name)
            held[field.name] = name if field.apart is None else f"tuple({name}_apart), tuple({name})"
            if field.optional:
                self.flush(indent)
                absent = f"{name} = {field.default!r}" if field.apart is None else f"{name}_apart = {name} = ()"
                self.lines.append(f"{indent}if pos >= len(buf): {absent}")
                self.lines.append(f"{indent}else:")
                self._field(field, name, indent + "    ")
                self.flush(indent + "    ")
            else:
                self._field(field, name, indent)
        self.flush(indent)
        return list(held.values())

    def flush(self, indent: str) -> None:
        """Unpack what waits."""
        if not self._waiting:
            return
        code = "".join(code for code, _ in self._waiting)
        targets = ", ".join(name for _, name in self._waiting)
        self._waiting.clear()
        if code == "H":  # two bytes are put together faster than a struct is called
            self.lines.append(f"{indent}{targets} = buf[pos] << 8 | buf[pos + 1]")
        else:
            self.lines.append(f"{indent}({targets},) = unpack_{code}(buf, pos)")
        self.lines.append(f"{indent}pos += {Packer('>' + code).size}")

    def _field(self, field: Field, name: str, indent: str) -> None:
        match field.type:
            case Kind.STRING:
                self._sized("H", indent, name, field.nullable, f"> {_LONGEST_STRING}", self._string)
            case Kind.BYTES:
                self._sized("i", indent, name, field.nullable, "< 0", self._bytes)
            case Kind():
                self._waiting.append((_CODES[field.type], name))
            case Array(of) if is_named_numbers(field.type):
                pairs, apart = partial(self._pairs, apart=field.apart), field.apart is not None
                self._sized("i", indent, name, field.nullable, "< 0", pairs, apart=apart)
            case Array(Kind.INT32):
                self._sized("i", indent, name, field.nullable, "< 0", self._int32s)
            case Array(of):
                self._sized("i", indent, name, field.nullable, "< 0", lambda n, c, i: self._array(of, n, c, i))
            case Group(fields):
                raise NotImplementedError(f"{field.name}: a struct that is no array's element, {len(fields)} fields")

    def _sized(
        self,
        code: str,
        indent: str,
        name: str,
        nullable: bool,
        absent: str,
        body: Callable[[str, str, str], None],
        *,
        apart: bool = False,
    ) -> None:
        """A field behind its length or count; `absent` is the test for null."""
        count = self._variable(f"{'length' if code == 'H' else 'count'}_of_{name}")
        self._waiting.append((code, count))
        self.flush(indent)
        if nullable:
            null = f"{name} = None" if not apart else f"{name}_apart = {name} = ()"
            self.lines.append(f"{indent}if {count} {absent}: {null}")
            self.lines.append(f"{indent}else:")
            body(name, count, indent + "    ")
        else:
            self.lines.append(f"{indent}if {count} {absent}: raise GiveUp")
            body(name, count, indent)

    def _string(self, name: str, length: str, indent: str) -> None:
        self.lines += [
            f"{indent}end = pos + {length}",
            f"{indent}{name} = text[pos:end]",
            f"{indent}if not {name}.isascii(): {name} = utf8(buf[pos:end])",
            f"{indent}pos = end",
        ]

    def _bytes(self, name: str, length: str, indent: str) -> None:
        self.lines += [f"{indent}end = pos + {length}", f"{indent}{name} = buf[pos:end]", f"{indent}pos = end"]

    def _int32s(self, name: str, count: str, indent: str) -> None:
        self.lines += [f"{indent}{name} = INT32S[{count}](buf, pos)", f"{indent}pos += 4 * {count}"]

    def _array(self, of: Type, name: str, count: str, indent: str) -> None:
        self.lines += [f"{indent}{name} = []", f"{indent}for _ in range({count}):"]
        inner = indent + "    "
        if isinstance(of, Group):
            names = self.struct(of.fields, inner)
            self.lines.append(f"{inner}{name}.append(({''.join(n + ', ' for n in names)}))")
        else:
            one = self._variable(f"one_of_{name}")
            self._field(Field(one, of), one, inner)
            self.flush(inner)
            self.lines += [f"{inner}{name}.append({one})", f"{indent}{name} = tuple({name})"]

    def _pairs(self, name: str, count: str, indent: str, apart: int | None) -> None:
        """The hottest loop of all: one unpacking reads count, first number and the next name's length, on the bet that
        there is one number and that something follows."""
        add = [f"{name}.append((one, number))"]
        extend = ["for number in INT32S[many](buf, end + 4):", f"    {name}.append((one, number))"]
        if apart is not None:
            add = [f"if number == {apart}: {name}_apart.append(one)", f"else: {name}.append((one, number))"]
            extend = [
                "for number in INT32S[many](buf, end + 4):",
                f"    if number == {apart}: {name}_apart.append(one)",
                f"    else: {name}.append((one, number))",
            ]
            self.lines.append(f"{indent}{name}_apart = []")
        self.lines += [
            f"{indent}{name} = []",
            f"{indent}if {count}:",
            f"{indent}    length = buf[pos] << 8 | buf[pos + 1]",
            f"{indent}    pos += 2",
            f"{indent}    for _ in range({count}):",
            f"{indent}        if length > {_LONGEST_STRING}: raise GiveUp",
            f"{indent}        end = pos + length",
            f"{indent}        one = text[pos:end]",
            f"{indent}        if not one.isascii(): one = utf8(buf[pos:end])",
            f"{indent}        many, number, length = unpack_iiH({self.ahead}, end)",
            f"{indent}        if many == 1:",
            *(f"{indent}            {line}" for line in add),
            f"{indent}            pos = end + 10",
            f"{indent}        else:",
            f"{indent}            if many < 0: raise GiveUp",
            *(f"{indent}            {line}" for line in extend),
            f"{indent}            pos = end + 4 + 4 * many",
            f"{indent}            length = {self.ahead}[pos] << 8 | {self.ahead}[pos + 1]",
            f"{indent}            pos += 2",
            f"{indent}    pos -= 2",
        ]
        if apart is None:
            self.lines.append(f"{indent}{name} = tuple({name})")
