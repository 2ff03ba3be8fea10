"""Which partitions the threads of a Streams group read, by their own assignments, and since when.

The assignment of a thread lists the partitions of its active tasks; copies read changelogs alone. A thread restores the
state of a task that it was given before it reads its partitions, so it is remembered when each was given one.

    record 7    a1 {t-0}, b1 {t-1}            both gained at 10:00
    record 8    a1 {t-0}, b1 {t-1 t-2}        b1 gained at 10:10, a1 goes on as it was
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment
from rebalance_monitor.streaming.core.fold.capabilities import Holdings
from rebalance_monitor.streaming.core.model.records import GroupGeneration


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadByThreads:
    """`partitions` (`topic-number`) of each thread, `gained_ms`: when it was given one last that it did not have;
    `since_ms`: the time of the first record since the group had no members. By the coordinator's clock."""

    partitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    gained_ms: Mapping[str, int] = field(default_factory=dict)
    since_ms: int | None = None

    def holdings(self, busy_ms: int | None) -> Holdings:
        """Any of the partitions may belong to a task with state."""
        taken_ms = {one: self.gained_ms[name] for name, of in self.partitions.items() for one in of}
        return Holdings(self.partitions, self.since_ms, busy_ms, taken_ms)


def read_by(
    before: ReadByThreads | None, body: GroupGeneration, replaced: Collection[str], at_ms: int
) -> ReadByThreads | None:
    """After this record; None where an assignment cannot be read. `replaced`: instance ids of another process than
    before."""
    partitions: dict[str, tuple[str, ...]] = {}
    gained_ms: dict[str, int] = {}
    for member in body.members:
        if not isinstance(member.assignment, ConsumerAssignment):
            return None
        name = member.instance_id or member.member_id
        partitions[name] = tuple(f"{topic}-{number}" for topic, number in member.assignment.partitions)
        known = None if before is None or name in replaced else before.gained_ms.get(name)
        had = set() if before is None else set(before.partitions.get(name, ()))
        gained_ms[name] = at_ms if known is None or not had.issuperset(partitions[name]) else known
    since_ms = None if before is None else before.since_ms
    return ReadByThreads(partitions=partitions, gained_ms=gained_ms, since_ms=at_ms if since_ms is None else since_ms)
