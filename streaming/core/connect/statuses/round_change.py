"""What a judged record leaves for the timeline: changes against the record before, so that a burst stays small."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.clocks.coordinator import Leap
from rebalance_monitor.streaming.core.connect.observed import EAGER, ConnectorOrTask, Observed, WorkerView, job_key
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import body_of
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.fold.timeouts import timeouts_of
from rebalance_monitor.streaming.core.model.derived import derived
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Cause, ConnectShare, Generation, Grade, Source
from .facts import JobKey

KeysByWorker = Mapping[str, tuple[JobKey, ...]]
"""Jobs by worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStep:
    """One record of a Connect group. Workers are named as the status topic names them.

    `gained` and `lost` change what each worker holds after the round; `claimed` are jobs a worker reports as its
    own that it did not hold after the record before, `absent` jobs it held and does not report; `started` are jobs
    it must start now (under the eager protocol all it holds, told by `restarts`; but in its first generation after
    a cooperative one, `downgraded`, workers stop nothing and start only what is new to them, and the processes that
    were there before, `unstopped`, run on). `behind` have not read the configuration the round was made from.
    `unexpected` says where the recomputed assignment puts jobs elsewhere (None: nowhere); `judged` whether there is
    one. `waiting`: names of the configured connectors and tasks that nobody has; None where that is not known. A record
    that ends everything (`over`) has no members. `unseen`: generations before this one left no record
    that was read.
    """

    source: Source
    incarnation: int
    generation: int
    at_ms: int
    state_ms: int
    over: bool = False
    unseen: bool = False
    error: int = 0
    restarts: bool = False
    downgraded: bool = False
    unstopped: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    gained: KeysByWorker = field(default_factory=dict)
    lost: KeysByWorker = field(default_factory=dict)
    claimed: KeysByWorker = field(default_factory=dict)
    absent: KeysByWorker = field(default_factory=dict)
    started: KeysByWorker = field(default_factory=dict)
    judged: bool = False
    unexpected: Mapping[JobKey, str | None] = field(default_factory=dict)
    waiting: frozenset[str] | None = None
    causes: tuple[Cause, ...] = ()
    session_ms: int = 0
    patience_ms: int = 0
    delay_ms: int = 0
    historic: bool = False
    jump_ms: int = 0
    unsure_ms: int = 0

    def members_after(self, members: frozenset[str]) -> frozenset[str]:
        """Who is in the group with the record, of those who were in it before."""
        return members.difference(self.gone).union(self.joined)


def keys(jobs: Iterable[ConnectorOrTask]) -> tuple[JobKey, ...]:
    return tuple(sorted(map(job_key, jobs)))


def seats(observed: Observed | None) -> Mapping[str, WorkerView]:
    """Members by worker. Members that state the same worker stay apart, under names no status can carry."""
    return {} if observed is None else _seats(observed)


@derived
def _seats(observed: Observed) -> Mapping[str, WorkerView]:
    names = [view.worker or member_id for member_id, view in observed.views.items()]
    times = Counter(names)
    return {
        name if times[name] == 1 else f"{name} {member_id}": view
        for name, (member_id, view) in zip(names, observed.views.items(), strict=True)
    }


def step_of(
    view: GroupView,
    envelope_before: Envelope,
    last: Observed | None,
    now: Observed,
    row: Row,
    published: Generation | None,
    leap: Leap,
) -> RecordStep:
    """The step of a record. `envelope_before`: as it was before the record; `last`: the record before it, in this life
    of the group; `published`: what was published of it, None for a record without members."""
    envelope, timeouts = view.envelope, timeouts_of(view.settings, view.group, body_of(row))
    same_life = envelope_before.incarnation == envelope.incarnation and envelope_before.generation is not None
    unseen = same_life and now.generation > (envelope_before.generation or 0) + 1
    before, after = seats(last), seats(now)
    eager = now.protocol == EAGER
    downgraded = eager and last is not None and bool(last.views) and last.protocol != EAGER
    gained, lost, claimed, absent, started = {}, {}, {}, {}, {}
    for worker in sorted({*before, *after}):
        had = before[worker].holds if worker in before else frozenset[ConnectorOrTask]()
        seat = after.get(worker)
        has = seat.holds if seat is not None else frozenset[ConnectorOrTask]()
        gained[worker], lost[worker] = keys(has - had), keys(had - has)
        if seat is not None and not eager:
            claimed[worker], absent[worker] = keys(seat.held - had), keys(had - seat.held)
            started[worker] = keys(seat.assigned)
        elif seat is not None and downgraded:
            # Workers stop everything before a rebalance if the generation before was eager, so here nobody has.
            started[worker] = gained[worker]
    behind = [worker for worker, seat in after.items() if (seat.config_offset or 0) < (now.config_offset or 0)]
    return RecordStep(
        source=now.source,
        incarnation=envelope.incarnation,
        generation=now.generation,
        at_ms=now.at_ms,
        state_ms=now.formed_ms,
        over=not now.views,
        unseen=unseen,
        error=now.error,
        restarts=eager and bool(now.views) and now.error == 0,
        downgraded=downgraded,
        unstopped=_same_processes(before, after) if downgraded and not unseen else (),
        joined=tuple(sorted(after.keys() - before.keys())),
        gone=tuple(sorted(before.keys() - after.keys())),
        behind=tuple(sorted(behind)),
        gained=_present(gained),
        lost=_present(lost),
        claimed=_present(claimed),
        absent=_present(absent),
        started=_present(started),
        judged=published is not None and published.verdict.expected is not None,
        unexpected=_unexpected(after, published),
        waiting=_waiting(published),
        causes=published.cause if published is not None else (),
        session_ms=timeouts.session_ms,
        patience_ms=timeouts.both_ms,
        delay_ms=now.delay_ms,
        historic=envelope.historic,
        jump_ms=leap.back_ms,
        unsure_ms=leap.unsure_ms,
    )


def _same_processes(before: Mapping[str, WorkerView], after: Mapping[str, WorkerView]) -> tuple[str, ...]:
    """Workers that are in both records under one member id: one that was restarted runs nothing from before. A
    generation without a record between the two may have been eager, and the next one then stopped everything."""
    return tuple(sorted(one for one in before if one in after and before[one].member_id == after[one].member_id))


def _present(shares: KeysByWorker) -> KeysByWorker:
    return {worker: jobs for worker, jobs in shares.items() if jobs}


def _waiting(published: Generation | None) -> frozenset[str] | None:
    """Who nobody has, of what is configured."""
    if published is None or published.verdict.expected is None:
        return None
    return frozenset(published.connect.unassigned)


def _unexpected(after: Mapping[str, WorkerView], published: Generation | None) -> dict[JobKey, str | None]:
    """Where the recomputed assignment differs from the real one."""
    if published is None or published.verdict.expected is None or published.verdict.grade is Grade.MATCH:
        return {}
    real: dict[JobKey, str] = {}
    expected: dict[JobKey, str] = {}
    for worker, view in after.items():
        real.update(dict.fromkeys(keys(view.holds), worker))
        share = published.verdict.expected.get(view.member_id)
        if share is None or not isinstance(share.assigned, ConnectShare):
            continue
        given: set[ConnectorOrTask] = {*share.assigned.connectors, *share.assigned.tasks}
        taken: set[ConnectorOrTask] = set()
        if isinstance(share.revoked, ConnectShare):
            taken = {*share.revoked.connectors, *share.revoked.tasks}
        expected.update(dict.fromkeys(keys((view.held - taken) | given), worker))
    return {job: expected.get(job) for job in sorted({*real, *expected}) if real.get(job) != expected.get(job)}
