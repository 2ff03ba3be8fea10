"""The last word on a generation, once its statuses are in: why it happened, and what it cost.

Whether a worker that is in no record any more left or was lost is told by its statuses up to the end of the join phase
(`parting`).
"""

from dataclasses import replace

from rebalance_monitor.streaming.core.connect.statuses import bursts, late, parting, workers_lost
from rebalance_monitor.streaming.core.connect.statuses.downtime import summed
from rebalance_monitor.streaming.core.connect.statuses.facts import UNASSIGNED, Sighting
from rebalance_monitor.streaming.core.connect.statuses.memory import Gone, Unsettled
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work
from rebalance_monitor.streaming.core.model.results import Aftermath, Source

LATE_STOP_MS = 1_000
"""A leaving worker's last status may carry a time a little after the join phase ended: two clocks."""


def noted(work: Work, step: RecordStep) -> None:
    """A record, before its changes are applied: remember what is known of those who are gone."""
    gone = tuple(_gone(work, step, worker) for worker in step.gone)
    work.unsettled.append(
        Unsettled(
            source=step.source,
            generation=step.generation,
            state_ms=step.state_ms,
            due_ms=step.at_ms + work.settings.settle_ms,
            causes=step.causes,
            gone=gone,
            session_ms=step.session_ms,
        )
    )


def _gone(work: Work, step: RecordStep, worker: str) -> Gone:
    jobs = step.lost.get(worker, ())
    seen = stopped = stopped_ms = 0
    evidence: Source | None = None
    for facts in map(work.facts, jobs):
        shown, ended = facts.shown, facts.ended
        said = ended is not None and ended.worker == worker and ended.state == UNASSIGNED
        claims = any(claim.worker == worker for claim in facts.claims)
        seen += claims or said or (shown is not None and shown.worker == worker)
        if said and not claims and shown is not None and ended is not None:
            stopped += 1
            stopped_ms = max(stopped_ms, ended.at_ms)
            evidence = evidence or Source(work.status_topic, shown.partition, shown.offset)
    return Gone(worker, len(jobs), seen, stopped, work.alive_ms.get(worker, step.state_ms), evidence, stopped_ms)


def sighted(work: Work, status: Sighting) -> None:
    """A status that comes after the record of the generation without its writer, though it was written before, or by a
    clock that is ahead, or by a process that was only frozen."""
    if status.state != UNASSIGNED:
        return
    place = Source(work.status_topic, status.partition, status.offset)
    for at, unsettled in enumerate(work.unsettled):
        late = status.at_ms > unsettled.state_ms + LATE_STOP_MS
        gone = tuple(
            _stopped_one(two, status.at_ms, place, late=late) if two.worker == status.worker else two
            for two in unsettled.gone
        )
        work.unsettled[at] = replace(unsettled, gone=gone)


def _stopped_one(gone: Gone, at_ms: int, place: Source, *, late: bool) -> Gone:
    if late:
        return replace(gone, late=gone.late + 1)
    stopped = gone.stopped + 1
    return replace(
        gone,
        stopped=stopped,
        seen=max(gone.seen, stopped),
        evidence=gone.evidence or place,
        stopped_ms=max(gone.stopped_ms, at_ms),
    )


def settled(work: Work, now_ms: int) -> None:
    """Publish the last word on every generation whose time has come; wait once more where jobs are not taken up."""
    still: list[Unsettled] = []
    for unsettled in work.unsettled:
        if unsettled.due_ms > now_ms:
            still.append(unsettled)
        elif not unsettled.patient and work.asleep_ms and unsettled is work.unsettled[-1]:
            extra_ms = max(work.settings.start_wait_ms - work.settings.settle_ms, 0)
            still.append(replace(unsettled, due_ms=unsettled.due_ms + extra_ms, patient=True))
        else:
            word = last_word(work, unsettled, now_ms)
            work.outputs.append(word)
            workers_lost.settled(work, word)
            late.remembered(work, unsettled, word, now_ms)
    work.unsettled = still
    bursts.trim(work)


def last_word(work: Work, unsettled: Unsettled, told_ms: int) -> Aftermath:
    """What is published of the generation, finally. All statuses with times up to `told_ms` have come."""
    sums, longest = summed(unsettled)
    return Aftermath(
        cluster=work.settings.name,
        group=work.group,
        generation=unsettled.generation,
        source=unsettled.source,
        cause=tuple(parting.told_apart(unsettled, work.offsets.early_ms, told_ms)),
        downtime=sums,
        interrupted=longest,
        burst=bursts.of(work, unsettled.generation),
    )
