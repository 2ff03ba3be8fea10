"""What the status topic says of one job, reduced to the facts that later verdicts need.

All statuses of one job lie in one partition, so their order is real; nothing here looks at another partition. A worker
that wrote RUNNING *claims* the job until it writes UNASSIGNED or FAILED, or until the tombstone: a worker that is
killed writes nothing, and its claim stays until somebody decides that it is dead.

    A RUNNING 5                   claims: A               shown: RUNNING by A
    A UNASSIGNED 5                claims: none            shown: UNASSIGNED by A
    B RUNNING 7                   claims: B               shown: RUNNING by B
    A UNASSIGNED 5 (late)         claims: B               shown: RUNNING by B, as Kafka's reader does since 3.6
"""

from collections.abc import Collection
from dataclasses import dataclass

from rebalance_monitor.schemas.connect_topics import StatusRecord
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import job_key
from rebalance_monitor.streaming.core.model.subjects import connector_of, subject_of

RUNNING, PAUSED, STOPPED, FAILED = "RUNNING", "PAUSED", "STOPPED", "FAILED"
UNASSIGNED, RESTARTING = "UNASSIGNED", "RESTARTING"
STARTED = frozenset({RUNNING, PAUSED, STOPPED, FAILED})
"""A holder that wrote one of these has taken the job up."""
ENDED = frozenset({UNASSIGNED, FAILED})
"""Writers of these do not run the job any more."""

NOWHERE = "-"
"""Expected to be in nobody's hands although somebody has it. No worker id looks so: they hold a colon."""
MAX_CLAIMS = 4
"""Workers that may claim one job at a time; the oldest claim goes first."""

JobKey = str
"""`Subject.key` of a connector or task; stored states name them so."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One status record of one job. `state` None is the tombstone; `partition` and `offset` are its place. Until it is
    told `at_ms` is the time it states, and `read_ms` when it was read, if that was as it came."""

    job: JobKey
    state: str | None
    worker: str
    generation: int
    at_ms: int
    partition: int
    offset: int
    historic: bool = False
    read_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A RUNNING that its writer has not taken back. `void_ms`: once another runs the job too, when silence voids it."""

    worker: str
    generation: int
    at_ms: int
    partition: int
    offset: int
    void_ms: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The last UNASSIGNED or FAILED, and by whom, unless its writer has written RUNNING since."""

    worker: str
    state: str
    generation: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class JobFacts:
    """One job. `holders` have it in their hands since `since_ms` (generation `since`), by the group's records.

    `shown` is the state that Kafka's own reader would show, `told_ms` the time of the last status of all.
    """

    holders: tuple[str, ...] = ()
    since: int = -1
    since_ms: int = 0
    expected: str | None = None
    shown: Sighting | None = None
    claims: tuple[Claim, ...] = ()
    ended: End | None = None
    told_ms: int = 0

    @property
    def nobodys(self) -> bool:
        """Whether nobody knows the job any more."""
        return not self.holders and not self.claims and self.shown is None

    @property
    def stopped(self) -> bool:
        """Whether nobody has the job or says that it runs, and the last that was said is that it stopped."""
        shown = self.shown
        return not self.holders and not self.claims and shown is not None and shown.state == UNASSIGNED

    def ended_by(self, worker: str, *, before: int) -> bool:
        """Whether the last that this worker wrote of the job is, as far as is known, that it ended, in a generation
        before this one."""
        return self.ended is not None and self.ended.worker == worker and self.ended.generation < before

    @property
    def started(self) -> bool:
        """Whether the one holder has taken the job up since it has it."""
        shown = self.shown
        return (
            shown is not None
            and self.holders == (shown.worker,)
            and shown.state in STARTED
            and (shown.generation >= self.since or shown.at_ms >= self.since_ms)
        )


def reported(record: StatusRecord) -> JobKey:
    return job_key(record.connector if record.task is None else (record.connector, record.task))


def connector_key(job: JobKey) -> JobKey:
    """The connector a task belongs to; the connector itself."""
    return f"connector {connector_of(subject_of(job))}"


def after(facts: JobFacts, status: Sighting) -> JobFacts:
    if status.state is None:
        return replace(facts, shown=None, claims=(), ended=None, told_ms=status.at_ms)
    claims, ended = facts.claims, facts.ended
    if status.state in ENDED:
        claims = tuple(claim for claim in claims if claim.worker != status.worker)
        ended = End(status.worker, status.state, status.generation, status.at_ms)
    elif status.state == RUNNING:
        others = tuple(claim for claim in claims if claim.worker != status.worker)
        own = Claim(status.worker, status.generation, status.at_ms, status.partition, status.offset)
        claims = (*others, own)[-MAX_CLAIMS:]
        ended = None if ended is not None and ended.worker == status.worker else ended
    shown = facts.shown if _late(facts.shown, status) else status
    return replace(facts, shown=shown, claims=claims, ended=ended, told_ms=status.at_ms)


def _late(shown: Sighting | None, status: Sighting) -> bool:
    """An UNASSIGNED of a task's former owner, after another worker runs the task, tells nothing about the task.

    Connect's own reader has this rule since 3.6, for tasks alone: a connector's late UNASSIGNED hides its RUNNING
    (coordinator-log.md 9.4). The worker's own UNASSIGNED always counts here: it has stopped the task.
    """
    return (
        status.job.startswith("task ")
        and status.state == UNASSIGNED
        and shown is not None
        and shown.state == RUNNING
        and shown.worker != status.worker
        and shown.generation >= status.generation
    )


WORDS = ("running", "failed", "paused", "stopped", "restarting", "starting", "unassigned", "lost", "unknown")


def word_of(assigned: Collection[str], state: str | None, worker: str | None) -> str:
    """One word for how a job with these holders is, whose latest status is `state`, written by `worker` (None: no
    status): what people count by.

    running, failed, paused, stopped, restarting   as its holder says
    starting                                       held, and its holder has not said anything of it yet
    unassigned                                     nobody holds it, and the last status, if any, says it was stopped
    lost                                           nobody holds it, and its last worker went away without stopping it
    unknown                                        held, and the status topic has never told of it
    """
    if not assigned:
        return "lost" if state in STARTED or state == RESTARTING else "unassigned"
    if state is None:
        return "unknown"
    word = state.lower()
    return word if worker in assigned and state != UNASSIGNED and word in WORDS else "starting"


def agreement(facts: JobFacts, *, judged: bool) -> str:
    """One job, three ways: assigned (group records), expected (recomputed), running (status topic). The worst that can
    be said of the three.

    ok            its holder has taken it up (running, paused or stopped there)
    failed        its holder has taken it up, and it has failed there
    unexpected    the recomputed assignment puts it elsewhere
    elsewhere     another worker says that it runs it
    held_twice    several workers hold it
    not_started   its holder has not taken it up yet
    unassigned    nobody holds it
    unknown       held, and the status topic has never told of it
    """
    shown = facts.shown
    if judged and facts.expected is not None and facts.holders != (facts.expected,):
        return "unexpected"
    if len(facts.holders) > 1:
        return "held_twice"
    if shown is not None and shown.state == RUNNING and facts.holders and shown.worker not in facts.holders:
        return "elsewhere"
    if not facts.holders:
        return "unassigned"
    if shown is None:
        return "unknown"
    if not facts.started:
        return "not_started"
    return "failed" if shown.state == FAILED else "ok"
