"""Declared fields as lines of a compiled reader: the part that readers of one layout and of whole records share.

A string becomes, in a source whose position stands in `end` plus two bytes of length:

    (length_of_name,) = unpack_H(buf, end)
    if length_of_name > 32767: raise GiveUp
    pos = end + 2 + length_of_name
    name = text[end + 2:pos]
    if not name.isascii(): name = utf8(buf[end + 2:pos])

An array of (name, numbers) comes out flat, as pairs (name, number): the shape in which every caller wants it. A field
with a number set `apart` comes out as two values, the names that have it and the other pairs.
"""

from dataclasses import fields as dataclass_fields
from typing import Any, TypeAlias

from .frozen import twin
from .java_text import decode_utf8
from .layouts import Array, Field, Group, Kind, Type, present
from .source import Source
from .wire import INT32S

# What holds each field while the function runs: one variable or constant, two for a field with a number set apart.
Held: TypeAlias = dict[str, tuple[str, ...]]

CODES = {Kind.INT8: "b", Kind.INT16: "h", Kind.UINT16: "H", Kind.INT32: "i", Kind.INT64: "q", Kind.UUID: "16s"}
# A string's length is read unsigned: a negative one shows as more than Java's largest short.
LONGEST_STRING = 0x7FFF
# Zero bytes behind a buffer that make every look ahead find something.
PADDING = 4


def is_named_numbers(type_: Type) -> bool:
    """Whether this is an array of { string, array of int32 }."""
    match type_:
        case Array(Group((Field(type=Kind.STRING), Field(type=Array(Kind.INT32))))):
            return True
        case _:
            return False


def here(of: tuple[Field, ...], version: int) -> tuple[Field, ...]:
    """The fields that `version` has."""
    return tuple(present(of, version)[0])


def lacking(of: tuple[Field, ...]) -> Held:
    """What holds fields that a version lacks: their defaults."""
    return {f.name: (repr(f.default),) if f.apart is None else ("()", "()") for f in of if f.tag is None}


