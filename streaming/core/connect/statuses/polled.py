"""What workers say of their jobs in a group that is polled: states, what has FAILED, and restart loops.

Theory. A status states the generation of its worker, which is a real one. A polled assignment has none: its number
counts the assignments that were seen, so the two are never compared. `Held` has no number, and nothing else crosses
from the assignment to here. What is left is sure without one: all statuses of a job lie in one partition, so the last
one is the last word on it, and it counts where the one worker that holds the job wrote it.

A worker that was given a job writes a status once it has started it. Until then the last word may be that of an earlier
run, before a rebalance that nobody saw. So a FAILED counts when its writer has held the job for `start_wait_ms`, by the
monitor's clock, since an answer first showed it so, and when an answer shows it so after the FAILED was read.

    10:00:00  asked: A holds c-0        A FAILED               not known yet: A may be about to start c-0
    10:01:00  asked: the same           nothing newer          K19 opens
    10:05:00                            A RUNNING              it ends
    10:06:00  asked: A holds c-0        B FAILED               nothing: B wrote it before, or in a round not seen yet

A restart loop (K20) is counted among the statuses of one worker, whose clock measures the time between them; whether it
lasts is told by the monitor's clock, which read the newest of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import EAGER, Observed
from rebalance_monitor.streaming.core.connect.rules.catalogue_status import FAILED_JOB, RESTART_LOOP
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Lane, Output, Passed, ReachedTime
from rebalance_monitor.streaming.core.incidents.transitions import key_of
from rebalance_monitor.streaming.core.model.results import Subject
from .facts import FAILED, JobFacts, JobKey, Sighting, after, agreement
from .failing import WELL, Restarts, counted, failed, failed_on, loop_key, looping, loops
from .packed import JobTable, pack
from .round_change import keys, seats
from .situation import Situation, ToldGroup
from .timeline import Timeline

JUDGED = frozenset({FAILED_JOB.code, RESTART_LOOP.code})
NEVER_MS = 1 << 62


@dataclass(frozen=True, slots=True)
class Held:
    """Who holds a job: workers, their member ids, and since which answer, ms by the monitor's clock."""

    workers: tuple[str, ...]
    members: tuple[str, ...]
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PolledStatuses:
    """What is known of the jobs of a polled group. `shown`: the last word on each; `unsaid`: jobs that are to be
    published."""

    held: Mapping[JobKey, Held] = field(default_factory=dict)
    shown: Mapping[JobKey, Sighting] = field(default_factory=dict)
    changes: Mapping[JobKey, Restarts] = field(default_factory=dict)
    unsaid: frozenset[JobKey] = frozenset()

    def facts(self, job: JobKey) -> JobFacts:
        """The job as laws look at it: of no generation."""
        held = self.held.get(job)
        holders, since_ms = ((), 0) if held is None else (tuple(sorted(held.workers)), held.since_ms)
        return JobFacts(holders=holders, since=-NEVER_MS, since_ms=since_ms, shown=self.shown.get(job))


def begun(timeline: Timeline) -> PolledStatuses:
    """What statuses have said of a group that was read so far."""
    jobs = JobTable(timeline.jobs)
    shown = {job: facts.shown for job, facts in jobs.items() if facts.shown is not None}
    restarts = timeline.laws.failing.restarts
    changes = {job: replace(one, worker=shown[job].worker) for job, one in restarts.items() if job in shown}
    return PolledStatuses(shown=shown, changes=changes, unsaid=frozenset(jobs))


def resumed(known: PolledStatuses) -> Timeline:
    """The timeline of a group that is read again: the last words, and nothing of who held what."""
    jobs = {job: pack(job, JobFacts(shown=one, told_ms=one.at_ms)) for job, one in known.shown.items()}
    return Timeline(jobs=dict(sorted(jobs.items())))


