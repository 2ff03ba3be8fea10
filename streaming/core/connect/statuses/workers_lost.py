"""CONNECT-K21: a worker that was lost, did not come back, and no other one came instead.

    10:00:10  record 8 without w2, which had stopped nothing    its session time-out has passed; the delay is 300 s
    10:05:10  w2 has not come back                              worker_lost opens: 4 of 12 stood still then
    10:20:00  a generation with w2                              it ends

A worker that stopped its connectors and tasks before it went was stopped on purpose: nothing is wrong once others have
what it held, and `unassigned_too_long` tells where nobody has. What tells the two apart are its statuses (`parting`). A
worker that joins after another one was lost came instead of it, as where each start of a process makes a new name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.causes import LOST
from rebalance_monitor.streaming.core.connect.rules.catalogue_status import WORKER_LOST
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS
from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.core.model.results import Aftermath, Certainty, Evidence, Subject
from .downtime import Interruption
from .facts import JobKey
from .round_change import RecordStep
from .situation import TOLD, Situation

TOLD_MS = 24 * 60 * MINUTE_MS
"""What is open ends so long after the patience: the group is run without the worker."""


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


@dataclass(slots=True, kw_only=True)
class LostWorkers:
    """Workers that went and did not come back."""

    workers: dict[str, LostWorker] = field(default_factory=dict)

    def before(self, now: Situation, step: RecordStep) -> None:
        """A record, before its changes are applied: who may be lost, who is back, and who came instead."""
        if step.unseen:  # who came back or instead in the generations between, and how anybody went, is not known
            self.workers = {worker: one for worker, one in self.workers.items() if one.told}
        came = 0
        for worker in step.joined:
            came += self.workers.pop(worker, None) is None
        for worker in step.gone:
            if worker in step.lost and not step.unseen:
                # Not before the last word on this generation, which may come late: what opens then depends on no batch.
                known_ms = max(now.settings.settle_ms, now.settings.start_wait_ms)
                due_ms = step.at_ms + max(step.delay_ms, step.session_ms, known_ms)
                self.workers[worker] = LostWorker(step.at_ms, due_ms, step.generation, Evidence(source=step.source))
        for worker in sorted(self.workers, key=lambda one: (self.workers[one].since_ms, one))[:came]:
            del self.workers[worker]
        self._end(now, step.at_ms)

    def settled(self, word: Aftermath) -> None:
        """The last word on a generation: who was lost in it."""
        surely = {
            subject.id for cause in word.cause if cause.kind == LOST and cause.certainty is not Certainty.POSSIBLE
            for subject in cause.subjects
        }  # fmt: skip
        for worker, one in list(self.workers.items()):
            if one.generation == word.generation and not one.sure and worker in surely:
                self.workers[worker] = replace(one, sure=True)
            elif one.generation == word.generation and not one.sure:
                del self.workers[worker]

    def fire(self, now: Situation, now_ms: int, interruptions: Mapping[JobKey, Interruption]) -> None:
        """Patiences that end by now, and workers that are given up. `interruptions`: connectors and tasks that may
        stand still."""
        unseen = now.unseen_until_ms(now_ms) is not None  # who came meanwhile is not known
        for worker, one in list(self.workers.items()):
            if not one.sure or one.due_ms > now_ms:
                continue
            if one.told or unseen:
                del self.workers[worker]
            else:
                self.workers[worker] = replace(one, told=True, due_ms=one.due_ms + TOLD_MS)
                now.found(_finding(now, worker, one, interruptions), one.due_ms)
        self._end(now, now_ms)

    def due_ms(self) -> int:
        """When the next patience ends, or the next worker is given up."""
        return min((one.due_ms for one in self.workers.values() if one.sure), default=TOLD)

    def wait(self, ms: int) -> None:
        """Nobody but one coordinator says that so much time has passed."""
        self.workers = {worker: replace(one, due_ms=one.due_ms + ms) for worker, one in self.workers.items()}

    def _end(self, now: Situation, at_ms: int) -> None:
        now.over_where(WORKER_LOST, at_ms, lambda found: found[0].id not in self.workers)


def _finding(now: Situation, worker: str, one: LostWorker, interruptions: Mapping[JobKey, Interruption]) -> Finding:
    every = interruptions.keys() | {job for job, facts in now.jobs.items() if facts.holders}
    still = sum(broken.worker == worker for broken in interruptions.values())
    share = f" ({round(100 * still / len(every))} %)" if still else ""
    return finding_of(
        WORKER_LOST,
        (Subject("worker", worker),),
        f"{worker} has been away since {utc(one.since_ms)}, when its session time-out had passed, and no "
        f"worker came instead; at {utc(one.due_ms)} {still or 'none'} of the group's {len(every)} connectors and tasks"
        f"{share} stood still because of it",
        (one.evidence,),
        certainty=Certainty.LIKELY,
    )
