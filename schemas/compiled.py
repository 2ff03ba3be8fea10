"""Fast readers: a plain layout written out once as straight Python, without a call per field.

Theory. `structs.reader` walks a layout with small closures and says exactly what is wrong with bad bytes. This module
turns the same declaration into the source of one function (`schemas.field_source`) and compiles it. That function is an
optimist:

- neighbouring fixed-width fields, together with the length that follows them, are unpacked by one precompiled struct;
- nothing is compared with the end of the buffer on the way. Reading a number behind the end raises, a slice behind the
  end comes out short and is noticed by one comparison at the end, and a position never moves backwards;
- the whole buffer is decoded once as latin-1, where characters and bytes have the same index: a slice of that text is
  the field if it is ASCII, else its bytes are decoded as Java would.

Whatever surprises it (null, negative, beyond the end) makes it give up, and the exact reader decides: it names the
error, or reads what is unusual but sound. So both accept the same bytes and give the same values, and a property test
holds them together. Example, `Layout("L", (Field("at", INT64), Field("name", STRING)))`:

    (at, length_of_name,) = unpack_qH(buf, pos)
    if length_of_name > 32767: raise GiveUp
    end = pos + 10 + length_of_name
    name = text[pos + 10:end]
    if not name.isascii(): name = utf8(buf[pos + 10:end])
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from .field_source import PADDING, FieldSource, is_named_numbers
from .frozen import maker
from .layouts import Array, Field, Group, Kind, Layout
from .structs import reader

# Values of a struct in the order of its declaration, arrays of structs as lists of such tuples. A field that the
# version lacks is there with its declared default, so that a row has the same shape in every version.
Row: TypeAlias = tuple[Any, ...]


@cache
def row_reader(layout: Layout, version: int, cls: type[Any] | None = None) -> Callable[..., tuple[Any, int]]:
    """The fast reader of `layout` at `version`; raises SchemaError exactly where `structs.reader` does. With `cls` it
    answers one of these, whose fields are the row's values in order."""
    exact = reader(layout, version)
    make = None if cls is None else maker(cls)

    def read_exactly(buf: bytes, pos: int = 0) -> tuple[Any, int]:
        values, end = exact(buf, pos)
        row = row_of(layout.fields, values)
        return (row if make is None else make(*row)), end

    if version >= layout.flexible_since:
        return read_exactly  # no broker writes hot records in the flexible encoding
    source = FieldSource()
    source.scope["read_exactly"] = read_exactly
    return source.function(f"{layout.name} v{version}", written(source, layout, version, cls))


def written(source: FieldSource, layout: Layout, version: int, cls: type[Any] | None = None) -> str:
    """The text of the function for one version of a plain layout."""
    held = source.fields(layout.fields, version)
    if cls is None:
        result = f"({''.join(f'{one}, ' for each in held.values() for one in each)})"
    else:
        result = "made"
        source.made(cls, held, [], result)
    ends_early = any(field.optional for field in layout.fields)
    return source.text(result, padding=PADDING if ends_early else 0, otherwise="return read_exactly(whole, start)")


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
