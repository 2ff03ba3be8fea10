"""The blobs a consumer and its leader exchange: subscription and assignment (protocol type `consumer`).

A version above the newest known one is read as the newest, because the format only ever appends.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from . import wire
from .compiled import row_reader
from .errors import SchemaError, UnsupportedVersion, unreadable
from .fused import Blob
from .layouts import Array, Field, Group, Kind, Layout, Values
from .outcomes import Decoded, Outcome
from .struct_writers import writer

T = TypeVar("T")
TopicPartition = tuple[str, int]

NEWEST_VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSubscription:
    """Subscription V0-V3; lists keep wire order."""

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerAssignment:
    """Assignment V0-V3: the member's complete set."""

    version: int
    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None


_BY_TOPIC = Array(Group((Field("topic", Kind.STRING), Field("partitions", Array(Kind.INT32)))))

SUBSCRIPTION = Layout(
    "ConsumerProtocolSubscription",
    newest=NEWEST_VERSION,
    fields=(
        Field("version", Kind.INT16),
        Field("topics", Array(Kind.STRING)),
        Field("userData", Kind.BYTES, nullable=True),
        Field("ownedPartitions", _BY_TOPIC, since=1, default=()),
        Field("generationId", Kind.INT32, since=2, default=-1),
        Field("rackId", Kind.STRING, since=3, nullable=True),
    ),
)
ASSIGNMENT = Layout(
    "ConsumerProtocolAssignment",
    newest=NEWEST_VERSION,
    fields=(
        Field("version", Kind.INT16),
        Field("assignedPartitions", _BY_TOPIC),
        Field("userData", Kind.BYTES, nullable=True),
    ),
)


# Mostly the same topics. Older versions are read piece by piece.
SUBSCRIPTION_BLOB = Blob(
    SUBSCRIPTION, NEWEST_VERSION, ConsumerSubscription, lowest=NEWEST_VERSION, highest=0x7FFF, shared=2
)
ASSIGNMENT_BLOB = Blob(ASSIGNMENT, NEWEST_VERSION, ConsumerAssignment, lowest=NEWEST_VERSION, highest=0x7FFF, shared=0)


def decode_subscription(blob: bytes) -> Outcome[ConsumerSubscription]:
    try:
        value, end = read_subscription(blob)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(value, len(blob) - end)


def decode_assignment(blob: bytes) -> Outcome[ConsumerAssignment]:
    try:
        value, end = read_assignment(blob)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(value, len(blob) - end)


def read_subscription(blob: bytes) -> tuple[ConsumerSubscription, int]:
    """As `decode_subscription`, for the hot path: the value and its end, or SchemaError."""
    read = _SUBSCRIPTION_READERS.get(blob[:2])
    return read(blob, 0) if read is not None else _read_newer(_SUBSCRIPTION_READERS, blob)


def read_assignment(blob: bytes) -> tuple[ConsumerAssignment, int]:
    """As `decode_assignment`, for the hot path: the value and its end, or SchemaError."""
    read = _ASSIGNMENT_READERS.get(blob[:2])
    return read(blob, 0) if read is not None else _read_newer(_ASSIGNMENT_READERS, blob)


def _readers(layout: Layout, cls: type[T]) -> dict[bytes, Callable[[bytes, int], tuple[T, int]]]:
    """By the two bytes of the version in front."""
    return {
        version.to_bytes(2, "big"): row_reader(layout, version, cast(Any, cls)) for version in range(NEWEST_VERSION + 1)
    }


_SUBSCRIPTION_READERS = _readers(SUBSCRIPTION, ConsumerSubscription)
_ASSIGNMENT_READERS = _readers(ASSIGNMENT, ConsumerAssignment)
_NEWEST = NEWEST_VERSION.to_bytes(2, "big")


def _read_newer(readers: dict[bytes, Callable[[bytes, int], tuple[T, int]]], blob: bytes) -> tuple[T, int]:
    """For versions nobody has described."""
    version, _ = wire.read_int16(blob, 0)
    if version < 0:
        raise UnsupportedVersion(version)
    return readers[_NEWEST](blob, 0)


def _grouped(partitions: Iterable[TopicPartition]) -> list[Values]:
    """Topics in order of first appearance, as Kafka's writer groups them."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    return [{"topic": topic, "partitions": numbers} for topic, numbers in by_topic.items()]


def encode_subscription(value: ConsumerSubscription) -> bytes:
    """The bytes of `value` in its own version 0-3."""
    out = bytearray()
    fields = {
        "version": value.version,
        "topics": value.topics,
        "userData": value.user_data,
        "ownedPartitions": _grouped(value.owned),
        "generationId": value.generation,
        "rackId": value.rack,
    }
    writer(SUBSCRIPTION, value.version)(out, fields)
    return bytes(out)


def encode_assignment(value: ConsumerAssignment) -> bytes:
    """The bytes of `value` in its own version 0-3."""
    out = bytearray()
    fields = {"version": value.version, "assignedPartitions": _grouped(value.partitions), "userData": value.user_data}
    writer(ASSIGNMENT, value.version)(out, fields)
    return bytes(out)
