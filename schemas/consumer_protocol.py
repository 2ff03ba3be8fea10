"""The blobs a consumer and its leader exchange: subscription and assignment (protocol type `consumer`).

A version above the newest known one is read as the newest, because the format only ever appends.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas import wire
from schemas.errors import SchemaError, UnsupportedVersion, unreadable
from schemas.outcomes import Decoded, Outcome
from schemas.structs import Array, Field, Group, Kind, Layout, Values, reader, writer

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
        Field("topics", Array(Kind.STRING)),
        Field("userData", Kind.BYTES, nullable=True),
        Field("ownedPartitions", _BY_TOPIC, since=1),
        Field("generationId", Kind.INT32, since=2),
        Field("rackId", Kind.STRING, since=3, nullable=True),
    ),
)
ASSIGNMENT = Layout(
    "ConsumerProtocolAssignment",
    newest=NEWEST_VERSION,
    fields=(Field("assignedPartitions", _BY_TOPIC), Field("userData", Kind.BYTES, nullable=True)),
)


def decode_subscription(blob: bytes) -> Outcome[ConsumerSubscription]:
    """A member's subscription."""
    try:
        version, fields, end = _read(SUBSCRIPTION, blob)
    except SchemaError as why:
        return unreadable(why)
    value = ConsumerSubscription(
        version=version,
        topics=tuple(fields["topics"]),
        user_data=fields["userData"],
        owned=_flat(fields.get("ownedPartitions", ())),
        generation=fields.get("generationId", -1),
        rack=fields.get("rackId"),
    )
    return Decoded(value, len(blob) - end)


def decode_assignment(blob: bytes) -> Outcome[ConsumerAssignment]:
    """A member's assignment."""
    try:
        version, fields, end = _read(ASSIGNMENT, blob)
    except SchemaError as why:
        return unreadable(why)
    partitions = _flat(fields["assignedPartitions"])
    return Decoded(
        ConsumerAssignment(version=version, partitions=partitions, user_data=fields["userData"]), len(blob) - end
    )


def _read(layout: Layout, blob: bytes) -> tuple[int, Values, int]:
    version, pos = wire.read_int16(blob, 0)
    if version < 0:
        raise UnsupportedVersion(version)
    fields, end = reader(layout, min(version, NEWEST_VERSION))(blob, pos)
    return version, fields, end


def _flat(entries: Iterable[Values]) -> tuple[TopicPartition, ...]:
    return tuple((entry["topic"], number) for entry in entries for number in entry["partitions"])


def _grouped(partitions: Iterable[TopicPartition]) -> list[Values]:
    """Topics in order of first appearance, as Kafka's writer groups them."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    return [{"topic": topic, "partitions": numbers} for topic, numbers in by_topic.items()]


def encode_subscription(value: ConsumerSubscription) -> bytes:
    """The bytes of `value` in its own version 0-3."""
    out = bytearray()
    wire.write_int16(out, value.version)
    fields = {
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
    wire.write_int16(out, value.version)
    fields = {"assignedPartitions": _grouped(value.partitions), "userData": value.user_data}
    writer(ASSIGNMENT, value.version)(out, fields)
    return bytes(out)
