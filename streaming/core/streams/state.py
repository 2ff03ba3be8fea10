"""What is remembered of a Streams group between batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.fold.missing_members import MissedMembers
from rebalance_monitor.streaming.core.fold.static_members import Sightings
from rebalance_monitor.streaming.core.fold.written_again import FirstVerdict
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.streams.holdings import ReadByThreads
from rebalance_monitor.streaming.core.streams.hypotheses import NOTHING_REMEMBERED, Remembered
from rebalance_monitor.streaming.core.streams.leftovers import Leftovers
from rebalance_monitor.streaming.core.streams.past import Past
from rebalance_monitor.streaming.core.streams.topology import Seen


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