def given(known: PolledStatuses, polled: Observed, at_ms: int) -> PolledStatuses:
    """The same with a polled assignment that an answer of this time shows. Under the eager protocol every rebalance
    starts all jobs anew."""
    hands: dict[JobKey, list[tuple[str, str]]] = {}
    for worker, view in sorted(seats(polled).items()):
        for job in keys(view.holds):
            hands.setdefault(job, []).append((worker, view.member_id))
    held: dict[JobKey, Held] = {}
    for job, pairs in sorted(hands.items()):
        workers, members = tuple(one for one, _ in pairs), tuple(one for _, one in pairs)
        before = known.held.get(job)
        same = before is not None and (before.workers, before.members) == (workers, members)
        goes_on = before is not None and same and polled.protocol != EAGER
        held[job] = before if goes_on and before is not None else Held(workers, members, at_ms)
    changed = {job for job in {*held, *known.held} if held.get(job) != known.held.get(job)}
    return replace(known, held=held, unsaid=known.unsaid | changed)


def after_statuses(
    view: GroupView, known: PolledStatuses, last: Observed | None, sightings: Iterable[Sighting], lost: Iterable[int]
) -> tuple[PolledStatuses, list[Output]]:
    """What is known after these statuses, and what follows now. `last`: the newest assignment; `lost`: partitions of
    the status topic with a gap."""
    tick = view.tick
    read_ms = None if tick is None or tick.historic else tick.now_ms
    known = without(nobody(known) if last is None else known, frozenset(lost))
    known = with_statuses(
        known, (replace(one, read_ms=read_ms) for one in sightings), view.settings.restart_loop_changes
    )
    return looked(view, known, 0 if last is None else last.at_ms)


def nobody(known: PolledStatuses) -> PolledStatuses:
    """The same where the group has no members that are known."""
    return replace(known, held={}, unsaid=known.unsaid | frozenset(known.held)) if known.held else known


def without(known: PolledStatuses, partitions: frozenset[int]) -> PolledStatuses:
    """The same after gaps in these partitions of the status topic: what was said last of a job may be lost."""
    lost = {job for job, one in known.shown.items() if one.partition in partitions}
    return replace(
        known,
        shown={job: one for job, one in known.shown.items() if job not in lost},
        changes={job: one for job, one in known.changes.items() if job not in lost},
        unsaid=known.unsaid | lost,
    )


def with_statuses(known: PolledStatuses, sightings: Iterable[Sighting], most: int) -> PolledStatuses:
    """The same with these statuses, each partition in its order. `most`: changes of a task that are no loop."""
    shown, changes, unsaid = dict(known.shown), dict(known.changes), set(known.unsaid)
    for status in sorted(sightings, key=lambda one: (one.partition, one.offset)):
        job = status.job
        word = after(JobFacts(shown=shown.pop(job, None)), status).shown
        if word is not None:
            shown[job] = word
        unsaid.add(job)
        counts = _counted(changes.pop(job, None), status, most) if job.startswith("task ") else None
        if counts is not None:
            changes[job] = counts
    return replace(
        known, shown=dict(sorted(shown.items())), changes=dict(sorted(changes.items())), unsaid=frozenset(unsaid)
    )


def _counted(before: Restarts | None, status: Sighting, most: int) -> Restarts | None:
    """The changes of a task with one more status. Those of another worker, or by a clock that went back, say nothing of
    the time between."""
    if status.state is None:
        return None
    if before is not None and (before.worker != status.worker or status.at_ms < before.times_ms[-1]):
        before = None
    restarts = counted(before, status, most)
    if restarts is None or restarts == before:
        return before
    return replace(
        restarts, worker=status.worker, behind_ms=0 if status.read_ms is None else status.read_ms - status.at_ms
    )


