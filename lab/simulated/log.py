"""The records of a simulated cluster, as a capture of a real one would hold them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rebalance_monitor.schemas.group_metadata import GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord

NO_CLOCKS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One record. `clock` names the clock that stamps it; `group` is the value of a group's record, whose own time is
    a true time here, like `true_ms`."""

    topic: str
    partition: int
    offset: int
    true_ms: int
    clock: str
    key: bytes | None
    value: bytes | None
    group: GroupMetadata | None = None

    def stamped(self, offsets_ms: Mapping[str, int] = NO_CLOCKS) -> RawRecord:
        """As a reader finds it; `offsets_ms`: clock -> how far it is ahead of true time."""
        ahead_ms = offsets_ms.get(self.clock, 0)
        value = self.value
        if self.group is not None:
            value = encode_group_metadata(replace(self.group, state_ms=self.group.state_ms + ahead_ms))
        return RawRecord(
            topic=self.topic,
            partition=self.partition,
            offset=self.offset,
            timestamp_ms=self.true_ms + ahead_ms,
            key=self.key,
            value=value,
        )


class Log:
    """All partitions of all topics, in the order of the appends."""

    def __init__(self) -> None:
        self.written: list[Written] = []
        self._ends: dict[tuple[str, int], int] = {}

    def append(
        self,
        topic: str,
        partition: int,
        true_ms: float,
        clock: str,
        key: bytes | None,
        value: bytes | None,
        group: GroupMetadata | None = None,
    ) -> int:
        """One more record; returns its offset."""
        offset = self.end(topic, partition)
        self._ends[topic, partition] = offset + 1
        written = Written(
            topic=topic,
            partition=partition,
            offset=offset,
            true_ms=int(true_ms),
            clock=clock,
            key=key,
            value=value,
            group=group,
        )
        self.written.append(written)
        return offset

    def mark(self, topic: str, partition: int) -> None:
        """A transaction ends here: its marker takes an offset and is no record."""
        self._ends[topic, partition] = self.end(topic, partition) + 1

    def end(self, topic: str, partition: int) -> int:
        """The offset of the next record."""
        return self._ends.get((topic, partition), 0)

    def stamped(self, offsets_ms: Mapping[str, int] = NO_CLOCKS) -> Iterator[RawRecord]:
        """The capture, topic by topic, partition by partition, in offset order."""
        ordered = sorted(self.written, key=lambda one: (one.topic != OFFSETS_TOPIC, one.topic, one.partition))
        return (one.stamped(offsets_ms) for one in ordered)

    def clocks(self) -> list[str]:
        """All clocks that have stamped something, sorted."""
        return sorted({one.clock for one in self.written})
