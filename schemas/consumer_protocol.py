"""The blobs a consumer and its leader exchange: subscription and assignment (protocol type `consumer`).

A version above the newest known one is read as the newest, because the format only ever appends.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas import wire
from schemas.compiled import RowReader, row_reader
from schemas.errors import SchemaError, UnsupportedVersion, unreadable
from schemas.frozen import maker
from schemas.outcomes import Decoded, Outcome
from schemas.struct_writers import writer
from schemas.structs import Array, Field, Group, Kind, Layout, Values

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


_make_subscription = maker(ConsumerSubscription)
_make_assignment = maker(ConsumerAssignment)


def decode_subscription(blob: bytes) -> Outcome[ConsumerSubscription]:
    """A member's subscription."""
    try:
        value, end = read_subscription(blob)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(value, len(blob) - end)


def decode_assignment(blob: bytes) -> Outcome[ConsumerAssignment]:
    """A member's assignment."""
    try:
        value, end = read_assignment(blob)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(value, len(blob) - end)


def read_subscription(blob: bytes) -> tuple[ConsumerSubscription, int]:
    """As `decode_subscription`, for the hot path: the value and its end, or SchemaError."""
    read = _SUBSCRIPTION_READERS.get(blob[:2]) or _newest_reader(SUBSCRIPTION, blob)
    (version, topics, user_data, owned, generation, rack), end = read(blob, 0)
    return _make_subscription(version, tuple(topics), user_data, tuple(owned), generation, rack), end


def read_assignment(blob: bytes) -> tuple[ConsumerAssignment, int]:
    """As `decode_assignment`, for the hot path: the value and its end, or SchemaError."""
    read = _ASSIGNMENT_READERS.get(blob[:2]) or _newest_reader(ASSIGNMENT, blob)
    (version, partitions, user_data), end = read(blob, 0)
    return _make_assignment(version, tuple(partitions), user_data), end


def _readers(layout: Layout) -> dict[bytes, RowReader]:
    """By the two bytes of the version in front."""
    return {version.to_bytes(2, "big"): row_reader(layout, version) for version in range(NEWEST_VERSION + 1)}


_SUBSCRIPTION_READERS = _readers(SUBSCRIPTION)
_ASSIGNMENT_READERS = _readers(ASSIGNMENT)


def _newest_reader(layout: Layout, blob: bytes) -> RowReader:
    version, _ = wire.read_int16(blob, 0)
    if version < 0:
        raise UnsupportedVersion(version)
    return row_reader(layout, NEWEST_VERSION)


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