def looked(view: GroupView, known: PolledStatuses, last_ms: int) -> tuple[PolledStatuses, list[Output]]:
    """What follows now, as far as answers show the group: incidents and rows. Nothing before it was polled, nor in
    history: what was said last of a job may still come. `last_ms`: when it was polled last as something new."""
    tick = view.tick
    if tick is None or tick.historic or not _is_told(view) or view.shown_until_ms == 0:
        return known, []
    now_ms = tick.now_ms if view.shown_until_ms is None else max(view.shown_until_ms, last_ms)
    changes = {job: one for job, one in known.changes.items() if _lasts_until_ms(view, one) > now_ms}
    known = replace(known, changes=changes)
    now = Situation(
        view, ToldGroup(incarnation=view.envelope.incarnation, generation=view.envelope.generation or 0), {}
    )
    now.outputs.append(Passed(now_ms - 1))
    failures = {
        key_of(FAILED_JOB.code, failed_on(job, status.worker)): status
        for job, status in known.shown.items()
        if _sure_at_ms(view, known, job) <= now_ms
    }
    found = {loop_key(job): job for job, one in changes.items() if loops(one, view.settings)}
    last = [key for key, one in now.open.items() if one.code == FAILED_JOB.code and not _ended(known, *one.subjects)]
    over = [key for key, one in now.open.items() if one.code in JUDGED and key not in found and key not in last]
    begun_here = {status.job for key, status in failures.items() if key not in now.open}
    ill = {status.job for status in failures.values()} | {now.open[key].subjects[0].key for key in last}
    now.over(over, now_ms)
    for key, status in failures.items():
        if key not in now.open:
            now.found(failed(now, status, None), now_ms)
    for key, job in found.items():
        if key not in now.open:
            now.found(looping(now, known.shown[job]), now_ms)
    for job in sorted(known.unsaid | begun_here):
        facts = known.facts(job)
        word = _agreement(facts, has_failed=job in ill)
        now.show(job, now.standing(facts), word)
    return replace(known, unsaid=frozenset()), [*now.outputs, ReachedTime(now_ms), Passed(now_ms)]


def due_ms(view: GroupView, known: PolledStatuses, attention_ms: int | None) -> int | None:
    """When there is something to tell at the latest, by the monitor's clock. `attention_ms`: when people are to be
    notified of something."""
    if not _is_told(view):
        return None
    open_parts = view.open(Lane.EVENTS)
    times = [_lasts_until_ms(view, one) for one in known.changes.values()]
    for job, status in known.shown.items():
        sure_ms = _sure_at_ms(view, known, job)
        if sure_ms < NEVER_MS and key_of(FAILED_JOB.code, failed_on(job, status.worker)) not in open_parts:
            times.append(sure_ms)
    times += [] if attention_ms is None else [attention_ms]
    times += [0] if known.unsaid else []
    return min(times, default=None)


def _is_told(view: GroupView) -> bool:
    """Whether the newest answer is known: there was one, and it does not wait for its turn."""
    envelope = view.envelope
    return envelope.polled is not None and envelope.generation is not None and not view.waiting.queue.end


def _sure_at_ms(view: GroupView, known: PolledStatuses, job: JobKey) -> int:
    """From when on it is sure that the job has failed, if nothing else is said until then."""
    shown, held = known.shown.get(job), known.held.get(job)
    if shown is None or shown.state != FAILED or held is None or held.workers != (shown.worker,):
        return NEVER_MS
    return max(held.since_ms + view.settings.start_wait_ms, shown.read_ms or 0)


def _ended(known: PolledStatuses, job: Subject, worker: Subject) -> bool:
    """Whether a job that failed on this worker has not failed there any more."""
    shown, held = known.shown.get(job.key), known.held.get(job.key)
    return shown is None or shown.state in WELL or held is None or worker.id not in held.workers


def _lasts_until_ms(view: GroupView, changes: Restarts) -> int:
    """When one of the changes that count is too long ago."""
    most, times_ms = view.settings.restart_loop_changes, changes.times_ms
    first_ms = times_ms[-1 - most] if len(times_ms) > most else times_ms[-1]
    return first_ms + view.settings.restart_loop_ms + changes.behind_ms


def _agreement(facts: JobFacts, *, has_failed: bool) -> str:
    """As in `agreement`; `unknown` also where the last word is that of a worker that does not hold the job by the
    newest answer, or a FAILED that may be of an earlier run."""
    shown, holders = facts.shown, facts.holders
    if not holders and shown is None:
        return "gone"
    if len(holders) == 1 and shown is not None:
        of_an_earlier_run = shown.state == FAILED and not has_failed
        if holders != (shown.worker,) or of_an_earlier_run:
            return "unknown"
    return agreement(facts, judged=False)
