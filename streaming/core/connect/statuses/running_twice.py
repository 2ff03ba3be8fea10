"""CONNECT-K2: one job, run by two workers.

    A RUNNING 5, B RUNNING 7                              possible: A never said that it stopped. It may be dead
    … A is silent for one session and rebalance time-out  over: it is
    … A writes about the job later than B's start         certain: it lives, and has not stopped
    … A is in a later record and reports the job          certain, if B is there too
    … either says that it stopped, or rejoins without     over

    7 is eager, 5 was not, and A is in both               likely: eager workers stop everything when a rebalance begins,
                                                          but in the first one nobody knows yet that it is one

A worker that comes back and reports the job beside its new owner has not said that it stopped, as far as was read.
Where the status topic was compacted since it joined, it may have: its FAILED gives way to the new owner's RUNNING. Then
it is possible, until the returned worker writes about the job.

A write counts as later when it stands behind B's start in the topic, where all of one job stand in one partition, and
was surely written after it: writes may arrive late, and two workers' clocks differ (`worker_clocks`).
"""

from collections.abc import Iterable
from dataclasses import replace

from rebalance_monitor.streaming.core.connect.rules.catalogue_status import RUNNING_TWICE
from rebalance_monitor.streaming.core.connect.statuses.facts import (
    ENDED,
    RUNNING,
    UNASSIGNED,
    Claim,
    JobFacts,
    JobKey,
    Sighting,
)
from rebalance_monitor.streaming.core.connect.statuses.memory import CameBack, Suspicion
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work, incident_key
from rebalance_monitor.streaming.core.connect.statuses.worker_clocks import MOST_RECORDS
from rebalance_monitor.streaming.core.fold.clocks import SKEW_MS
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Source, Subject
from rebalance_monitor.streaming.core.model.subjects import subject_of

DOWNGRADED = (
    "the group fell from a cooperative protocol to eager in this generation, for which no worker stops anything, and "
    "{old} is still in the group and has not said that it stopped"
)
HIDDEN = (
    "{old} is in the group and reports it as its own, but the status topic was compacted before it was read, and "
    "{old} may have written that it ended"
)

MOST_RETURNED = 256
"""Jobs that returning workers brought along, the newest, that are remembered."""


def sighted(work: Work, status: Sighting, before: JobFacts) -> None:
    """A status of a job; `before` is what was known without it."""
    if status.state is None:
        _close(work, [two for two in work.suspicions if two.job == status.job], status.at_ms)
        return
    for suspicion in [two for two in work.suspicions if two.job == status.job and status.worker in (two.old, two.new)]:
        if status.worker == suspicion.new:
            _of_the_new(work, suspicion, status)
        elif _handed_back(work, before, status, suspicion):
            _close(work, [suspicion], status.at_ms)
        elif not _of_an_unseen_generation(work, status):
            _sign_of_life(work, suspicion, status)
    if status.state == RUNNING:
        for claim in before.claims:
            if claim.worker != status.worker:
                _suspect(work, status, claim)
        _beside_returned(work, status)


def _of_the_new(work: Work, suspicion: Suspicion, status: Sighting) -> None:
    """The new owner has stopped, or starts anew. If it stopped, a record may still show that the old one ran on."""
    if status.state in ENDED or (suspicion.ended and status.state == RUNNING):
        _close(work, [suspicion], status.at_ms)
        if status.state in ENDED and not suspicion.certain and not suspicion.ended:
            work.suspicions.append(replace(suspicion, ended=True))


def _handed_back(work: Work, facts: JobFacts, status: Sighting, suspicion: Suspicion) -> bool:
    """The old owner was given the job anew, after the other had it: it starts it rightly, be it as a paused one. Where
    its generation has left no record, that may be so; but what it stops it may have brought along."""
    newer = max(work.generation, suspicion.generation) < status.generation
    if newer and status.state not in ENDED and not work.recorded_in(status.generation):
        return True
    return status.worker in facts.holders and suspicion.generation < facts.since <= status.generation


def _of_an_unseen_generation(work: Work, status: Sighting) -> bool:
    """Whether the writer started the job in a generation whose record lies in a hole: it may have been given it there.
    The next record shows who has it."""
    following = work.following
    within = following is not None and following.unseen and work.generation < status.generation < following.generation
    return status.state == RUNNING and within and not work.recorded_in(status.generation)