class FieldSource(Source):
    """A source that knows the types of declared fields."""

    def __init__(self) -> None:
        super().__init__()
        self.scope |= {"utf8": decode_utf8, "INT32S": INT32S}
        for taken in ("pos", "end", "buf", "text", "size", "start", "whole", "one", "many", "more", "number", "length"):
            self.variable(taken)

    def fields(self, of: tuple[Field, ...], version: int, limit: str = "size") -> Held:
        """Read what `version` has of these fields, which may end early at `limit`; what holds each."""
        present = here(of, version)
        names = [self.variable(f.name) for f in present]
        length: str | None = None  # of this field, if it was read together with that of the field before it
        for at, (field, name) in enumerate(zip(present, names, strict=True)):
            following = present[at + 1] if at + 1 < len(present) else None
            if field.optional:
                self.tail(present[at:], names[at:], version, limit)
                break
            if length is not None:
                self._text(name, length)
                length = None
            elif following is not None and _mostly_null(field, following):
                length = self._null_and_length(name, names[at + 1])
            else:
                self.field(field, name, version, limit)
        values = {
            field.name: (name,) if field.apart is None else (f"{name}_apart", name)
            for field, name in zip(present, names, strict=True)
        }
        return lacking(of) | values

    def field(self, field: Field, name: str, version: int, limit: str) -> None:
        """Read one field into the variable `name`."""
        match field.type:
            case Kind.STRING:
                length = self.length("H", name)
                if field.nullable:
                    with self.step_unless(f"{length} > {LONGEST_STRING}", length, name) as raw:
                        self._decoded(name, raw)
                else:
                    self._text(name, length)
            case Kind.BYTES:
                self._bytes(field, name)
            case Kind():
                self.number(CODES[field.type], name)
            case Array() if is_named_numbers(field.type):
                self._pairs(field, name)
            case Array(Kind.INT32) if not field.nullable:
                count = self._count(name)
                self.add(f"if {count} < 0: raise GiveUp")
                self.add(f"{name} = INT32S[{count}]({self.at()})")
                self.step(f"4 * {count}")
            case Array(of):
                self._array(of, name, version, limit, nullable=field.nullable)
            case _:
                raise TypeError(f"no fast reader is written for {field.name}: {field.type}")

    def made(self, cls: type[Any], held: Held, more: list[str], name: str) -> None:
        """Fill a new `cls` into the variable `name`, as `schemas.frozen` does: its fields in the order of what is held,
        then `more`, then defaults."""
        self.flush()
        values = [value for each in held.values() for value in each] + more
        self.add(f"{name} = {self.constant(twin(cls))}()")
        for at, field in enumerate(dataclass_fields(cls)):
            value = values[at] if at < len(values) else self.constant(field.default)
            self.add(f"{name}.{field.name} = {value}")
        self.add(f"{name}.__class__ = {self.constant(cls)}")

    def _count(self, name: str) -> str:
        return self.length("i", name)

    def _text(self, name: str, length: str) -> None:
        self.add(f"if {length} > {LONGEST_STRING}: raise GiveUp")
        self._decoded(name, self.step(length))

    def _decoded(self, name: str, raw: str) -> None:
        self.add(f"{name} = text{raw}")
        self.add(f"if not {name}.isascii(): {name} = utf8(buf{raw})")

    def _null_and_length(self, name: str, following: str) -> str:
        """A text that is mostly null, read together with the length of the text behind it, which is returned."""
        length, behind = self.variable(f"length_of_{name}"), self.variable(f"length_of_{following}")
        self.number("H", length)
        self.number("H", behind)
        with self.block(f"if {length} > {LONGEST_STRING}:"):
            self.add(f"{name} = None")
        with self.block("else:"):
            self.back(2)
            self._decoded(name, self.step(length))
            self.number("H", behind)
        return behind

    def _bytes(self, field: Field, name: str) -> None:
        length = self.length("i", name)
        if field.nullable:
            with self.step_unless(f"{length} < 0", length, name) as raw:
                self.add(f"{name} = buf{raw}")
        else:
            self.add(f"if {length} < 0: raise GiveUp")
            self.add(f"{name} = buf{self.step(length)}")

    def _array(self, of: Type, name: str, version: int, limit: str, *, nullable: bool) -> None:
        count = self._count(name)
        if not nullable:
            self.add(f"if {count} < 0: raise GiveUp")
        self.add(f"{name} = []")
        with self.block(f"for _ in range({count}):"):
            if isinstance(of, Group):
                held = self.fields(of.fields, version, limit)
                self.flush()
                self.add(f"{name}.append(({''.join(f'{v}, ' for values in held.values() for v in values)}))")
            else:
                item = self.variable(f"one_of_{name}")
                self.field(Field(item, of), item, version, limit)
                self.flush()
                self.add(f"{name}.append({item})")
        if not isinstance(of, Group):
            self.add(f"{name} = tuple({name})")
        if nullable:
            self.add(f"if {count} < 0: {name} = None")

    def _pairs(self, field: Field, name: str) -> None:
        """The hottest loop of all: one unpacking reads count, first number and the next name's length, on the bet that
        there is one number and that something follows."""
        count, apart = self.variable(f"count_of_{name}"), field.apart
        self.number("i", count)
        self.number("H", "length")
        self.flush()
        if not field.nullable:
            self.add(f"if {count} < 0: raise GiveUp")
        add = f"{name}.append((one, number))"
        pick = [add] if apart is None else [f"if number == {apart}: {name}_apart.append(one)", f"else: {add}"]
        self.add(f"{name} = []" if apart is None else f"{name}, {name}_apart = [], []")
        with self.block(f"for more in range({count} - 1, -1, -1):"):
            self._decoded_one()
            self.add("many, number, length = unpack_iiH(buf, end)")
            self.add("if many == 1:")
            self.add("    pos = end + 10")
            self.lines += [f"{self.indent}    {line}" for line in pick]
            self.add("else:")
            self.add("    if many < 0: raise GiveUp")
            self.add("    for number in INT32S[many](buf, end + 4):")
            self.lines += [f"{self.indent}        {line}" for line in pick]
            self.add("    pos = end + 6 + 4 * many")
            self.add("    if more: (length,) = unpack_H(buf, pos - 2)")
        self.back(2)
        self.settle()
        self.add(f"{name} = tuple({name})")
        if apart is not None:
            self.add(f"{name}_apart = tuple({name}_apart) if {name}_apart else ()")
        elif field.nullable:
            self.add(f"if {count} < 0: {name} = None")

    def _decoded_one(self) -> None:
        for code in ("iiH", "H"):
            self.unpacker(code)
        self.add(f"if length > {LONGEST_STRING}: raise GiveUp")
        self.add("end = pos + length")
        self._decoded("one", "[pos:end]")

    def tail(self, of: tuple[Field, ...], names: list[str], version: int, limit: str) -> None:
        """Optional fields, one after the other as long as there are bytes. Most lists are empty: if just so many bytes
        are left as nothing but empty ones take, they are read at once."""
        self.settle()
        if not of:
            return
        if all(f.type is Kind.INT32 or f.apart is not None for f in of) and len(of) > 1:
            with self.block(f"if pos + {4 * len(of)} == {limit}:"):
                self._empties(of, names)
            with self.block("else:"):
                self._one_optional(of[0], names[0], version, limit)
                self.tail(of[1:], names[1:], version, limit)
        else:
            self._one_optional(of[0], names[0], version, limit)
            self.tail(of[1:], names[1:], version, limit)

    def _empties(self, of: tuple[Field, ...], names: list[str]) -> None:
        for field, name in zip(of, names, strict=True):
            if field.apart is None:
                self.number("i", name)
            else:
                count = self.variable(f"count_of_{name}")
                self.number("i", count)
                self.after(f"if {count} {'>' if field.nullable else '!='} 0: raise GiveUp")
                self.after(f"{name} = {name}_apart = ()")
        self.flush()

    def _one_optional(self, field: Field, name: str, version: int, limit: str) -> None:
        absent = f"{name} = {field.default!r}" if field.apart is None else f"{name} = {name}_apart = ()"
        with self.block(f"if pos >= {limit}:"):
            self.add(absent)
        with self.block("else:"):
            self.field(field, name, version, limit)


def _mostly_null(field: Field, following: Field) -> bool:
    return field.type is following.type is Kind.STRING and field.nullable and not following.nullable
