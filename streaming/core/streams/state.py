"""What is remembered of a Streams group between batches.

Which partitions its threads read, and since when, their own assignments tell. The assignment of a thread lists the
partitions of its active tasks; copies read changelogs alone. A thread restores the state of a task that it was given
before it reads its partitions, so it is remembered when each was given one.

    record 7    a1 {t-0}, b1 {t-1}            both gained at 10:00
    record 8    a1 {t-0}, b1 {t-1 t-2}        b1 gained at 10:10, a1 goes on as it was
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment
from rebalance_monitor.streaming.core.fold.capabilities import Holdings
from rebalance_monitor.streaming.core.fold.missing_members import MissedMembers
from rebalance_monitor.streaming.core.fold.static_members import Sightings
from rebalance_monitor.streaming.core.fold.written_again import FirstVerdict
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .hypotheses import NOTHING_REMEMBERED, Remembered
from .past import Past
from .topology import Leftovers, Seen


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the last record with members asks for. `ended_ms`: when its join phase ended, `shortest_ms`: the shortest
    time-out of its members (`departures`), 0 where not known. `at_once`: a thread joins again as soon as it can;
    `revoked`: a thread has to give partitions up, and joins again then; `deadline_ms`: the time of the probing
    rebalance by the leader's clock. `versions`: the version that each thread used."""

    ended_ms: int = 0
    shortest_ms: int = 0
    at_once: bool = False
    revoked: bool = False
    deadline_ms: int | None = None
    versions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsState:
    """`holds`: the tasks and roles of each thread after the last record. `seen`: what records showed of the topology.
    `asked`: what the last record asks for. `sightings`: the processes of static members; `missed`: those that went
    and did not come back. `remembered`: what explained the last answer; `floor`: the largest offset sum ever reported
    of each task, which its changelogs reach. `past`: what laws across records look at. `looked_at`: what the
    application's own assignor looked at when it was run last (LAGS, …). `first`: the verdict on the newest generation,
    in case it is written again. `leftovers`: directories that nobody has opened since the application was stopped.
    `reading`: which partitions each thread reads; None where that is not known."""

    last: LastRecord | None = None
    holds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    seen: Seen = ()
    asked: Asked = Asked()
    sightings: Sightings = field(default_factory=dict)
    missed: MissedMembers = field(default_factory=MissedMembers)
    remembered: Remembered = NOTHING_REMEMBERED
    floor: Mapping[str, int] = field(default_factory=dict)
    past: Past = field(default_factory=Past)
    first: FirstVerdict | None = None
    looked_at: tuple[str, ...] = ()
    leftovers: Leftovers = field(default_factory=dict)
    reading: ReadByThreads | None = None
