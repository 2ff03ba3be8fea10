"""What a group's fold remembers between batches; stored as text of one version."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from streaming.core.connect.config_history import ConfigHistory
from streaming.core.connect.delay_waits import Waits
from streaming.core.connect.foreign_workers import Sides
from streaming.core.connect.leader.hypotheses import Process
from streaming.core.connect.leader.unseen_leaders import UnseenLeaders
from streaming.core.connect.observed import Job, Observed
from streaming.core.connect.rules.memory import RuleMemory
from streaming.core.connect.statuses.memory import Timeline
from streaming.core.model.records import Row
from streaming.core.model.results import Incident, Source

STATE_VERSION = 3


@dataclass(frozen=True, slots=True)
class Waiting:
    """A group record not yet judged, since when, and whether it belongs to history. `ticked`: by the monitor's clock,
    which read it as it came."""

    row: Row
    arrived_ms: int
    historic: bool
    announced: bool = False
    ticked: bool = False


@dataclass(frozen=True, slots=True)
class Failing:
    """The fold of the group failed: when last, how often, with which errors, and generations folded since."""

    at_ms: int
    fingerprints: tuple[str, ...]
    times: int = 1
    folded: int = 0


@dataclass(frozen=True, slots=True)
class LastJoin:
    """When the join phase of the last record with members ended, by the coordinator's clock, and the shortest time-out
    of its members (`departures`); 0 where not known. Of a Connect group `last` tells it."""

    ended_ms: int = 0
    shortest_ms: int = 0


@dataclass(frozen=True, slots=True)
class Emptied:
    """A Connect group without a worker: since when by the coordinator's clock, the record that says so, and how long
    that may last. `config_offset` is the one of its last generation, below which the config topic must have been read.
    `historic`: the group was found so in history; the wait begins when the monitor reads live."""

    at_ms: int
    source: Source
    generation: int
    patience_ms: int
    config_offset: int = 0
    historic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """One group. Only what a later record or timer can ask for is kept.

    `nobody_may_run`: those jobs in `unassigned_since_ms` that no member of the last record may run; `behind_ms`: how
    far the coordinator's clock is behind the monitor's, if that is known, `least_behind_ms` the least of it since the
    clocks changed; `apart_ms`: how much longer the time since the last record looks than it surely was
    (`clocks`); `unread`: the last record of the group that
    could not be read; `lost`: offsets (from, to; the end exclusive) in the group's partition that were gone before they
    were read, the newest; `unseen_leaders`: who may have led in generations that left no record, now or in an earlier
    life of the group; `gapped`, stored by earlier releases: anybody may have; `written`:
    generation and end of the join phase (ms) of the newest records (`group_life`); `orphans`: incidents
    of a state that could not be read, to be ended; `failing`: while `monitor_error` is open
    (`isolation`). `session_ms` is the longest session time-out of the last generation's members,
    `emptied` set while a Connect group has none (`streaming.core.connect.workers_gone`).
    """

    incarnation: int = 0
    generation: int | None = None
    deleted: bool = False
    seen_from_start: bool = False
    last: Observed | None = None
    history: ConfigHistory = field(default_factory=ConfigHistory)
    eras: tuple[str, ...] = ()
    processes: Mapping[str, Process] = field(default_factory=dict)
    incidents: Mapping[str, Incident] = field(default_factory=dict)
    lingering: Mapping[str, Incident] = field(default_factory=dict)
    unassigned_since_ms: Mapping[str, int] = field(default_factory=dict)
    nobody_may_run: frozenset[str] = frozenset()
    patience_ms: int = 0
    timeouts_ms: int = 0
    rule_memory: RuleMemory = field(default_factory=RuleMemory)
    declared: Mapping[str, frozenset[Job]] = field(default_factory=dict)
    holds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    member_ids: frozenset[str] = frozenset()
    last_join: LastJoin = LastJoin()
    next_offsets: Mapping[str, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    waiting: tuple[Waiting, ...] = ()
    historic: bool = False
    behind_ms: int | None = None
    least_behind_ms: int | None = None
    apart_ms: int = 0
    unread: Source | None = None
    lost: tuple[tuple[int, int], ...] = ()
    orphans: tuple[Incident, ...] = ()
    gapped: bool = False
    unseen_leaders: UnseenLeaders = field(default_factory=UnseenLeaders)
    written: tuple[tuple[int, int], ...] = ()
    sides: Sides = field(default_factory=Sides)
    timeline: Timeline = field(default_factory=Timeline)
    waits: Waits = field(default_factory=Waits)
    failing: Failing | None = None
    session_ms: int = 0
    emptied: Emptied | None = None
