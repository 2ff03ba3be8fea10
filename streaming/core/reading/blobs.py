"""The blobs that members carry inside a group's record, decoded once while they stay the same.

Most members send the same bytes in generation after generation, so values are remembered by content. What is
remembered is bounded in bytes, not entries: a Connect blob of a big group can have 100 kB.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

from schemas import connect_protocol, consumer_protocol
from schemas.errors import SchemaError
from schemas.fused import Memory, Record, RecordReader, record_reader
from schemas.offsets_topic import GROUP_METADATA
from streaming.core.model.records import Assignment, BadBlob, MemberRow, Subscription

T = TypeVar("T")
SubscriptionReader: TypeAlias = Callable[[bytes], Subscription]
AssignmentReader: TypeAlias = Callable[[bytes], Assignment]

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


class MemberBlobs:
    """Readers of both blobs by protocol type, and of whole records; `budget_bytes` 0 remembers nothing."""

    def __init__(self, budget_bytes: int = REMEMBERED_BYTES) -> None:
        self._memories = {kind: (memory(budget_bytes), memory(budget_bytes)) if budget_bytes else () for kind in _KINDS}
        self._by_type: dict[str, tuple[SubscriptionReader, AssignmentReader]] = {
            kind: self._readers(kind, *readers) for kind, readers in _READERS.items()
        }
        # Same bytes, other fields: what a static group's workers say is remembered apart.
        read_static = _sound(partial(connect_protocol.read_worker_state, static=True))
        static = remembering(read_static, budget_bytes) if budget_bytes else read_static
        self._static = static, self._by_type["connect"][1]
        self._whole: dict[bytes, RecordReader] = {}

    def _readers(self, kind: str, *readers: Callable[[bytes], Any]) -> tuple[SubscriptionReader, AssignmentReader]:
        memories = self._memories[kind]
        if not memories:
            return readers[0], readers[1]
        return _recalling(readers[0], memories[0]), _recalling(readers[1], memories[1])

    def readers(self, protocol_type: str, protocol: str | None) -> tuple[SubscriptionReader, AssignmentReader]:
        """How the two blobs of this group's members are read; both give None for a type nobody has described."""
        if protocol_type == "connect" and protocol == "static":
            return self._static
        return self._by_type.get(protocol_type, _UNREAD)

    def read_whole(self, value: bytes) -> tuple[tuple[Any, ...], int] | None:
        """The fields of a group's record, its members as `MemberRow`s, and its end; None for a record that has to be
        read piece by piece."""
        beginning = value[:_BEGINNING]
        read = self._whole.get(beginning)
        if read is None:
            kind = _KINDS_BY_BEGINNING.get(beginning)
            if kind is None:
                return None
            read = self._whole[beginning] = record_reader(self._record(kind, beginning[1]))
        return read(value, 2)

    def _record(self, kind: str, version: int) -> Record:
        names = ("subscription", "assignment")
        return Record(
            layout=GROUP_METADATA,
            version=version,
            made=MemberRow,
            holds=dict(zip(names, _BLOBS[kind], strict=True)),
            only={"protocolType": kind},
            never={"protocol": "static"} if kind == "connect" else {},
            instead={"rebalanceTimeout": "sessionTimeout"},
            memories=dict(zip(names, self._memories[kind], strict=False)),
        )


def _nothing(blob: bytes) -> None:
    return None


_UNREAD: tuple[SubscriptionReader, AssignmentReader] = (_nothing, _nothing)


_EMPTY = BadBlob("empty")


def _sound(read: Callable[[bytes], tuple[T, int]]) -> Callable[[bytes], T | BadBlob]:
    """What `read` reads, whatever is left over; a blob that Kafka's own reader rejects becomes the reason."""

    def value(blob: bytes) -> T | BadBlob:
        if not blob:
            return _EMPTY
        try:
            return read(blob)[0]
        except SchemaError as why:
            return BadBlob(why.reason)

    return value


_READERS: dict[str, tuple[Callable[[bytes], Any], Callable[[bytes], Any]]] = {
    "connect": (_sound(connect_protocol.read_worker_state), _sound(connect_protocol.read_assignment)),
    "consumer": (_sound(consumer_protocol.read_subscription), _sound(consumer_protocol.read_assignment)),
}
_BLOBS = {
    "connect": (connect_protocol.WORKER_STATE_BLOB, connect_protocol.ASSIGNMENT_BLOB),
    "consumer": (consumer_protocol.SUBSCRIPTION_BLOB, consumer_protocol.ASSIGNMENT_BLOB),
}
_KINDS = tuple(_BLOBS)
# A record's version, and the length and first letters of its protocol type.
_BEGINNING = 8
_KINDS_BY_BEGINNING = {
    (version.to_bytes(2, "big") + len(kind).to_bytes(2, "big") + kind.encode())[:_BEGINNING]: kind
    for version in range(GROUP_METADATA.flexible_since)
    for kind in _KINDS
}