def _sign_of_life(work: Work, suspicion: Suspicion, status: Sighting) -> None:
    if _ran_beside(work, suspicion, status):
        place = Source(work.status_topic, status.partition, status.offset)
        why = f"{suspicion.old} wrote {status.state} after {suspicion.new} had started it"
        suspicion = _certain(work, suspicion, status.at_ms, why, place)
    elif suspicion.alive is None or suspicion.alive[0] != status.generation:
        alive = replace(suspicion, alive=(status.generation, status.at_ms))
        work.suspicions = [alive if two == suspicion else two for two in work.suspicions]
        suspicion = alive
    if status.state in ENDED or (suspicion.ended and suspicion.certain):
        _close(work, [suspicion], status.at_ms)


def _ran_beside(work: Work, suspicion: Suspicion, status: Sighting) -> bool:
    """Whether this status of the old owner, which stands behind the start of the new one in the topic, was also written
    after it: in the same generation or a later one, by every clock that can be, or longer than a write may be on its
    way after another one behind that start, on the old owner's own clock. Where the new one's run may have been over,
    nothing shows it; where the old one's may, the UNASSIGNED of a connector does not, which one that failed has too."""
    if suspicion.over or (suspicion.hidden and status.state == UNASSIGNED and status.job.startswith("connector ")):
        return False
    if suspicion.generation <= status.generation <= work.generation:
        return True
    earliest_ms = work.offsets.earliest_ms(status)
    if earliest_ms is not None and suspicion.late_ms is not None and earliest_ms > suspicion.late_ms:
        return True
    alive = suspicion.alive
    return alive is not None and alive[0] == status.generation and status.at_ms >= alive[1] + SKEW_MS


def _suspect(work: Work, status: Sighting, claim: Claim) -> None:
    """RUNNING while another worker still claims the job. The lower generation is the former owner's."""
    late = status.generation < claim.generation
    new, old = (claim.worker, status.worker) if late else (status.worker, claim.worker)
    if any(two.job == status.job and {two.new, two.old} == {new, old} and not two.ended for two in work.suspicions):
        return
    due_ms = status.at_ms + work.patience_ms
    if not late:
        due_ms = claim.void_ms if claim.void_ms is not None else due_ms
        _doubt(work, status.job, old, None if due_ms <= status.at_ms else due_ms)
        if due_ms <= status.at_ms:
            return
    suspicion = Suspicion(
        job=status.job,
        new=new,
        old=old,
        generation=claim.generation if late else status.generation,
        at_ms=claim.at_ms if late else status.at_ms,
        due_ms=due_ms,
        late_ms=work.offsets.latest_ms(claim if late else status),
        hidden=not late and _may_be_over(work, claim),
    )
    suspicion = replace(suspicion, downgraded=_left_running(work, suspicion))
    work.suspicions.append(suspicion)
    places = tuple(
        Evidence(source=Source(work.status_topic, partition, offset))
        for partition, offset in ((claim.partition, claim.offset), (status.partition, status.offset))
    )
    why = DOWNGRADED.format(old=old) if suspicion.downgraded else f"{old} has not said that it stopped"
    work.found(_finding(suspicion, why, places), status.at_ms, suspicion.generation)
    if late:
        _sign_of_life(work, suspicion, status)


def _left_running(work: Work, suspicion: Suspicion) -> bool:
    """Whether the job moved in the last record, which let the group fall to the eager protocol, from a worker that is
    still in the group."""
    return suspicion.generation == work.generation and suspicion.old in work.unstopped


def downgraded(work: Work, step: RecordStep) -> None:
    """A record, after its changes are applied: the suspicions of its own generation that a downgrade makes likely."""
    work.unstopped = frozenset(step.unstopped)
    for suspicion in [one for one in work.suspicions if not (one.certain or one.downgraded or one.ended)]:
        if _left_running(work, suspicion):
            likely = replace(suspicion, downgraded=True)
            work.suspicions = [likely if one == suspicion else one for one in work.suspicions]
            why = DOWNGRADED.format(old=suspicion.old)
            work.found(_finding(likely, why, (Evidence(source=step.source),)), step.at_ms)


