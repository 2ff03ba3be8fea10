"""The last word on a generation, once its statuses are in: why it happened, and what it cost.

A worker that is in no record any more has *left* if it said of its jobs, before the join phase ended, that it stopped
them; it was *lost* if it said nothing, for absence takes a session time-out to be noticed (coordinator-log.md 10.5).
Missing statuses prove nothing: the certainty says how much there was to see.
"""

from collections.abc import Iterator
from dataclasses import replace

from streaming.core.results import Aftermath, Cause, Certainty, Evidence, Source, Subject
from streaming.core.statuses import UNASSIGNED, Sighting
from streaming.core.timeline import bursts
from streaming.core.timeline.downtime import summed
from streaming.core.timeline.state import Gone, Unsettled
from streaming.core.timeline.step import Step
from streaming.core.timeline.work import Work

LATE_STOP_MS = 1_000
"""A leaving worker's last status may carry a time a little after the join phase ended: two clocks."""
UNNOTICED_SHARE = 0.6
"""A crash is noticed one session time-out after the last heartbeat, which may itself be a third of it late."""


def noted(work: Work, step: Step) -> None:
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


def _gone(work: Work, step: Step, worker: str) -> Gone:
    jobs = step.lost.get(worker, ())
    seen = stopped = 0
    evidence: Source | None = None
    for facts in map(work.facts, jobs):
        shown, ended = facts.shown, facts.ended
        said = ended is not None and ended.worker == worker and ended.state == UNASSIGNED
        claims = any(claim.worker == worker for claim in facts.claims)
        seen += claims or said or (shown is not None and shown.worker == worker)
        if said and not claims and shown is not None:
            stopped += 1
            evidence = evidence or Source(work.status_topic, shown.partition, shown.offset)
    return Gone(worker, len(jobs), seen, stopped, work.alive_ms.get(worker, step.state_ms), evidence)


def sighted(work: Work, one: Sighting) -> None:
    """A status that comes after the record of the generation without its writer, though it was written before."""
    if one.state != UNASSIGNED:
        return
    for at, unsettled in enumerate(work.unsettled):
        if one.at_ms <= unsettled.state_ms + LATE_STOP_MS and any(two.worker == one.worker for two in unsettled.gone):
            place = Source(work.status_topic, one.partition, one.offset)
            gone = tuple(_stopped_one(two, place) if two.worker == one.worker else two for two in unsettled.gone)
            work.unsettled[at] = replace(unsettled, gone=gone)


def _stopped_one(gone: Gone, place: Source) -> Gone:
    stopped = gone.stopped + 1
    return replace(gone, stopped=stopped, seen=max(gone.seen, stopped), evidence=gone.evidence or place)


def settled(work: Work, now_ms: int) -> None:
    """Publish the last word on every generation whose time has come; wait once more where jobs are not taken up."""
    still: list[Unsettled] = []
    for one in work.unsettled:
        if one.due_ms > now_ms:
            still.append(one)
        elif not one.patient and work.asleep_ms and one is work.unsettled[-1]:
            extra_ms = max(work.settings.start_wait_ms - work.settings.settle_ms, 0)
            still.append(replace(one, due_ms=one.due_ms + extra_ms, patient=True))
        else:
            work.results.append(last_word(work, one))
    work.unsettled = still
    bursts.trim(work)


def last_word(work: Work, one: Unsettled) -> Aftermath:
    """What is published of the generation, finally."""
    sums, longest = summed(one)
    return Aftermath(
        cluster=work.settings.name,
        group=work.group,
        generation=one.generation,
        source=one.source,
        cause=tuple(_causes(one)),
        downtime=sums,
        interrupted=longest,
        burst=bursts.of(work, one.generation),
    )


def _causes(one: Unsettled) -> Iterator[Cause]:
    """The causes as published first, those who are gone told apart."""
    for cause in one.causes:
        if cause.kind != "worker_left":
            yield cause
            continue
        judged = {gone.worker: _parted(gone, one) for gone in one.gone}
        for kind in ("worker_left", "worker_lost"):
            for certainty in Certainty:
                yield from _grouped(cause, kind, certainty, judged)


def _grouped(
    cause: Cause, kind: str, certainty: Certainty, judged: dict[str, tuple[str, Certainty, Evidence]]
) -> Iterator[Cause]:
    own = sorted(worker for worker, (what, sure, _) in judged.items() if (what, sure) == (kind, certainty))
    if own:
        yield replace(
            cause,
            kind=kind,
            certainty=certainty,
            subjects=tuple(Subject("worker", worker) for worker in own),
            evidence=(*cause.evidence, *(judged[worker][2] for worker in own)),
        )


def _parted(gone: Gone, one: Unsettled) -> tuple[str, Certainty, Evidence]:
    """Left or lost, how sure, and what shows it."""
    if gone.stopped and gone.stopped * 2 >= gone.seen:
        evidence = Evidence(source=gone.evidence) if gone.evidence is not None else Evidence(text="it stopped its jobs")
        return "worker_left", Certainty.CERTAIN if gone.stopped >= gone.seen else Certainty.LIKELY, evidence
    silence_ms = max(one.state_ms - gone.alive_ms, 0)
    if silence_ms < one.session_ms * UNNOTICED_SHARE:
        text = f"{gone.worker} gave a sign of life {silence_ms} ms before: too short for a session time-out"
        return "worker_left", Certainty.POSSIBLE, Evidence(text=text)
    if gone.seen:
        text = f"{gone.worker} had {gone.seen} jobs and said of {gone.stopped} that it stopped them"
        return "worker_lost", Certainty.LIKELY, Evidence(text=text)
    return "worker_left", Certainty.POSSIBLE, Evidence(text=f"the status topic tells nothing of {gone.worker}'s end")
