"""What a generation did to the jobs: who moved, who waits and why, for how long they did not run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.model.subjects import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One job that changed hands in a round, between workers. Kinds: see `streaming.core.connect.moves`."""

    job: Subject
    kind: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A worker that may be a lost one come back: `by` its url, its host (another port), or a host of the same name
    pattern."""

    worker: str
    lost: str
    by: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDelay:
    """What a wait would have come to under another maximum delay: idle time of all jobs together, and jobs that would
    have gone to another worker."""

    max_delay_ms: int
    idle_ms: int
    moved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayWait:
    """Jobs that wait for a lost worker because of the scheduled delay, or have waited (`ended_ms`).

    `only_delay`: every lost worker is back, nothing but the delay keeps the jobs idle. `others` once it has ended.
    """

    jobs: tuple[Subject, ...]
    since_ms: int
    until_ms: int | None
    because: tuple[str, ...]
    returned: tuple[Returned, ...] = ()
    only_delay: bool = False
    ended_ms: int | None = None
    others: tuple[OtherDelay, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDowntime:
    """How long a job did not run, between two bounds; `best_ms` is the likeliest. Kinds: see `timeline.downtime`."""

    job: Subject
    kind: str
    before: str
    after: str
    until_ms: int
    lowest_ms: int
    highest_ms: int
    best_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DowntimeSum:
    """All interruptions of one kind that ended in a generation; `longest_ms` by the best estimate."""

    kind: str
    jobs: int
    total_ms: int
    longest_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Generations of one kind close behind each other: one event for people."""

    kind: str
    first_generation: int
    last_generation: int
    first_at_ms: int
    last_at_ms: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectDetail:
    """What a Connect generation has besides what every generation has.

    `delay_ms`: the scheduled delay that it announces, 0 for none. `unassigned`: names of configured connectors and
    tasks that nobody has. `stayed`: how many did not move. `idle_ms`: sums over connectors and tasks, by cause.
    `downtime`, `interrupted` and `burst` come with the last word on the generation.
    """

    delay_ms: int | None = None
    unassigned: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    stayed: int | None = None
    wait: DelayWait | None = None
    idle_ms: Mapping[str, int] = field(default_factory=dict)
    downtime: tuple[DowntimeSum, ...] = ()
    interrupted: tuple[JobDowntime, ...] = ()
    burst: Burst | None = None
