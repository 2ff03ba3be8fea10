"""Who moved where in a round, by worker and not by member id (coordinator-log.md 10.4), and what nobody runs meanwhile.

started              nobody had it before
stopped              deleted: nobody has it any more
moved_in_two_steps   revoked in an earlier round, handed to another worker now
moved_at_once        taken or lost, and with another worker now
returned             back with the worker that had it last
revoked, lost        in nobody's hands after this round: taken away by it, or its worker is gone
duplicated           in several hands

Of jobs that nobody runs between two records: whose they were, why they wait and until when, and what that costs.

    10:00:00  A is gone, delay 300 s    its jobs wait since 10:00:00 until 10:05:00 because of A
    10:01:00  A is back, delay 240 s    they still wait, now only because of the delay
    10:05:00  A is given its jobs       the wait has ended: 300 s for each; with a delay of 60 s it would have been 60 s

Everything here follows from group and config records alone. Idle time is told by the record that ends the interval.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.leader.hypotheses import DEFAULT_MAX_DELAY_MS
from rebalance_monitor.streaming.core.connect.statuses.facts import JobKey
from rebalance_monitor.streaming.core.connect.statuses.round_change import keys, seats
from rebalance_monitor.streaming.core.model.details import ConnectorCost, DelayWait, Move, OtherDelay, Returned
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.core.model.subjects import connector_of, subject_of
from .observed import ConnectorOrTask, Observed, job_connector, job_key, of_jobs


@dataclass(frozen=True, slots=True)
class IdleJob:
    """A configured job in nobody's hands: whose it was last ("" nobody's), since which record, taken away or lost."""

    worker: str
    generation: int
    since_ms: int
    revoked: bool = False


def holders(observed: Observed | None) -> Mapping[JobKey, tuple[str, ...]]:
    return {} if observed is None else _holders(observed)


@of_jobs
def _holders(observed: Observed) -> Mapping[JobKey, tuple[str, ...]]:
    found: dict[JobKey, tuple[str, ...]] = {}
    for worker, view in sorted(seats(observed).items()):
        alone = (worker,)
        for job in map(job_key, view.holds):
            found[job] = (*found[job], worker) if job in found else alone
    return found


def moves_of(
    before: Mapping[JobKey, tuple[str, ...]],
    after: Mapping[JobKey, tuple[str, ...]],
    idle_before: Mapping[JobKey, IdleJob],
    idle_after: Mapping[JobKey, IdleJob],
) -> tuple[tuple[Move, ...], int]:
    """Every job that did not simply stay where it was, and how many stayed."""
    stays = {job for job, has in after.items() if len(has) == 1 and before.get(job) == has}
    moves = []
    for job in sorted(({*before, *after}) - stays):
        had, has = before.get(job, ()), after.get(job, ())
        former = had[0] if had else idle_before[job].worker if job in idle_before else ""
        kind = _kind(had, has, former, idle_before.get(job), idle_after.get(job))
        moves.append(Move(job=subject_of(job), kind=kind, before=former or None, after=has[0] if has else None))
    return tuple(moves), len(stays)


def _kind(
    had: Collection[str], has: Collection[str], former: str, was_idle: IdleJob | None, is_idle: IdleJob | None
) -> str:
    if len(has) > 1:
        return "duplicated"
    if not has:
        return "stopped" if is_idle is None else "revoked" if is_idle.revoked else "lost"
    if not former:
        return "started"
    if former in has:
        return "returned"
    return "moved_in_two_steps" if not had and was_idle is not None and was_idle.revoked else "moved_at_once"


SCHEDULED_DELAY, REVOCATION = "scheduled_delay", "revocation"
CONFIG_MISMATCH, UNEXPLAINED = "config_mismatch", "unexplained"
IDLE_CAUSES = (SCHEDULED_DELAY, REVOCATION, CONFIG_MISMATCH, UNEXPLAINED)
EARLY_MS = 1_000
"""A wait that ends so shortly before its time has not been cut short: two clocks."""
OTHER_DELAYS_MS = (0, 60_000, DEFAULT_MAX_DELAY_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWait:
    """A wait that goes on: the jobs, the workers that lost them, who came back, and the delay it began with."""

    jobs: tuple[JobKey, ...]
    since_ms: int
    until_ms: int
    delay_ms: int
    because: tuple[str, ...]
    returned: tuple[Returned, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayWaits:
    """What is remembered: the idle jobs, and the wait that runs."""

    idle: Mapping[JobKey, IdleJob] = field(default_factory=dict)
    open: OpenWait | None = None


def follow(
    waits: DelayWaits,
    published: Generation,
    now: Observed,
    last: Observed | None,
    configured: frozenset[ConnectorOrTask] | None,
) -> tuple[DelayWaits, Generation]:
    """The waits after this record, and the record with its moves, its wait and the idle time it ends."""
    if last is None:
        waits = DelayWaits()
    before, after = holders(last), holders(now)
    idle = _idle(waits.idle, before, after, now, configured)
    moves, stayed = moves_of(before, after, waits.idle, idle)
    going_on = _going_on(waits.open, idle, now, last)
    told = _wait_after(waits.open, going_on, now, last)
    spent = dict(_spent(waits.idle, now, last)) if last is not None else {}
    split = _by_connector(waits.idle, now, last) or None
    detail = replace(published.connect, moves=moves, stayed=stayed, wait=told, idle_ms=spent, by_connector=split)
    completed = replace(published, detail=detail)
    return DelayWaits(idle=idle, open=going_on), completed


def _idle(
    idle: Mapping[JobKey, IdleJob],
    before: Mapping[JobKey, tuple[str, ...]],
    after: Mapping[JobKey, tuple[str, ...]],
    now: Observed,
    configured: frozenset[ConnectorOrTask] | None,
) -> dict[JobKey, IdleJob]:
    lying = sorted({*idle, *before} - after.keys()) if configured is None else list(keys(configured - now.hands()))
    revoked = frozenset(keys(now.revoked()))
    found: dict[JobKey, IdleJob] = {}
    for job in lying:
        since = idle.get(job)
        if since is None or job in before:
            worker = before.get(job, ("",))[0]
            since = IdleJob(worker, now.generation, now.at_ms, job in revoked)
        found[job] = since
    return found


def _spent(idle: Mapping[JobKey, IdleJob], now: Observed, last: Observed) -> Iterator[tuple[str, int]]:
    spent = dict.fromkeys(IDLE_CAUSES, 0)
    for since in (since for job, since in idle.items() if job.startswith("task ")):
        spent[_cause(since, last)] += _between_ms(now, last)
    return ((cause, ms) for cause, ms in spent.items() if ms)


def _between_ms(now: Observed, last: Observed) -> int:
    return max(now.at_ms - last.at_ms, 0)


def _by_connector(idle: Mapping[JobKey, IdleJob], now: Observed, last: Observed | None) -> dict[str, ConnectorCost]:
    """Of those alone that gained or waited. A name that is empty names none."""
    had = _jobs_of(last) if last is not None else {}
    gained = Counter(
        job_connector(job) for process, jobs in _jobs_of(now).items() for job in jobs - had.get(process, frozenset())
    )
    waited = Counter[str]()
    if last is not None and (ms := _between_ms(now, last)):
        for job in (job for job in idle if job.startswith("task ")):
            waited[connector_of(subject_of(job)) or ""] += ms
    return {name: ConnectorCost(moved=gained[name], idle_ms=waited[name]) for name in sorted({*gained, *waited} - {""})}


@of_jobs
def _jobs_of(observed: Observed) -> Mapping[str, frozenset[ConnectorOrTask]]:
    """What each process has in its hands after the round, as in `diff`."""
    return {observed.process_of(member_id): view.holds for member_id, view in observed.views.items()}


def _cause(idle: IdleJob, last: Observed) -> str:
    if last.error:
        return CONFIG_MISMATCH
    if idle.revoked and idle.generation == last.generation:
        return REVOCATION
    return SCHEDULED_DELAY if last.delay_ms > 0 else UNEXPLAINED


def _going_on(
    wait: OpenWait | None, idle: Mapping[JobKey, IdleJob], now: Observed, last: Observed | None
) -> OpenWait | None:
    lost = {job: one for job, one in idle.items() if not (one.revoked and one.generation == now.generation)}
    if now.delay_ms <= 0 or now.error or not lost:
        return None
    workers = sorted({one.worker for one in lost.values() if one.worker})
    returned = _with_returns(wait.returned if wait is not None else (), workers, now, last)
    return OpenWait(
        jobs=tuple(sorted(lost)),
        since_ms=min(one.since_ms for one in lost.values()),
        until_ms=now.at_ms + now.delay_ms,
        delay_ms=wait.delay_ms if wait is not None else now.delay_ms,
        because=tuple(workers),
        returned=tuple(one for one in returned if one.lost in workers),
    )


def _with_returns(
    known: tuple[Returned, ...], lost: Collection[str], now: Observed, last: Observed | None
) -> tuple[Returned, ...]:
    """Who of the lost came back with this record: a worker stands for one lost one only, and first for itself."""
    fresh = sorted(seats(now).keys() - seats(last).keys())
    found = {one.lost: one for one in known}
    for by, name in _LIKENESS.items():
        taken = {one.worker for one in found.values()}
        for worker in (one for one in lost if one not in found and name(one) is not None):
            back = next((one for one in fresh if one not in taken and name(one) == name(worker)), None)
            if back is not None and (by == "url" or back not in lost):
                taken.add(back)
                found[worker] = Returned(worker=back, lost=worker, by=by, at_ms=now.at_ms)
    return tuple(found.values())


def _pattern(worker: str) -> str | None:
    """A host name without its numbers and without the random ending of a pod; None for addresses and plain names."""
    host = worker.rpartition(":")[0]
    if re.fullmatch(r"[\d.]+|\[.*\]", host):
        return None
    pattern = re.sub(r"\d+", "#", re.sub(r"-[a-z0-9]{5}(?=\.|$)", "-?", host))
    return pattern if pattern != host else None


_LIKENESS: Mapping[str, Callable[[str], str | None]] = {
    "url": lambda worker: worker,
    "host": lambda worker: worker.rpartition(":")[0],
    "pattern": _pattern,
}
"""What a worker that came back has in common with the lost one, the surest first."""


def _wait_after(
    wait: OpenWait | None, going_on: OpenWait | None, now: Observed, last: Observed | None
) -> DelayWait | None:
    """The wait that goes on after this record, or the one that it ends."""
    if going_on is not None:
        back = {one.lost for one in going_on.returned}
        return _wait(going_on, only_delay=bool(going_on.because) and back >= set(going_on.because))
    if wait is None:
        return None
    wait = replace(wait, returned=_with_returns(wait.returned, wait.because, now, last))
    return replace(_wait(wait, only_delay=False), ended_ms=now.at_ms, others=tuple(_others(wait, now.at_ms)))


def _wait(wait: OpenWait, *, only_delay: bool) -> DelayWait:
    return DelayWait(
        jobs=tuple(map(subject_of, wait.jobs)),
        since_ms=wait.since_ms,
        until_ms=wait.until_ms,
        because=wait.because,
        returned=wait.returned,
        only_delay=only_delay,
    )


def _others(wait: OpenWait, ended_ms: int) -> Iterator[OtherDelay]:
    """The same loss under other maximum delays: jobs wait that long, and go elsewhere unless their worker is back."""
    waited_ms = ended_ms - wait.since_ms
    cut_short = ended_ms < wait.until_ms - EARLY_MS
    back = {one.lost: one.at_ms - wait.since_ms for one in wait.returned if one.by != "pattern"}
    returned_ms = max(back.values()) if wait.because and back.keys() >= set(wait.because) else None
    for delay_ms in sorted({*OTHER_DELAYS_MS, wait.delay_ms}):
        each_ms = min(delay_ms, waited_ms) if cut_short else delay_ms
        if delay_ms == wait.delay_ms:
            each_ms = waited_ms
        home = returned_ms is not None and returned_ms <= delay_ms
        count = len(wait.jobs)
        yield OtherDelay(max_delay_ms=delay_ms, idle_ms=each_ms * count, moved=0 if home else count)
