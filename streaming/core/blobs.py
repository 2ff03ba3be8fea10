"""The blobs that members carry inside a group's record, decoded once while they stay the same.

Most members send the same bytes in generation after generation, so values are remembered by content. What is
remembered is bounded in bytes, not entries: a Connect blob of a big group can have 100 kB.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias, TypeVar

from schemas import connect_protocol, consumer_protocol
from schemas.errors import SchemaError
from streaming.core.records import Assignment, BadBlob, Subscription

T = TypeVar("T")
SubscriptionReader: TypeAlias = Callable[[bytes], Subscription]
AssignmentReader: TypeAlias = Callable[[bytes], Assignment]

# Per kind of blob and half; a decoded value takes up to some thirty times its bytes, typically seven.
REMEMBERED_BYTES = 512 * 1024


def remembering(decode: Callable[[bytes], T], budget_bytes: int) -> Callable[[bytes], T]:
    """`decode`, called once per content as long as that is remembered. Two halves of `budget_bytes` each: what was
    asked for since the halves last changed places survives the next change. Values must not be None."""
    young: dict[bytes, T] = {}
    old: dict[bytes, T] = {}
    size = 0

    def recall(blob: bytes) -> T:
        nonlocal young, old, size
        value = young.get(blob)
        if value is not None:
            return value
        value = old.get(blob)
        if value is None:
            value = decode(blob)
        size += len(blob)
        if size > budget_bytes:
            young, old, size = {}, young, len(blob)
        if size <= budget_bytes:  # a blob larger than everything is not worth remembering
            young[blob] = value
        return value

    return recall


class MemberBlobs:
    """Readers of both blobs by protocol type; `budget_bytes` 0 remembers nothing."""

    def __init__(self, budget_bytes: int = REMEMBERED_BYTES) -> None:
        def kept(read: Callable[[bytes], tuple[T, int]]) -> Callable[[bytes], T | BadBlob]:
            sound = _sound(read)
            return remembering(sound, budget_bytes) if budget_bytes else sound

        connect_assignment = kept(connect_protocol.read_assignment)
        self._static = kept(partial(connect_protocol.read_worker_state, static=True)), connect_assignment
        self._by_type: dict[str, tuple[SubscriptionReader, AssignmentReader]] = {
            "connect": (kept(connect_protocol.read_worker_state), connect_assignment),
            "consumer": (kept(consumer_protocol.read_subscription), kept(consumer_protocol.read_assignment)),
        }

    def readers(self, protocol_type: str, protocol: str | None) -> tuple[SubscriptionReader, AssignmentReader]:
        """How the two blobs of this group's members are read; both give None for a type nobody has described."""
        if protocol_type == "connect" and protocol == "static":
            return self._static
        return self._by_type.get(protocol_type, _UNREAD)


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
