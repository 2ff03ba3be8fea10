"""What the timeline remembers of a group between batches; stored with the group's state."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.connect.statuses.facts import JobKey, Sighting
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.worker_clocks import ClockOffset, Recorded
from rebalance_monitor.streaming.core.model.effects import Burst, JobDowntime
from rebalance_monitor.streaming.core.model.results import Cause, Evidence, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Two workers that may run one job (CONNECT-K2): `new` wrote RUNNING in `generation` while `old` still claimed it.

    It ends at `due_ms` unless `old` gives a sign of life before; `certain` once it did. `new` had surely started by
    `late_ms` (None: nobody knows). `alive`: generation and time of the first status of `old` behind that in the topic.
    `ended`: `new` runs the job no more, but whether `old` ran beside it is not known yet. `downgraded`: likely
    already, for the generation is the first eager one after a cooperative one, and `old` is in it. `hidden`: `old` may
    have written that the job ended where nobody could read it. `over`: `new` may have done so, and nothing shows any
    more that both ran it at a time.
    """

    job: JobKey
    new: str
    old: str
    generation: int
    at_ms: int
    due_ms: int
    certain: bool = False
    downgraded: bool = False
    late_ms: int | None = None
    alive: tuple[int, int] | None = None
    ended: bool = False
    hidden: bool = False
    over: bool = False


@dataclass(frozen=True, slots=True)
class CameBack:
    """A worker that came into a generation with a job that another one, `beside` it, reported as its own as well."""

    job: JobKey
    worker: str
    beside: str
    generation: int
    source: Source


@dataclass(frozen=True, slots=True)
class Stray:
    """A RUNNING by a worker that does not hold the job (CONNECT-K3), to be looked at again at `due_ms`. `awaited`: it
    came before its generation's record, which is waited for since `since_ms`."""

    worker: str
    generation: int
    due_ms: int
    since_ms: int = 0
    awaited: bool = False


@dataclass(frozen=True, slots=True)
class Restarts:
    """A task's last status among FAILED, RESTARTING and RUNNING, and when such statuses changed (ms), the newest."""

    state: str
    times_ms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker that is in no record any more: how many jobs it had, for how many of them it has ever written a status,
    how many it said to have stopped before the join phase ended, its last visible sign of life, what shows it, and when
    it said so last (0: not known), by its own clock. `late`: how many it said to have stopped afterwards."""

    worker: str
    jobs: int
    seen: int
    stopped: int
    alive_ms: int
    evidence: Source | None = None
    stopped_ms: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """A generation whose last word is still to come, at `due_ms`. `unknown`: what cost it came in another order."""

    source: Source
    generation: int
    state_ms: int
    due_ms: int
    causes: tuple[Cause, ...]
    gone: tuple[Gone, ...] = ()
    interrupted: tuple[JobDowntime, ...] = ()
    session_ms: int = 0
    patient: bool = False
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """Since when a job may not run: its worker stopped it (`stopped_ms`) or vanished (between alive and missing); or
    `unknown`, because what was written before came after what was written later."""

    worker: str
    stopped_ms: int | None = None
    state: str | None = None
    alive_ms: int = 0
    missing_ms: int | None = None
    session_ms: int = 0
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A generation after its last word, as long as something that came late may take its costs back."""

    source: Source
    generation: int
    until_ms: int
    causes: tuple[Cause, ...] = ()
    jobs: int = 0
    burst: Burst | None = None


@dataclass(frozen=True, slots=True)
class LostWorker:
    """A worker that had connectors or tasks and is in no record since that of `generation`, of `since_ms`. `sure`: its
    statuses say that it did not stop them; `told`: the incident is open, and ends at `due_ms` at the latest."""

    since_ms: int
    due_ms: int
    generation: int
    evidence: Evidence
    sure: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """`sightings` and `steps` are not told yet; everything else is how things stand after the last one told.

    `jobs` are lines of `timeline.packed`. `alive_ms` is the last sign of life of each worker ever seen, `joined_ms`
    when each of them last came into the group with empty hands, if that was after a hole, `heard` who of them wrote
    statuses. `unstopped`: workers that a fall to the eager protocol in the last record left running.
    `ran_on`: by job the worker that such a fall took it from, which was told by nobody to stop it.
    `holes_ms`: by partition of the status topic, the time of the newest record with a hole before.
    `offsets` of the workers' clocks; `recorded`: generation and time of the last records; `carry_ms`: how much the
    clock of the present coordinator is behind the one that the times of the timeline go on with; `downgraded`: the last
    eager generation after a cooperative one.

    Everything up to `told_ms` is told: what comes with an older time is late. `settled` are the last generations after
    their last word. `named`: the newest generation that a told status states; `overdue`: the newest one whose record
    was read after a status that states it, so the group's records are read late. `stands`: the last generation with
    members, at which connectors and tasks stand; -1 before the first one that is known in this life of the group.
    `lost`: workers that went and did not come back (CONNECT-K21).
    """

    sightings: tuple[Sighting, ...] = ()
    steps: tuple[RecordStep, ...] = ()
    incarnation: int = 0
    generation: int = -1
    at_ms: int = 0
    record: Source | None = None
    patience_ms: int = 0
    session_ms: int = 0
    judged: bool = False
    members: frozenset[str] = frozenset()
    behind: frozenset[str] = frozenset()
    jobs: Mapping[JobKey, str] = field(default_factory=dict)
    alive_ms: Mapping[str, int] = field(default_factory=dict)
    joined_ms: Mapping[str, int] = field(default_factory=dict)
    heard: frozenset[str] = frozenset()
    suspicions: tuple[Suspicion, ...] = ()
    returned: tuple[CameBack, ...] = ()
    strays: Mapping[JobKey, Stray] = field(default_factory=dict)
    unstopped: frozenset[str] = frozenset()
    ran_on: Mapping[JobKey, str] = field(default_factory=dict)
    asleep_ms: Mapping[JobKey, int] = field(default_factory=dict)
    interruptions: Mapping[JobKey, Interruption] = field(default_factory=dict)
    unsettled: tuple[Unsettled, ...] = ()
    bursts: tuple[Burst, ...] = ()
    holes_ms: Mapping[str, int] = field(default_factory=dict)
    restarts: Mapping[JobKey, Restarts] = field(default_factory=dict)
    offsets: Mapping[str, ClockOffset] = field(default_factory=dict)
    recorded: Recorded = ()
    carry_ms: int = 0
    downgraded: int = -1
    told_ms: int = 0
    settled: tuple[Settled, ...] = ()
    named: int = -1
    overdue: int = -1
    stands: int = -1
    lost: Mapping[str, LostWorker] = field(default_factory=dict)