def _grade_of(suspicion: Suspicion) -> tuple[str, Severity, Certainty]:
    """The verb, how bad it is, and how sure."""
    if suspicion.certain:
        return "runs", Severity.CRITICAL, Certainty.CERTAIN
    if suspicion.downgraded:
        return "probably runs", Severity.HIGH, Certainty.LIKELY
    return "may run", Severity.INFO, Certainty.POSSIBLE


def _finding(suspicion: Suspicion, why: str, evidence: tuple[Evidence, ...]) -> Finding:
    verb, severity, certainty = _grade_of(suspicion)
    first, second = sorted((suspicion.new, suspicion.old))
    job = subject_of(suspicion.job)
    return Finding(
        rule=RUNNING_TWICE,
        severity=severity,
        certainty=certainty,
        subjects=(job, Subject("worker", first), Subject("worker", second)),
        message=f"{job.type} {job.id} {verb} twice, on {first} and {second}: {why}",
        evidence=evidence,
        cause=(Subject("worker", suspicion.old),),
    )


def _certain(work: Work, suspicion: Suspicion, at_ms: int, why: str, place: Source) -> Suspicion:
    """The old owner lives: this is no mere suspicion any more, and the next silence counts from here."""
    sure = replace(suspicion, certain=True, due_ms=at_ms + work.patience_ms)
    work.suspicions = [sure if one == suspicion else one for one in work.suspicions]
    if not suspicion.certain:
        work.found(_finding(sure, why, (Evidence(source=place),)), at_ms)
    return sure


def _close(work: Work, suspicions: Iterable[Suspicion], at_ms: int) -> None:
    ended = list(suspicions)
    work.suspicions = [one for one in work.suspicions if one not in ended]
    work.over([incident_key(_finding(one, "", ())) for one in ended], at_ms)


def rejoined(work: Work, step: RecordStep) -> None:
    """A record, before its changes are applied: who reports it as its own now?"""
    members = (work.members - set(step.gone)) | set(step.joined)
    for suspicion in list(work.suspicions):
        if step.generation <= suspicion.generation:
            continue
        if suspicion.ended:
            _ended_before(work, step, suspicion, members)
            continue
        old_has, new_has = (_reports(work, step, one, suspicion.job) for one in (suspicion.old, suspicion.new))
        if suspicion.old in members and old_has and suspicion.new in members and new_has:
            if suspicion.hidden:
                continue
            _certain(work, suspicion, step.at_ms, _why(suspicion.old), step.source)
        elif suspicion.new not in members or not new_has or suspicion.old in members:
            _close(work, [suspicion], step.at_ms)
            if suspicion.old in members and not old_has:
                _doubt(work, suspicion.job, suspicion.old, None)
    for worker, jobs in sorted(step.claimed.items()):
        for job in jobs:
            _brought_back(work, step, worker, job, members)
    _returned(work, step)


def _ended_before(work: Work, step: RecordStep, suspicion: Suspicion, members: set[str]) -> None:
    """The new owner has stopped the job, by the times that are told. If both report it in a record that takes it from
    the new owner, that stop came after the record, and both ran it until then."""
    if suspicion.old not in members:
        return
    taken = suspicion.new in members and suspicion.job in step.lost.get(suspicion.new, ())
    both = taken and all(_reports(work, step, one, suspicion.job) for one in (suspicion.old, suspicion.new))
    if both and not suspicion.hidden and suspicion.job in step.claimed.get(suspicion.old, ()):
        suspicion = _certain(work, suspicion, step.at_ms, _why(suspicion.old), step.source)
    _close(work, [suspicion], step.at_ms)


def _returned(work: Work, step: RecordStep) -> None:
    """Remember who brings along what another one reports too: that this one has started it may be told only later."""
    oldest = step.generation - MOST_RECORDS
    work.returned = [one for one in work.returned if oldest < one.generation < step.generation]
    for worker in (one for one in step.joined if one in step.claimed):
        for job in step.claimed[worker]:
            facts = work.facts(job)
            if facts.ended_by(worker, before=step.generation) or _end_hidden(work, worker, facts):
                continue
            others = (one for one in facts.holders if one != worker and _reports(work, step, one, job))
            work.returned += [CameBack(job, worker, one, step.generation, step.source) for one in others]
    work.returned = work.returned[-MOST_RETURNED:]


