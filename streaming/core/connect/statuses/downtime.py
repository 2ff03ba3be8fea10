"""How long jobs did not run (coordinator-log.md 10.3): from the old owner's last word to the new owner's first.

clean        it said UNASSIGNED, another worker said RUNNING: exact up to the difference of two clocks
in_place     the same worker said both: exact
crash        it vanished: at least since the join phase ended without it, at most since its last sign of life;
             likeliest since one session time-out before the join phase ended
failed       it had said FAILED before it lost the job: down since then, whoever rebalanced
no_stop      it still lives and never said that it stopped: unknown, perhaps it overlaps
not_known    a status or a record came after later ones were told: the order of things is not known
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.details import DowntimeSum, JobDowntime
from rebalance_monitor.streaming.core.model.subjects import connector_of, subject_of
from .facts import ENDED, FAILED, JobFacts, JobKey, Sighting
from .parting import Unsettled
from .round_change import RecordStep
from .situation import Situation

NOT_KNOWN = "not_known"
MOST_TOLD = 50
"""Interruptions told one by one per generation, the longest; all are in the sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """Since when a job may not run: its worker stopped it (`stopped_ms`) or vanished (between alive and missing); or
    `unknown`, because what was written before came after what was written later."""

    worker: str
    stopped_ms: int | None = None
    state: str | None = None
    alive_ms: int = 0
    missing_ms: int | None = None
    session_ms: int = 0
    unknown: bool = False


@dataclass(slots=True, kw_only=True)
class Downtime:
    """The jobs that may not run now."""

    interruptions: dict[JobKey, Interruption] = field(default_factory=dict)

    def before(self, now: Situation, step: RecordStep) -> None:
        """A record, before its changes are applied: workers that vanished leave their jobs idle."""
        for worker in step.gone:
            for job in step.lost.get(worker, ()):
                claims = now.facts(job).claims
                if job not in self.interruptions and any(claim.worker == worker for claim in claims):
                    self.interruptions[job] = Interruption(
                        worker=worker,
                        alive_ms=now.group.alive_ms.get(worker, step.state_ms),
                        missing_ms=step.state_ms,
                        session_ms=step.session_ms,
                    )

    def sighted(self, status: Sighting, before: JobFacts) -> JobDowntime | None:
        """A status of a job, and what was known without it. It may stop the job, or take it up again: then how long it
        was down."""
        broken = self.interruptions.get(status.job)
        if status.state is None:
            self.interruptions.pop(status.job, None)
            return None
        if status.state not in ENDED:
            self.interruptions.pop(status.job, None)
            if broken is not None and broken.stopped_ms is not None and before.ended is None:
                return None  # it stopped after its deletion, and this is another one of its name
            return _downtime_of(status, broken, before)
        if broken is None or broken.stopped_ms is None:
            broken = Interruption(worker=status.worker, stopped_ms=status.at_ms, state=status.state)
            self.interruptions[status.job] = broken
        return None if status.state != FAILED or broken.state == FAILED else _downtime_of(status, broken, before)

    def late_status(self, status: Sighting) -> None:
        """From when on the job stands still is not known, nor whether it does. It is also a later sign of life of its
        writer, from which a crash is reckoned that was told already."""
        for job, broken in self.interruptions.items():
            if broken.worker == status.worker and broken.stopped_ms is None:
                self.interruptions[job] = replace(broken, unknown=True)
        self.interruptions[status.job] = Interruption(worker=status.worker, unknown=True)

    def late_step(self, step: RecordStep) -> None:
        """Statuses of the record's generation were told before it, and what they ended is forgotten."""
        for job in (job for worker in step.gone for job in step.lost.get(worker, ())):
            if job in self.interruptions:
                self.interruptions[job] = replace(self.interruptions[job], unknown=True)


def _downtime_of(status: Sighting, broken: Interruption | None, before: JobFacts) -> JobDowntime | None:
    if broken is None:
        others = [claim.worker for claim in before.claims if claim.worker != status.worker]
        return _downtime(status, "no_stop", others[-1], 0, 0, 0) if others else None
    if broken.unknown:
        return _downtime(status, NOT_KNOWN, broken.worker, 0, 0, 0)
    if broken.stopped_ms is not None:
        down_ms = max(status.at_ms - broken.stopped_ms, 0)
        kind = "failed" if broken.state == FAILED else "in_place" if broken.worker == status.worker else "clean"
        return _downtime(status, kind, broken.worker, down_ms, down_ms, down_ms)
    missing_ms = broken.missing_ms or status.at_ms
    likely_ms = max(broken.alive_ms, missing_ms - broken.session_ms)
    times = (max(status.at_ms - since_ms, 0) for since_ms in (missing_ms, broken.alive_ms, likely_ms))
    return _downtime(status, "crash", broken.worker, *times)


def _downtime(status: Sighting, kind: str, before: str, lowest: int, highest: int, best: int) -> JobDowntime:
    return JobDowntime(
        job=subject_of(status.job),
        kind=kind,
        before=before,
        after=status.worker,
        until_ms=status.at_ms,
        lowest_ms=lowest,
        highest_ms=highest,
        best_ms=best,
    )


def summed(unsettled: Unsettled) -> tuple[tuple[DowntimeSum, ...], tuple[JobDowntime, ...]]:
    """All interruptions by kind, and the longest ones themselves. Of those not known there is only the number."""
    unknown = {one.job for one in unsettled.interrupted if one.kind == NOT_KNOWN or unsettled.unknown}
    known = [one for one in unsettled.interrupted if one.job not in unknown]
    sums = []
    for kind in sorted({one.kind for one in known}):
        own = [one for one in known if one.kind == kind]
        each_ms, split = [one.best_ms for one in own], Counter[str]()
        for one in own:
            split[connector_of(one.job) or ""] += one.best_ms
        sums.append(
            DowntimeSum(
                kind=kind,
                jobs=len(own),
                total_ms=sum(each_ms),
                longest_ms=max(each_ms),
                by_connector=_named(split),
            )
        )
    if unknown or unsettled.unknown:
        sums.append(not_known(len(unknown), (connector_of(job) or "" for job in unknown)))
    longest = sorted(known, key=lambda one: (-one.best_ms, one.job, one.until_ms))
    return tuple(sums), tuple(longest[:MOST_TOLD])


def not_known(jobs: int, connectors: Iterable[str] = ()) -> DowntimeSum:
    """The sum of costs that nobody knows, and whose they are: empty where that takes too much to remember."""
    split = _named(dict.fromkeys(connectors, 0))
    return DowntimeSum(kind=NOT_KNOWN, jobs=jobs, total_ms=0, longest_ms=0, by_connector=split)


def _named(split: Mapping[str, int]) -> dict[str, int]:
    """A name that is empty names no connector."""
    return {name: split[name] for name in sorted(split) if name}
