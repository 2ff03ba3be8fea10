"""CONNECT-K19, a job that its holder says has FAILED, and CONNECT-K20, a task that fails and is restarted in a loop.

    record 7: A holds c-0     A FAILED 7                      K19 opens; people are told when it has lasted
                              A RESTARTING, A RUNNING 7       it ends
    RUNNING FAILED RESTARTING RUNNING FAILED RESTARTING …     K20 once more than `restart_loop_changes` changes came
                                                              within `restart_loop_ms`; it ends when they are fewer

Only the word of the one holder counts: a FAILED of a former owner says nothing of the job as it runs now. A change is a
status of the task that differs from the one before among FAILED, RESTARTING and RUNNING, so a rebalance (UNASSIGNED,
then RUNNING) is none. Traces of errors are never read.
"""

from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.connect.rules.catalogue_status import FAILED_JOB, RESTART_LOOP, WORKER_LOST
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.incidents.transitions import PartKey, key_of
from rebalance_monitor.streaming.core.model.results import Subject
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.model.subjects import subject_of
from .facts import FAILED, PAUSED, RESTARTING, RUNNING, STOPPED, JobKey, Sighting
from .round_change import RecordStep
from .situation import TOLD, Situation, shown_at

LOOP = frozenset({FAILED, RESTARTING, RUNNING})
GO_ON = frozenset({FAILED_JOB.code, WORKER_LOST.code})
WELL = frozenset({RUNNING, PAUSED, STOPPED})


@dataclass(frozen=True, slots=True)
class Restarts:
    """A task's last status among FAILED, RESTARTING and RUNNING, and when such statuses changed (ms), the newest.

    Of a group that is polled those of one `worker` count, by its clock. `behind_ms`: how far that was behind the
    monitor's when the newest status was read, 0 where nobody knows.
    """

    state: str
    times_ms: tuple[int, ...]
    worker: str = ""
    behind_ms: int = 0


@dataclass(slots=True, kw_only=True)
class FailingJobs:
    """Of jobs that have failed only the open incidents are remembered; `restarts` of tasks that did not only run."""

    restarts: dict[JobKey, Restarts] = field(default_factory=dict)

    def sighted(self, now: Situation, status: Sighting) -> None:
        _look(now, status.job, status.at_ms)
        if not status.job.startswith("task "):
            return
        if status.state is None:
            if self.restarts.pop(status.job, None) is not None:
                now.over([loop_key(status.job)], status.at_ms)
            return
        before = self.restarts.get(status.job)
        restarts = counted(before, status, now.settings.restart_loop_changes)
        if restarts is None or restarts == before:
            return
        self.restarts[status.job] = restarts
        if loops(restarts, now.settings):
            now.found(looping(now, status), status.at_ms)

    def stepped(self, now: Situation, step: RecordStep) -> None:
        moved = [*step.gained.values(), *step.lost.values(), *step.started.values()]
        failed_jobs = {one.subjects[0].key for one in now.open.values() if one.code == FAILED_JOB.code}
        for job in sorted(failed_jobs.union(*moved)):
            _look(now, job, step.at_ms)

    def due_ms(self, settings: ClusterSettings) -> int:
        """When the next change is too long ago to count."""
        return min((one.times_ms[0] + settings.restart_loop_ms for one in self.restarts.values()), default=TOLD)

    def fire(self, now: Situation, now_ms: int) -> None:
        """Loops that have ended by this time."""
        window_ms = now.settings.restart_loop_ms
        for job, restarts in list(self.restarts.items()):
            left = tuple(at_ms for at_ms in restarts.times_ms if at_ms + window_ms > now_ms)
            if left == restarts.times_ms:
                continue
            now.over([loop_key(job)], now_ms)
            if left:
                self.restarts[job] = Restarts(restarts.state, left)
            else:
                del self.restarts[job]


def live(now: Situation, now_ms: int) -> None:
    """What began in history and goes on, now that the group is read as it goes on: people are told of it."""
    for key, part in list(now.open.items()):
        if part.code in GO_ON and part.historic:
            now.went_on(key, now_ms)


def failed_on(job: JobKey, worker: str) -> tuple[Subject, Subject]:
    return (subject_of(job), Subject("worker", worker))


def failed(now: Situation, shown: Sighting, generation: int | None) -> Finding:
    """A job that its one holder says has failed; `generation` None: of its holder's none is known."""
    subjects = failed_on(shown.job, shown.worker)
    held = "which holds it" if generation is None else f"which holds it in generation {generation}"
    message = f"{subjects[0].key} has FAILED on {shown.worker}, {held}"
    return finding_of(FAILED_JOB, subjects, message, (shown_at(now, shown),))


def counted(before: Restarts | None, status: Sighting, most: int) -> Restarts | None:
    """The changes of a task with one more status of it, which is no tombstone. A task that only ever ran has none.
    `most`: changes that are no loop."""
    last = RUNNING if before is None else before.state
    if status.state is None or status.state not in LOOP or status.state == last:
        return before
    return Restarts(status.state, (*(() if before is None else before.times_ms), status.at_ms)[-(most + 1) :])


def loops(restarts: Restarts, settings: ClusterSettings) -> bool:
    """Whether more changes than may be lie within the time that counts."""
    most, times_ms = settings.restart_loop_changes, restarts.times_ms
    return len(times_ms) > most and times_ms[-1] - times_ms[-1 - most] < settings.restart_loop_ms


def loop_key(job: JobKey) -> PartKey:
    return key_of(RESTART_LOOP.code, (subject_of(job),))


def looping(now: Situation, status: Sighting) -> Finding:
    """A task that fails and is restarted in a loop; `status`: the last one of it."""
    settings = now.settings
    message = (
        f"{status.job} changed between FAILED, RESTARTING and RUNNING more than {settings.restart_loop_changes} times "
        f"within {settings.restart_loop_ms // 1_000} s, last on {status.worker}"
    )
    return finding_of(RESTART_LOOP, (subject_of(status.job),), message, (shown_at(now, status),))


def _look(now: Situation, job: JobKey, at_ms: int) -> None:
    facts = now.facts(job)
    shown = facts.shown
    well = shown is None or shown.state in WELL
    subject, holders = subject_of(job), {Subject("worker", holder) for holder in facts.holders}
    now.over_where(FAILED_JOB, at_ms, lambda found: found[0] == subject and (well or found[1] not in holders))
    if shown is not None and shown.state == FAILED and facts.started:  # by its one holder, since it has the job
        now.found(failed(now, shown, max(shown.generation, now.group.generation)), at_ms)
