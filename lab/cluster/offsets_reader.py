"""An independent look at `__consumer_offsets`: which records are generations with members.

Shares no code with the product on purpose. Layouts as in Kafka's `GroupMetadataKey` and `GroupMetadataValue`: the
key is int16 version (2 = classic group) and the group's name; the value starts with int16 version, the protocol
type, the generation, protocol and leader, from version 2 the state's time, then the members' count.
"""

import struct
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from lab.errors import LabError

TOPIC = "__consumer_offsets"
CLASSIC_KEY = 2
FIRST_FLEXIBLE = 4


@dataclass(frozen=True, slots=True, order=True)
class Coordinates:
    """Where a record lies."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Found:
    """One classic group's record; `members` is 0 for an empty group, -1 for a tombstone."""

    at: Coordinates
    group: str
    generation: int
    members: int


class _Fields:
    """Reads one field after the other, in the old or the compact form."""

    def __init__(self, data: bytes, compact: bool = False) -> None:
        self._data = data
        self._pos = 0
        self.compact = compact

    def number(self, code: str) -> int:
        value: int = struct.unpack_from(f">{code}", self._data, self._pos)[0]
        self._pos += struct.calcsize(f">{code}")
        return value

    def _varint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self._data[self._pos]
            self._pos += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self) -> str:
        size = self._varint() - 1 if self.compact else self.number("h")
        start = self._pos
        self._pos += max(size, 0)
        return self._data[start : self._pos].decode(errors="replace")

    def count(self) -> int:
        return self._varint() - 1 if self.compact else self.number("i")


def parse(at: Coordinates, key: bytes | None, value: bytes | None) -> Found | None:
    """A classic group's record, or None for any other."""
    if key is None or len(key) < 4:
        return None
    fields = _Fields(key)
    if fields.number("h") != CLASSIC_KEY:
        return None
    group = fields.text()
    if value is None:
        return Found(at, group, -1, -1)
    fields = _Fields(value)
    version = fields.number("h")
    fields.compact = version >= FIRST_FLEXIBLE
    fields.text()
    generation = fields.number("i")
    fields.text()
    fields.text()
    if version >= 2:
        fields.number("q")
    return Found(at, group, generation, fields.count())


def read(bootstrap: str, timeout_s: float = 30) -> list[Found]:
    """Every classic group's record from the beginning to the end as of now, by partition and offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused: partitions are assigned by hand and nothing is committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
            "log_level": 0,
        }
    )
    try:
        topic = consumer.list_topics(TOPIC, timeout=timeout_s).topics[TOPIC]
        waiting = set(topic.partitions)
        consumer.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in waiting])
        found: list[Found] = []
        while waiting:
            message = consumer.poll(timeout_s)
            if message is None:
                raise LabError(f"{TOPIC} could not be read to its end within {timeout_s:.0f} s")
            error = message.error()
            if error is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    raise LabError(f"{TOPIC} could not be read: {error.str()}")
                waiting.discard(message.partition())
                continue
            at = Coordinates(TOPIC, int(message.partition() or 0), int(message.offset() or 0))
            parsed = parse(at, message.key(), message.value())
            if parsed is not None:
                found.append(parsed)
        return sorted(found, key=lambda one: one.at)
    finally:
        consumer.close()
