"""How long jobs did not run (coordinator-log.md 10.3): from the old owner's last word to the new owner's first.

clean        it said UNASSIGNED, another worker said RUNNING: exact up to the difference of two clocks
in_place     the same worker said both: exact
crash        it vanished: at least since the join phase ended without it, at most since its last sign of life;
             likeliest since one session time-out before the join phase ended
failed       it had said FAILED before it lost the job: down since then, whoever rebalanced
no_stop      it still lives and never said that it stopped: unknown, perhaps it overlaps
not_known    a status or a record came after later ones were told: the order of things is not known
"""

from dataclasses import replace

from rebalance_monitor.streaming.core.connect.statuses.facts import ENDED, FAILED, JobFacts, Sighting
from rebalance_monitor.streaming.core.connect.statuses.late import NOT_KNOWN, not_known
from rebalance_monitor.streaming.core.connect.statuses.memory import Interruption, Unsettled
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work
from rebalance_monitor.streaming.core.model.effects import DowntimeSum, JobDowntime
from rebalance_monitor.streaming.core.model.subjects import subject_of

MOST_TOLD = 50
"""Interruptions told one by one per generation, the longest; all are in the sums."""


def sighted(work: Work, status: Sighting, before: JobFacts) -> None:
    """A status of a job: it may stop it, or take it up again."""
    if status.state is None:
        work.interruptions.pop(status.job, None)
    elif status.state in ENDED:
        known = work.interruptions.get(status.job)
        if known is None or known.stopped_ms is None:
            work.interruptions[status.job] = Interruption(
                worker=status.worker, stopped_ms=status.at_ms, state=status.state
            )
        if status.state == FAILED:
            _resumed(work, status, before)
    else:
        _resumed(work, status, before)


def stepped(work: Work, step: RecordStep) -> None:
    """A record, before its changes are applied: workers that vanished leave their jobs idle."""
    for worker in step.gone:
        for job in step.lost.get(worker, ()):
            claims = work.facts(job).claims
            if job not in work.interruptions and any(claim.worker == worker for claim in claims):
                work.interruptions[job] = Interruption(
                    worker=worker,
                    alive_ms=work.alive_ms.get(worker, step.state_ms),
                    missing_ms=step.state_ms,
                    session_ms=step.session_ms,
                )


def _resumed(work: Work, status: Sighting, before: JobFacts) -> None:
    """Somebody takes the job up: tell how long it was down, with the generation that it happened in."""
    broken = work.interruptions.get(status.job)
    place = next((at for at, two in enumerate(work.unsettled) if two.generation == status.generation), None)
    if place is None or (broken is not None and broken.state == FAILED and status.state == FAILED):
        if status.state not in ENDED:
            work.interruptions.pop(status.job, None)
        return
    told = _told(status, broken, before)
    if status.state not in ENDED:
        work.interruptions.pop(status.job, None)
    if told is not None:
        unsettled = work.unsettled[place]
        work.unsettled[place] = replace(unsettled, interrupted=(*unsettled.interrupted, told))


def _told(status: Sighting, broken: Interruption | None, before: JobFacts) -> JobDowntime | None:
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
        own = [one.best_ms for one in known if one.kind == kind]
        sums.append(DowntimeSum(kind=kind, jobs=len(own), total_ms=sum(own), longest_ms=max(own)))
    if unknown or unsettled.unknown:
        sums.append(not_known(len(unknown)))
    longest = sorted(known, key=lambda one: (-one.best_ms, one.job, one.until_ms))
    return tuple(sums), tuple(longest[:MOST_TOLD])
