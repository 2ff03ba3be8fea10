"""CONNECT-K4, a job that is held and not taken up.

    record 7: A is given c-0      A writes nothing about c-0                      K4 after `start_wait_ms`

A status can be lost: Connect then shows the job's old state, too, although its worker runs it. So K4 of one job is
possible; it is likely where a worker has taken up nothing of several jobs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.rules.catalogue_status import HELD_NOT_RUNNING
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Subject
from rebalance_monitor.streaming.core.model.subjects import subject_of
from .facts import ENDED, PAUSED, RESTARTING, STOPPED, UNASSIGNED, JobKey, Sighting, connector_key
from .round_change import RecordStep
from .situation import TOLD, Situation, shown_at

MOST_SHOWN = 8
"""Last statuses that a finding shows."""


@dataclass(slots=True, kw_only=True)
class HeldNotRunning:
    """`asleep_ms`: when it is due of a job that its holder has not taken up. `ran_on`: by job the worker that a fall to
    the eager protocol took it from, which was told by nobody to stop it."""

    asleep_ms: dict[JobKey, int] = field(default_factory=dict)
    ran_on: dict[JobKey, str] = field(default_factory=dict)

    def sighted(self, now: Situation, status: Sighting) -> None:
        facts = now.facts(status.job)
        if status.state in ENDED and self.ran_on.get(status.job) == status.worker:
            del self.ran_on[status.job]
        if facts.started or status.state is None:
            self._woke(now, status.job, status.at_ms)
        elif facts.holders == (status.worker,) and status.state in (UNASSIGNED, RESTARTING):
            stopped_ms = _surely_by(now, status)
            if stopped_ms is not None:
                self.asleep_ms.setdefault(status.job, stopped_ms + now.settings.start_wait_ms)

    def stepped(self, now: Situation, step: RecordStep) -> None:
        self._running_on(now, step)
        if step.unseen:
            wait_ms = step.at_ms + now.settings.start_wait_ms
            self.asleep_ms.update((job, wait_ms) for job, due_ms in self.asleep_ms.items() if due_ms != TOLD)
        for job in _to_start(now, step):
            facts = replace(now.facts(job), since=step.generation, since_ms=step.at_ms)
            now.change(job, facts)
            self._woke(now, job, step.at_ms)
            if not facts.started:
                given_ms = now.offsets.given_ms(step, facts.holders[0]) if len(facts.holders) == 1 else step.at_ms
                self.asleep_ms[job] = given_ms + now.settings.start_wait_ms
        for job in list(self.asleep_ms):
            facts = now.facts(job)
            if len(facts.holders) != 1 or facts.started:  # perhaps before its record, or in a generation without one
                self._woke(now, job, step.at_ms)

    def _running_on(self, now: Situation, step: RecordStep) -> None:
        """An eager worker stops what the last record gave it. In the first eager generation it was told to stop
        nothing, so what it had before and was not given again runs on, in later generations too, and when it is given
        back, nothing is started."""
        for job, worker in list(self.ran_on.items()):
            if worker not in now.group.members or worker in step.joined or not step.restarts:
                del self.ran_on[job]
        for worker in step.unstopped:
            self.ran_on.update(dict.fromkeys(step.lost.get(worker, ()), worker))

    def _woke(self, now: Situation, job: JobKey, at_ms: int) -> None:
        """Nothing has to be started here any more; an incident ends with the last of its jobs."""
        if self.asleep_ms.pop(job, None) != TOLD:
            return
        subject = subject_of(job)
        asleep = {job for job, due_ms in self.asleep_ms.items() if due_ms == TOLD}
        now.over_where(
            HELD_NOT_RUNNING,
            at_ms,
            lambda found: subject in found and not any(one.key in asleep for one in found),
        )

    def only_told(self, but: Callable[[JobKey], bool]) -> None:
        """Forget the timers of other jobs than those that `but` names."""
        self.asleep_ms = {job: due_ms for job, due_ms in self.asleep_ms.items() if due_ms == TOLD or but(job)}

    def due_ms(self) -> int:
        return min(self.asleep_ms.values(), default=TOLD)

    def wait(self, ms: int) -> None:
        """So much of the time that is told next may not have passed."""
        self.asleep_ms.update((job, due_ms + ms) for job, due_ms in self.asleep_ms.items() if due_ms < TOLD)

    def fire(self, now: Situation, now_ms: int) -> None:
        """Timers that are due. Where unseen generations lie between the last record and the next one, the time between
        the two proves nothing: the timers then start again with the next record."""
        due = sorted((due_ms, job) for job, due_ms in self.asleep_ms.items() if due_ms <= now_ms)
        blind_ms = now.unseen_until_ms(now_ms)
        if blind_ms is not None:
            self.asleep_ms.update((job, blind_ms + now.settings.start_wait_ms) for _, job in due)
            return
        overslept: dict[tuple[int, str], list[JobKey]] = {}
        for due_ms, job in due:
            if self._excused(now, job) or _taken_up_unseen(now, job, now_ms) or _in_time_perhaps(now, job, due_ms):
                del self.asleep_ms[job]
            else:
                overslept.setdefault((due_ms, now.facts(job).holders[0]), []).append(job)
        for (due_ms, worker), jobs in sorted(overslept.items()):
            self.asleep_ms.update(dict.fromkeys(jobs, TOLD))
            now.found(_not_running(now, worker, jobs), due_ms)

    def _excused(self, now: Situation, job: JobKey) -> bool:
        facts, group = now.facts(job), now.group
        if len(facts.holders) != 1 or facts.started or facts.holders[0] in group.behind:
            return True
        if self.ran_on.get(job) == facts.holders[0]:
            return True
        connector = now.facts(connector_key(job)).shown
        if connector is not None and connector.state in (PAUSED, STOPPED):
            return True
        return not group.members & group.heard


def _surely_by(now: Situation, status: Sighting) -> int | None:
    """By when the status was written: by the time it states, or if its worker's clock is off from the coordinator's,
    at the latest time that can be; None where nobody knows one."""
    offset = now.offsets.of(status.worker, status.generation)
    if not offset.best_ms:
        return status.at_ms
    return None if offset.late_ms is None else status.at_ms + offset.late_ms


def _to_start(now: Situation, step: RecordStep) -> list[JobKey]:
    if step.restarts and not step.downgraded:
        return [job for job, facts in now.jobs.items() if facts.holders]
    return [job for jobs in step.started.values() for job in jobs]


def _taken_up_unseen(now: Situation, job: JobKey, now_ms: int) -> bool:
    """Whether what comes later shows that the job may have been taken up in time: what was said of it was replaced
    since, or it was deleted, and the topic compacted before it was read."""
    facts = now.facts(job)
    holes = {place for place, at_ms in now.group.holes_ms.items() if at_ms >= facts.since_ms}
    later = [one for one in now.coming.get(job, ()) if one.at_ms > now_ms]
    if later or facts.shown is not None:
        return any(str(one.partition) in holes for one in later)
    coming = (step for step in now.recorded if step.at_ms > now_ms)
    return bool(holes) and any(job in step.lost.get(facts.holders[0], ()) for step in coming)


def _in_time_perhaps(now: Situation, job: JobKey, due_ms: int) -> bool:
    """Whether its worker, by a status that is read but dated later, may have taken it up before this time: by a clock
    that may be so far ahead."""
    facts = now.facts(job)
    for status in now.coming.get(job, ()):
        if status.worker in facts.holders and status.generation >= facts.since and status.at_ms > due_ms:
            earliest_ms = now.offsets.earliest_ms(status)
            if earliest_ms is None or earliest_ms <= due_ms:
                return True
    return False


def _not_running(now: Situation, worker: str, jobs: list[JobKey]) -> Finding:
    since = {now.facts(job).since for job in jobs}
    since_ms = max(now.facts(job).since_ms for job in jobs)
    others = (facts for _, facts in now.jobs.items() if facts.holders == (worker,) and facts.since in since)
    lost = len(jobs) == 1 or any(facts.started for facts in others)
    what, them = ("1 connector or task", "it") if len(jobs) == 1 else (f"{len(jobs)} connectors and tasks", "them")
    shown = [facts.shown for facts in map(now.facts, jobs) if facts.shown is not None]
    return finding_of(
        HELD_NOT_RUNNING,
        (*sorted(map(subject_of, jobs)), Subject("worker", worker)),
        f"{worker} holds {what} since {utc(since_ms)} and has not taken {them} up"
        + (", or its status was lost" if lost else ""),
        (Evidence(source=now.group.record), *(shown_at(now, one) for one in shown[:MOST_SHOWN])),
        certainty=Certainty.POSSIBLE if lost else Certainty.LIKELY,
        cause=(Subject("worker", worker),),
    )
