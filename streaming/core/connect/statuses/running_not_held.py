"""CONNECT-K3, a job that runs where it is not held.

    record 7: A holds c-0         A writes RUNNING 7 for c-1, which B holds       K3, if so still STRAY_MS later

Statuses must be told apart: a worker that only shares its id with others is never accused.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.rules.catalogue_status import RUNNING_NOT_HELD
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.model.results import Certainty, Severity, Subject
from rebalance_monitor.streaming.core.model.subjects import subject_of
from .facts import RUNNING, JobKey, Sighting
from .round_change import RecordStep
from .situation import TOLD, Situation, shown_at

STRAY_MS = 10_000
"""How long a RUNNING without hold may last: a slow start that meets a revocation, a record that is read later."""


@dataclass(frozen=True, slots=True)
class Stray:
    """A RUNNING by a worker that does not hold the job, to be looked at again at `due_ms`. `awaited`: it came before
    its generation's record, which is waited for since `since_ms`."""

    worker: str
    generation: int
    due_ms: int
    since_ms: int = 0
    awaited: bool = False


@dataclass(slots=True, kw_only=True)
class RunningNotHeld:
    """`downgraded`: the last eager generation after a cooperative one."""

    strays: dict[JobKey, Stray] = field(default_factory=dict)
    downgraded: int = -1

    def sighted(self, now: Situation, status: Sighting) -> None:
        group, stray = now.group, self.strays.pop(status.job, None)
        ahead = status.generation > group.generation
        strange = status.worker not in now.facts(status.job).holders and status.generation > self.downgraded
        if status.state == RUNNING and strange and (ahead or status.worker in group.members):
            self.strays[status.job] = Stray(
                status.worker, status.generation, status.at_ms + STRAY_MS, status.at_ms, ahead
            )
        if stray is not None:
            _close(now, status.job, status.at_ms, but=self.strays.get(status.job))

    def stepped(self, now: Situation, step: RecordStep) -> None:
        if step.downgraded:
            self.downgraded = step.generation
        for job, stray in list(self.strays.items()):
            if stray.generation > step.generation:
                continue
            gone = stray.worker not in now.group.members or stray.worker in now.facts(job).holders
            if gone or step.downgraded:
                del self.strays[job]
                _close(now, job, step.at_ms, but=None)
            elif stray.generation == step.generation:  # its record has come, perhaps long after it
                due_ms = max(stray.since_ms + STRAY_MS, step.at_ms)
                self.strays[job] = replace(stray, due_ms=due_ms, awaited=False)

    def only_told(self, but: Callable[[JobKey], bool]) -> None:
        """Forget the timers of other jobs than those that `but` names."""
        self.strays = {job: one for job, one in self.strays.items() if one.due_ms == TOLD or but(job)}

    def due_ms(self) -> int:
        return min((one.due_ms for one in self.strays.values()), default=TOLD)

    def fire(self, now: Situation, now_ms: int) -> None:
        """Timers that are due. Where unseen generations lie between the last record and the next one, the time between
        the two proves nothing: the timers then start again with the next record."""
        due = [(job, one) for job, one in self.strays.items() if one.due_ms <= now_ms]
        blind_ms = now.unseen_until_ms(now_ms)
        for job, stray in due:
            if blind_ms is not None:
                self.strays[job] = replace(stray, due_ms=blind_ms)
            else:
                self._judge(now, job, stray)

    def wait(self, ms: int) -> None:
        """So much of the time that is told next may not have passed."""
        for job, one in self.strays.items():
            if one.due_ms < TOLD:
                self.strays[job] = replace(one, due_ms=one.due_ms + ms, since_ms=one.since_ms + ms)

    def _judge(self, now: Situation, job: JobKey, stray: Stray) -> None:
        group = now.group
        wait_ms = stray.since_ms + max(now.settings.judge_wait_ms, STRAY_MS)
        if stray.generation > group.generation and stray.due_ms < wait_ms:
            self.strays[job] = replace(stray, due_ms=wait_ms)
            return
        self.strays[job] = replace(stray, due_ms=TOLD)
        facts = now.facts(job)
        shown = facts.shown
        known = stray.worker in group.members and stray.worker not in facts.holders
        if known and shown is not None and shown.worker == stray.worker:
            if stray.awaited:
                now.found(_not_judged(now, stray, shown), stray.due_ms)
                return
            if stray.generation == group.generation:
                now.found(_not_held(now, stray, shown), stray.due_ms)
                return
        del self.strays[job]
        _close(now, job, stray.due_ms, but=None)

    def end(self, now: Situation) -> None:
        """The input has ended: runs whose generation's record never came."""
        for job, stray in self.strays.items():
            shown = now.facts(job).shown
            awaited = stray.awaited and stray.due_ms < TOLD
            if awaited and stray.worker in now.group.members and shown is not None:
                now.found(_not_judged(now, stray, shown), stray.since_ms)


def _close(now: Situation, job: JobKey, at_ms: int, but: Stray | None) -> None:
    subject = subject_of(job)
    kept = Subject("worker", but.worker) if but is not None else None
    now.over_where(RUNNING_NOT_HELD, at_ms, lambda found: found[0] == subject and found[1] != kept)


def _not_held(now: Situation, stray: Stray, shown: Sighting) -> Finding:
    holders = now.facts(shown.job).holders
    whose = f"held by {' and '.join(holders)}" if holders else "held by nobody"
    return _finding(now, stray, shown, whose, Severity.HIGH, Certainty.LIKELY)


def _not_judged(now: Situation, stray: Stray, shown: Sighting) -> Finding:
    why = f"whether it holds it is not judged: generation {stray.generation} has left no record"
    return _finding(now, stray, shown, why, Severity.INFO, Certainty.POSSIBLE)


def _finding(
    now: Situation, stray: Stray, shown: Sighting, what: str, severity: Severity, certainty: Certainty
) -> Finding:
    job, worker = subject_of(shown.job), Subject("worker", stray.worker)
    joint = "," if certainty is Certainty.LIKELY else ";"
    message, evidence = f"{stray.worker} runs {job.key}{joint} {what}", (shown_at(now, shown),)
    return finding_of(
        RUNNING_NOT_HELD, (job, worker), message, evidence, severity=severity, certainty=certainty, cause=(worker,)
    )
