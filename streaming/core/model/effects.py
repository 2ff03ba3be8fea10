"""What a generation did to the jobs: who moved, who waits and why, for how long they did not run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .published import Says
from .subjects import Subject

MOVES = (
    "started", "stopped", "moved_in_two_steps", "moved_at_once", "returned", "revoked", "lost", "duplicated",
)  # fmt: skip
RETURNS = ("url", "host", "pattern")
DOWNTIMES = ("clean", "in_place", "crash", "failed", "no_stop", "not_known")
IDLE = ("scheduled_delay", "revocation", "config_mismatch", "unexplained")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One job that changed hands in a round, between workers. Kinds: see `streaming.core.connect.moves`."""

    job: Annotated[Subject, Says(name="subject")]
    kind: Annotated[str, Says(words=MOVES)]
    before: Annotated[str | None, Says(name="from")] = None
    after: Annotated[str | None, Says(name="to")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A worker that may be a lost one come back."""

    worker: str
    lost: str
    by: Annotated[str, Says("Its url, its host (another port), or a host of the same name pattern.", words=RETURNS)]
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDelay:
    """What a wait would have come to under another maximum delay."""

    max_delay_ms: int
    idle_ms: Annotated[int, Says("Of all connectors and tasks together.")]
    moved: Annotated[int, Says("Connectors and tasks that would have gone to another worker.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayWait:
    """Jobs that wait for a lost worker because of the scheduled delay, or have waited (`ended_ms`)."""

    jobs: Annotated[tuple[Subject, ...], Says(name="subjects")]
    since_ms: int
    until_ms: int | None
    because: tuple[str, ...]
    returned: tuple[Returned, ...] = ()
    only_delay: Annotated[bool, Says("Every lost worker is back; nothing but the delay keeps them idle.")] = False
    ended_ms: int | None = None
    others: Annotated[tuple[OtherDelay, ...], Says("Once it has ended.", name="other_delays")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDowntime:
    """How long a job did not run, between two bounds. Kinds: see `streaming.core.connect.statuses.downtime`."""

    job: Annotated[Subject, Says(name="subject")]
    kind: Annotated[str, Says(words=DOWNTIMES)]
    before: Annotated[str, Says(name="from")]
    after: Annotated[str, Says(name="to")]
    until_ms: int
    lowest_ms: int
    highest_ms: int
    best_ms: Annotated[int, Says("The likeliest.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DowntimeSum:
    """All interruptions of one kind that ended in a generation."""

    kind: Annotated[str, Says(words=DOWNTIMES)]
    jobs: Annotated[int, Says(name="count")]
    total_ms: int
    longest_ms: Annotated[int, Says("By the best estimate.")]


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

    `downtime`, `interrupted` and `burst` come with the last word on the generation.
    """

    delay_ms: Annotated[int | None, Says("The scheduled delay that it announces, 0: none.")] = None
    unassigned: Annotated[tuple[str, ...], Says("Configured connectors and tasks that nobody has.")] = ()
    moves: tuple[Move, ...] = ()
    stayed: Annotated[int | None, Says("How many connectors and tasks did not move.")] = None
    wait: DelayWait | None = None
    idle_ms: Annotated[Mapping[str, int], Says("Sums over connectors and tasks, by cause.", words=IDLE)] = field(
        default_factory=dict
    )
    downtime: tuple[DowntimeSum, ...] = ()
    interrupted: tuple[JobDowntime, ...] = ()
    burst: Annotated[Burst | None, Says("The generations of one kind that this one is one of.")] = None
