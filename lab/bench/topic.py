"""A prepared `__consumer_offsets`: mostly offset commits, a share of group records, on a broker of its own.

The broker lets a client named `__admin_client` write there. Its coordinator then finds the log out of step with what
it wrote itself, so no real group may live on such a broker. Bytes are those of real clients: commits of version 3,
group records of version 3 with four members each that share one topic by ranges.
"""

import struct
import time
from collections.abc import Iterable, Iterator

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, TopicMetadata

from lab.errors import LabError
from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata

TOPIC = "__consumer_offsets"
GROUPS = 2_000
MEMBERS = 4
PARTITIONS_READ = 8
GROUP_SHARE = 0.01
FLUSH_S = 120.0
CREATED_WITHIN_S = 60.0
LARGEST_BYTES = 16_000_000
"""Of a record; brokers take 1 MB unless they are told otherwise."""

Record = tuple[int, bytes, bytes]  # partition, key, value


def java_hash(text: str) -> int:
    """`String.hashCode`, by which Kafka chooses a group's partition."""
    value = 0
    for unit in text.encode("utf-16-be", "surrogatepass")[1::2]:  # names here are ASCII: one byte says it all
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def _commit(group: str, topic: str, partition: int, offset: int, now_ms: int) -> tuple[bytes, bytes]:
    key = struct.pack(">h", 1) + _string(group) + _string(topic) + struct.pack(">i", partition)
    return key, struct.pack(">hqi", 3, offset, -1) + _string("") + struct.pack(">q", now_ms)


def members_of(group: str) -> tuple[GroupMember, ...]:
    subscription = encode_subscription(ConsumerSubscription(version=1, topics=("orders",)))
    each = PARTITIONS_READ // MEMBERS
    return tuple(
        GroupMember(
            member_id=f"{group}-{number}-0b5c6a7e-1f2d-4c3b-9a8e-7d6c5b4a3f2e",
            instance_id=None,
            client_id=f"{group}-{number}",
            client_host="/10.0.0.7",
            rebalance_timeout_ms=300_000,
            session_timeout_ms=45_000,
            subscription=subscription,
            assignment=encode_assignment(
                ConsumerAssignment(version=1, partitions=tuple(("orders", number * each + one) for one in range(each)))
            ),
        )
        for number in range(MEMBERS)
    )


def generation(name: str, number: int, members: tuple[GroupMember, ...], now_ms: int) -> tuple[bytes, bytes]:
    """Key and value of a group's record."""
    group = GroupMetadata(
        version=3, protocol_type="consumer", generation=number, protocol="range",
        leader=members[0].member_id, state_ms=now_ms, members=members,
    )  # fmt: skip
    return group_key(name), encode_group_metadata(group)


def group_key(name: str) -> bytes:
    return struct.pack(">h", 2) + _string(name)


def place(name: str, partitions: int) -> int:
    """The partition of a group."""
    return abs(java_hash(name)) % partitions


def records(count: int, partitions: int, now_ms: int) -> Iterator[Record]:
    """`count` records; every hundredth is a group's next generation. The same for the same arguments."""
    names = [f"consumer-{number:04}" for number in range(GROUPS)]
    places = [place(name, partitions) for name in names]
    members = [members_of(name) for name in names]
    every = round(1 / GROUP_SHARE)
    for number in range(count):
        if number % every:
            which = number * 7919 % GROUPS
            yield places[which], *_commit(names[which], "orders", number % PARTITIONS_READ, number, now_ms)
            continue
        turn, which = divmod(number // every, GROUPS)
        yield places[which], *generation(names[which], turn + 1, members[which], now_ms)


def generations(count: int) -> int:
    """How many of `count` records are generations."""
    return -(-count // round(1 / GROUP_SHARE))


def fill(bootstrap: str, count: int, partitions: int) -> None:
    """Append the records; LabError unless the broker took every one."""
    now_ms = time.time_ns() // 1_000_000
    append(bootstrap, ((TOPIC, *record, now_ms) for record in records(count, partitions, now_ms)))


def wait_for_leaders(admin: AdminClient, names: Iterable[str]) -> None:
    """Until each partition of these topics can take records: a broker tells of a topic a moment before that."""
    wanted, deadline = set(names), time.monotonic() + CREATED_WITHIN_S
    while wanted:
        listed = admin.list_topics(timeout=CREATED_WITHIN_S).topics
        wanted = {name for name in wanted if name not in listed or not _has_leaders(listed[name])}
        if time.monotonic() > deadline:
            raise LabError(f"{sorted(wanted)[0]} has partitions without a leader after {CREATED_WITHIN_S:.0f} s")


def _has_leaders(topic: TopicMetadata) -> bool:
    return bool(topic.partitions) and all(one.leader >= 0 and one.error is None for one in topic.partitions.values())


def append(bootstrap: str, written: Iterable[tuple[str, int, bytes | None, bytes | None, int]]) -> None:
    """Append records (topic, partition, key, value, time in ms); LabError unless the broker took every one."""
    failed: list[str] = []

    def told(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error.str())

    producer = Producer(
        {
            "bootstrap.servers": bootstrap, "client.id": "__admin_client", "log_level": 0, "linger.ms": 20,
            "batch.size": 1_000_000, "queue.buffering.max.messages": 200_000, "on_delivery": told,
            "message.max.bytes": LARGEST_BYTES,
        }
    )  # fmt: skip
    for topic, partition, key, value, at_ms in written:
        while True:
            try:
                producer.produce(topic, value=value, key=key, partition=partition, timestamp=at_ms)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    if left := producer.flush(FLUSH_S):
        failed.append(f"{left} records were not sent within {FLUSH_S:.0f} s")
    if failed:
        raise LabError(f"the topics could not be prepared: {failed[0]}")
