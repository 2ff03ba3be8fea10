"""A record and the blobs inside it, read by one function in one pass.

Theory. `compiled` makes a function per layout; a group's record has two or three blobs per member, and calling a
function for each, with its own copy of the bytes and its own text, costs as much as reading them. Here the layouts of
the record and of its blobs become the source of a single function (`schemas.source`) that runs over one buffer and
fills the finished objects as it goes. On top of what `compiled` does it uses what the members of one group share:

- the blobs of one record begin alike: every Connect assignment with the leader's header, every subscription with the
  same topics. The first `shared` fields are read once and then recognised by their bytes, within this record only;
- lists at the end of a blob are mostly empty. If just so many bytes are left as empty lists take, one unpacking reads
  them all;
- a null name in front of another name is expected, so both lengths are unpacked together;
- what a record ends with needs no care: a few zero bytes behind it let every look ahead find something.

It is an optimist as well: any surprise in any blob makes it give up on the whole record, and the caller reads it again
blob by blob, exactly. A position never moves backwards and every blob is compared with its own end, so a lying length
costs one pass over the record at most. Example: a blob of `(version INT16, leader STRING, delay INT32 optional)` in
each member's field `assignment`, its first two fields shared, to become an `Assignment`:

    limit = pos + length_of_assignment
    behind = pos + size_of_beginning
    if buf[pos:behind] == beginning:            # as in the member before: version and leader are known
        pos = behind
    else:
        …                                       # read both, remember their bytes as `beginning`
    if pos >= limit: delay = 0
    else: (delay,) = unpack_i(buf, pos); pos = pos + 4
    if pos > limit: raise GiveUp                # it took bytes of the next field
    pos = limit                                 # bytes left over are nobody's business
    assignment = AssignmentTwin()
    assignment.version = version
    …
    assignment.__class__ = Assignment           # frozen from here on, see `frozen`

`print(RecordSource(record).written())` shows the whole of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .field_source import PADDING, FieldSource, Held, here, lacking
from .layouts import Array, Field, Group, Layout

# (record, position) -> (values of the record's fields, the members last; end).
RecordReader: TypeAlias = Callable[[bytes, int], tuple[tuple[Any, ...], int] | None]


@dataclass(frozen=True, slots=True, eq=False)
class Blob:
    """What a bytes field holds: `layout` at `version`, to become a `made`, whose fields stand in the layout's order and
    may go on with defaults. `lowest` and `highest` bound the version in the bytes, the first field; `shared` says how
    many fields in front are mostly alike in all blobs of a record; `holds` names blobs inside."""

    layout: Layout
    version: int
    made: type[Any]
    lowest: int
    highest: int
    shared: int
    holds: Mapping[str, "Blob"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """Values of blobs by their bytes: `find` answers None for what is not known, `keep` is told what was read."""

    find: Callable[[bytes], Any]
    keep: Callable[[bytes, Any], None]


@dataclass(frozen=True, slots=True, eq=False)
class FusedRecord:
    """A record whose last field is an array of members, each to become a `made`: the member's fields in order, then the
    bytes of its blobs. `only` are texts that fields must have, `never` texts that they must not have; `instead` names
    the field that counts where another is -1; `memories` of blobs that were seen before, if there are any."""

    layout: Layout
    version: int
    made: type[Any]
    holds: Mapping[str, Blob]
    only: Mapping[str, str]
    never: Mapping[str, str]
    instead: Mapping[str, str]
    memories: Mapping[str, Memory] = field(default_factory=dict)


def record_reader(record: FusedRecord) -> RecordReader:
    """The compiled reader; it answers None for whatever it was not made for, and never raises."""
    source = RecordSource(record)
    return source.function(source.name(), source.written())


class RecordSource(FieldSource):
    """Lines of the reader of one kind of record."""

    def __init__(self, record: FusedRecord) -> None:
        super().__init__()
        self._record = record
        self._blobs = _blobs(record.holds)
        self._beginnings: list[str] = []

    def name(self) -> str:
        """For profiles and tracebacks."""
        inside = " and ".join(blob.layout.name for blob in self._record.holds.values())
        return f"{self._record.layout.name} v{self._record.version} with {inside}"

    def written(self) -> str:
        record = self._record
        *head, members = record.layout.fields
        assert isinstance(members.type, Array)
        assert isinstance(members.type.of, Group)
        held = self.fields(tuple(head), record.version)
        count = self.length("i", members.name)
        for sign, texts in (("!=", record.only), ("==", record.never)):
            for name, text in texts.items():
                self.add(f"if {held[name][0]} {sign} {text!r}: raise GiveUp")
        self.add(f"if {count} < 0: raise GiveUp")
        self.add("members = []")
        before = len(self.lines)
        with self.block(f"for _ in range({count}):"):
            self._member(members.type.of.fields)
        self.lines[before:before] = [f"{self.indent}{name}, size_of_{name} = None, 0" for name in self._beginnings]
        values = [value for each in held.values() for value in each]
        return self.text(f"({', '.join(values)}, tuple(members))", padding=PADDING, otherwise="return None")

    def _member(self, of: tuple[Field, ...]) -> None:
        record = self._record
        held = self.fields(of, record.version)
        self.flush()
        for name, other in record.instead.items():
            (value,), (counts,) = held[name], held[other]
            if value == name:
                self.add(f"if {value} == -1: {value} = {counts}")
            else:  # the version lacks it
                held[name] = held[other]
        self.made(record.made, held, [f"{name}_bytes" for name in record.holds], "member")
        self.add("members.append(member)")

    def field(self, field: Field, name: str, version: int, limit: str) -> None:
        """A bytes field that holds a blob is read as such; the layouts of a record name no two of them alike."""
        blob = self._blobs.get(field.name)
        if blob is None:
            super().field(field, name, version, limit)
        else:
            length = self.length("i", name)
            self.add(f"if {length} < 0: raise GiveUp")
            self._member_blob(blob, name, length)

    def tail(self, of: tuple[Field, ...], names: list[str], version: int, limit: str) -> None:
        """The length of an optional blob is read with the numbers before it, whether it is there or not."""
        blob = self._blobs.get(of[0].name) if of else None
        if blob is None:
            super().tail(of, names, version, limit)
            return
        (field,), (name,) = of, names  # what follows it is read by nobody
        assert field.nullable
        length = self.length("i", name)
        with self.block(f"if pos >= {limit} + 4:"):
            self.add(f"{name} = None")
            self.back(4)
        with self.block(f"elif {length} < 0:"):
            self.add(f"{name} = None")
        with self.block("else:"):
            limit = self.variable("limit")
            self.add(f"{limit} = pos + {length}")
            self._blob(blob, name, limit)

    def _member_blob(self, blob: Blob, name: str, length: str) -> None:
        """A blob of which the bytes are kept, and which may have been seen before."""
        self.settle()
        limit, raw, memory = self.variable("limit"), f"{name}_bytes", self._record.memories.get(name)
        self.add(f"{limit} = pos + {length}")
        self.add(f"{raw} = buf[pos:{limit}]")
        if memory is None:
            self._blob(blob, name, limit)
            return
        self.add(f"if {limit} > size: raise GiveUp")  # nothing that was read beyond the end is ever remembered
        self.add(f"{name} = {self.constant(memory.find)}({raw})")
        with self.block(f"if {name} is None:"):
            self._blob(blob, name, limit)
            self.add(f"{self.constant(memory.keep)}({raw}, {name})")
        with self.block("else:"):
            self.add(f"pos = {limit}")

    def _blob(self, blob: Blob, name: str, limit: str) -> None:
        of = here(blob.layout.fields, blob.version)
        if blob.shared:
            held = self._beginning(of[: blob.shared], blob, limit)
            held |= self.fields(of[blob.shared :], blob.version, limit)
        else:
            held = self._versioned(of, blob, limit)
        self.settle()
        self.add(f"if pos > {limit}: raise GiveUp")
        self.add(f"pos = {limit}")
        self.made(blob.made, lacking(blob.layout.fields) | held, [], name)

    def _beginning(self, of: tuple[Field, ...], blob: Blob, limit: str) -> Held:
        """The fields that blobs of a record have in common: known by their bytes, or read."""
        beginning, behind, start = (self.variable(hint) for hint in ("beginning", "behind", "start"))
        self._beginnings.append(beginning)
        self.add(f"{behind} = pos + size_of_{beginning}")
        with self.block(f"if buf[pos:{behind}] == {beginning}:"):
            self.add(f"pos = {behind}")
        with self.block("else:"):
            self.add(f"{start} = pos")
            held = self._versioned(of, blob, limit)
            self.settle()
            self.add(f"{beginning}, size_of_{beginning} = buf[{start}:pos], pos - {start}")
        return held

    def _versioned(self, of: tuple[Field, ...], blob: Blob, limit: str) -> Held:
        first, *rest = of
        version = self.variable(first.name)
        super().field(first, version, blob.version, limit)
        self.after(f"if not {blob.lowest} <= {version} <= {blob.highest}: raise GiveUp")
        return {first.name: (version,), **self.fields(tuple(rest), blob.version, limit)}


def _blobs(holds: Mapping[str, Blob]) -> dict[str, Blob]:
    """All of them, those inside others too."""
    return dict(holds) | {name: one for blob in holds.values() for name, one in _blobs(blob.holds).items()}