def _beside_returned(work: Work, status: Sighting) -> None:
    """A start that is told after the record in which the old owner reported the job too."""
    for back in work.returned:
        if (back.job, back.beside) != (status.job, status.worker) or back.generation <= status.generation:
            continue
        pair = {status.worker, back.worker}
        known = next((two for two in work.suspicions if two.job == status.job and {two.new, two.old} == pair), None)
        if known is None:
            due_ms = status.at_ms + work.patience_ms
            known = Suspicion(
                job=status.job,
                new=status.worker,
                old=back.worker,
                generation=status.generation,
                at_ms=status.at_ms,
                due_ms=due_ms,
            )
            work.suspicions.append(known)
        _certain(work, known, status.at_ms, _why(back.worker), back.source)


def _why(old: str) -> str:
    return f"{old} is in the group and reports it as its own"


def _brought_back(work: Work, step: RecordStep, worker: str, job: JobKey, members: set[str]) -> None:
    """A worker reports a job it was not known to hold, while another runs it: a zombie's, found without a suspicion. If
    it has written before that the job ended, it holds the job and does not run it."""
    facts = work.facts(job)
    if facts.ended_by(worker, before=step.generation):
        return
    for claim in facts.claims:
        known = any(one.job == job and {one.new, one.old} == {claim.worker, worker} for one in work.suspicions)
        if claim.worker == worker or known or claim.worker not in members or claim.generation >= step.generation:
            continue
        if _reports(work, step, claim.worker, job):
            suspicion = Suspicion(
                job=job, new=claim.worker, old=worker, generation=claim.generation, at_ms=claim.at_ms, due_ms=0
            )
            over = _may_be_over(work, claim)
            if over or _end_hidden(work, worker, facts):
                suspicion = replace(suspicion, due_ms=step.at_ms + work.patience_ms, hidden=True, over=over)
                work.suspicions.append(suspicion)
                place, hidden = Evidence(source=step.source), claim.worker if over else worker
                work.found(_finding(suspicion, HIDDEN.format(old=hidden), (place,)), step.at_ms)
                continue
            work.suspicions.append(suspicion)
            _certain(work, suspicion, step.at_ms, _why(worker), step.source)


def _end_hidden(work: Work, worker: str, facts: JobFacts) -> bool:
    """Whether the worker may have written that it ended without anybody having read it: its last statuses of the
    job lie in a hole of the topic, between the record with which it joined and now."""
    known = {claim.partition for claim in facts.claims} | (
        {facts.shown.partition} if facts.shown is not None else set()
    )
    holes = [at_ms for place, at_ms in work.holes_ms.items() if not known or int(place) in known]
    joined_ms = work.joined_ms.get(worker)
    return any(joined_ms is None or at_ms > joined_ms - SKEW_MS for at_ms in holes)


def _may_be_over(work: Work, claim: Claim) -> bool:
    """Whether the run may have ended without anybody having read it: a hole of the topic lies behind its start."""
    at_ms = work.holes_ms.get(str(claim.partition))
    return at_ms is not None and at_ms > claim.at_ms


def _reports(work: Work, step: RecordStep, worker: str, job: JobKey) -> bool:
    """Whether the worker, by its own account when it joined, has the job. Eager workers give no account."""
    if job in step.claimed.get(worker, ()):
        return True
    return worker in work.facts(job).holders and not step.restarts and job not in step.absent.get(worker, ())


def silent(work: Work, now_ms: int) -> None:
    """Old owners that kept silent long enough do not run anything: their claims are void."""
    due = [one for one in work.suspicions if one.due_ms <= now_ms]
    for suspicion in due:
        _doubt(work, suspicion.job, suspicion.old, None)
        _close(work, [suspicion], suspicion.due_ms)


def _doubt(work: Work, job: JobKey, worker: str, void_ms: int | None) -> None:
    """The worker's claim will be void at this time, or (None) is now."""
    facts = work.facts(job)
    kept = (claim for claim in facts.claims if claim.worker != worker or void_ms is not None)
    claims = tuple(replace(claim, void_ms=void_ms) if claim.worker == worker else claim for claim in kept)
    work.change(job, replace(facts, claims=claims))
