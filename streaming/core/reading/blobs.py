"""The blobs that members carry inside a group's record, decoded once while they stay the same.

A lifecycle declares the bytes of its protocol type as a `MemberFormat`. Most members send the same bytes in generation
after generation, so values are remembered by content. What is remembered is bounded in bytes, not entries: a Connect
blob of a big group can have 100 kB.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from rebalance_monitor.schemas.errors import SchemaError
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.fused import Blob, FusedRecord, Memory, RecordReader, record_reader
from rebalance_monitor.schemas.offsets_topic import GROUP_METADATA
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration, MemberRow

T = TypeVar("T")
ReadBlob: TypeAlias = Callable[[bytes], tuple[Any, int]]
LeaderOf: TypeAlias = Callable[[object], str | None]
BlobReader: TypeAlias = Callable[[bytes], object]
Readers: TypeAlias = tuple[BlobReader, BlobReader]

# Per kind of blob and half; a decoded value takes up to some thirty times its bytes, typically seven.
REMEMBERED_BYTES = 512 * 1024


def memory(budget_bytes: int) -> Memory:
    """Values by content. Two halves of `budget_bytes` each: what was asked for since the halves last changed places
    survives the next change. Values must not be None."""
    young: dict[bytes, Any] = {}
    old: dict[bytes, Any] = {}
    size = 0

    def find(blob: bytes) -> Any:
        value = young.get(blob)
        if value is None:
            value = old.get(blob)
            if value is not None:
                keep(blob, value)
        return value

    def keep(blob: bytes, value: Any) -> None:
        nonlocal young, old, size
        size += len(blob)
        if size > budget_bytes:
            young, old, size = {}, young, len(blob)
        if size <= budget_bytes:  # a blob larger than everything is not worth remembering
            young[blob] = value

    return Memory(find, keep)


def remembering(decode: Callable[[bytes], T], budget_bytes: int) -> Callable[[bytes], T]:
    """`decode`, called once per content as long as that is remembered."""
    return _recalling(decode, memory(budget_bytes))


def _recalling(decode: Callable[[bytes], T], known: Memory) -> Callable[[bytes], T]:
    def recall(blob: bytes) -> T:
        value: T | None = known.find(blob)
        if value is None:
            value = decode(blob)
            known.keep(blob, value)
        return value

    return recall


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFormat:
    """How the bytes of members of one protocol type are read: the subscription and the assignment, as a layout to be
    compiled and as functions that return (value, end) or raise SchemaError. `exception`: a protocol whose subscription
    has other fields in the same bytes, and its reader; `leader`: who led, by a member's assignment (None: it does not
    say so)."""

    protocol_type: str
    layouts: tuple[Blob, Blob]
    subscription: ReadBlob
    assignment: ReadBlob
    exception: tuple[str, ReadBlob] | None = None
    leader: LeaderOf | None = None


class MemberBlobs:
    """Readers of both blobs by protocol type, and of whole records; `budget_bytes` 0 remembers nothing."""

    def __init__(self, formats: Iterable[MemberFormat], budget_bytes: int = REMEMBERED_BYTES) -> None:
        self._formats = {one.protocol_type: one for one in formats}
        self._budget_bytes = budget_bytes
        self._memories = {
            kind: (memory(budget_bytes), memory(budget_bytes)) if budget_bytes else () for kind in self._formats
        }
        self._by_type: dict[tuple[str, str | None], Readers] = {}
        for kind, form in self._formats.items():
            subscription, assignment = _sound(form.subscription), _sound(form.assignment)
            memories = self._memories[kind]
            if memories:
                subscription, assignment = _recalling(subscription, memories[0]), _recalling(assignment, memories[1])
            self._by_type[kind, None] = subscription, assignment
            if form.exception is not None:
                # Same bytes, other fields: what is read in them is remembered apart.
                protocol, read = form.exception
                other = remembering(_sound(read), budget_bytes) if budget_bytes else _sound(read)
                self._by_type[kind, protocol] = other, assignment
        self._kinds = _by_beginning(self._formats)
        self._whole: dict[bytes, RecordReader] = {}

    def __reduce__(self) -> tuple[object, ...]:
        """Another process reads alike and remembers for itself."""
        return MemberBlobs, (tuple(self._formats.values()), self._budget_bytes)

    def readers(self, protocol_type: str, protocol: str | None) -> Readers:
        """How the two blobs of this group's members are read; both give None for a type nobody has described."""
        found = self._by_type.get((protocol_type, protocol)) or self._by_type.get((protocol_type, None))
        return found or _UNREAD

    def read_again(self, body: GroupGeneration) -> GroupGeneration:
        """A generation that was stored, with what its members' bytes say."""
        subscription, assignment = self.readers(body.protocol_type, body.protocol)
        members = tuple(
            replace(
                member,
                subscription=subscription(member.subscription_bytes),
                assignment=assignment(member.assignment_bytes),
            )
            for member in body.members
        )
        return replace(body, members=members)

    def leader_of(self, body: GroupGeneration) -> str | None:
        """Who led, by what the members were given; None where that does not tell, or they were told different ones."""
        described = self._formats.get(body.protocol_type)
        if described is None or described.leader is None:
            return None
        told = {described.leader(one.assignment) for one in body.members}
        return told.pop() if len(told) == 1 else None

    def read_whole(self, value: bytes) -> tuple[tuple[Any, ...], int] | None:
        """The fields of a group's record, its members as `MemberRow`s, and its end; None for a record that has to be
        read piece by piece."""
        beginning = value[:_BEGINNING]
        read = self._whole.get(beginning)
        if read is None:
            kind = self._kinds.get(beginning)
            if kind is None:
                return None
            read = self._whole[beginning] = record_reader(self._record(kind, beginning[1]))
        return read(value, 2)

    def _record(self, kind: str, version: int) -> FusedRecord:
        names = ("subscription", "assignment")
        declared = self._formats[kind]
        return FusedRecord(
            layout=GROUP_METADATA,
            version=version,
            made=MemberRow,
            holds=dict(zip(names, declared.layouts, strict=True)),
            only={"protocolType": kind},
            never={} if declared.exception is None else {"protocol": declared.exception[0]},
            instead={"rebalanceTimeout": "sessionTimeout"},
            memories=dict(zip(names, self._memories[kind], strict=False)),
        )


def _nothing(blob: bytes) -> None:
    return None


_UNREAD: Readers = (_nothing, _nothing)


_EMPTY = BadBlob("empty")


def _sound(read: ReadBlob) -> BlobReader:
    """What `read` reads, whatever is left over; a blob that Kafka's own reader rejects becomes the reason."""

    def value(blob: bytes) -> object:
        if not blob:
            return _EMPTY
        try:
            found: object = read(blob)[0]
            return found
        except SchemaError as why:
            return BadBlob(why.reason)

    return value


# A record's version, and the length and first letters of its protocol type.
_BEGINNING = 8


def _by_beginning(kinds: Iterable[str]) -> dict[bytes, str]:
    return {
        (version.to_bytes(2, "big") + len(kind).to_bytes(2, "big") + kind.encode())[:_BEGINNING]: kind
        for version in range(GROUP_METADATA.flexible_since)
        for kind in kinds
    }
