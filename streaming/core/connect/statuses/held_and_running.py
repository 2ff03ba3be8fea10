"""CONNECT-K3, a job that runs where it is not held, and CONNECT-K4, a job that is held and not taken up.

    record 7: A holds c-0         A writes RUNNING 7 for c-1, which B holds       K3, if so still STRAY_MS later
    record 7: A is given c-0      A writes nothing about c-0                      K4 after `start_wait_ms`

A status can be lost: Connect then shows the job's old state, too, although its worker runs it. So K4 of one job is
possible; it is likely where a worker has taken up nothing of several jobs.

Both need statuses that can be told apart: a worker that only shares its id with others is never accused.
"""

from dataclasses import replace

from rebalance_monitor.streaming.core.connect.rules.catalogue_status import HELD_NOT_RUNNING, RUNNING_NOT_HELD
from rebalance_monitor.streaming.core.connect.statuses.facts import (
    ENDED,
    PAUSED,
    RESTARTING,
    RUNNING,
    STOPPED,
    UNASSIGNED,
    JobFacts,
    JobKey,
    Sighting,
    connector_key,
)
from rebalance_monitor.streaming.core.connect.statuses.memory import Stray
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.moments import utc
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Source, Subject
from rebalance_monitor.streaming.core.model.subjects import subject_of

STRAY_MS = 10_000
"""How long a RUNNING without hold may last: a slow start that meets a revocation, a record that is read later."""
TOLD = 1 << 62
"""Stands for the due time of a job whose K4 is open already."""


def sighted(work: Work, status: Sighting, facts: JobFacts) -> None:
    """A status of a job; `facts` with it."""
    if status.state in ENDED and work.ran_on.get(status.job) == status.worker:
        del work.ran_on[status.job]
    stray = work.strays.pop(status.job, None)
    ahead = status.generation > work.generation
    strange = status.worker not in facts.holders and status.generation > work.downgraded
    if status.state == RUNNING and strange and (ahead or status.worker in work.members):
        work.strays[status.job] = Stray(status.worker, status.generation, status.at_ms + STRAY_MS, status.at_ms, ahead)
    if stray is not None:
        _close_strays(work, status.job, status.at_ms, but=work.strays.get(status.job))
    if facts.started or status.state is None:
        _woke(work, status.job, status.at_ms)
    elif facts.holders == (status.worker,) and status.state in (UNASSIGNED, RESTARTING):
        stopped_ms = _surely_by(work, status)
        if stopped_ms is not None:
            work.asleep_ms.setdefault(status.job, stopped_ms + work.settings.start_wait_ms)


def _surely_by(work: Work, status: Sighting) -> int | None:
    """By when the status was written: by the time it states, or if its worker's clock is off from the coordinator's,
    at the latest time that can be; None where nobody knows one."""
    offset = work.offsets.of(status.worker, status.generation)
    if not offset.best_ms:
        return status.at_ms
    return None if offset.late_ms is None else status.at_ms + offset.late_ms


def stepped(work: Work, step: RecordStep) -> None:
    """A record, after its changes are applied."""
    _running_on(work, step)
    if step.downgraded:
        work.downgraded = step.generation
    for job, stray in list(work.strays.items()):
        if stray.generation > step.generation:
            continue
        gone = stray.worker not in work.members or stray.worker in work.facts(job).holders
        if gone or (step.downgraded and stray.generation <= step.generation):
            del work.strays[job]
            _close_strays(work, job, step.at_ms, but=None)
        elif stray.generation == step.generation:  # its record has come, perhaps long after it
            due_ms = max(stray.since_ms + STRAY_MS, step.at_ms)
            work.strays[job] = replace(stray, due_ms=due_ms, awaited=False)
    if step.unseen:
        wait_ms = step.at_ms + work.settings.start_wait_ms
        work.asleep_ms.update((job, wait_ms) for job, due_ms in work.asleep_ms.items() if due_ms != TOLD)
    for job in _to_start(work, step):
        facts = replace(work.facts(job), since=step.generation, since_ms=step.at_ms)
        work.change(job, facts)
        _woke(work, job, step.at_ms)
        if not facts.started:
            given_ms = work.offsets.given_ms(step, facts.holders[0]) if len(facts.holders) == 1 else step.at_ms
            work.asleep_ms[job] = given_ms + work.settings.start_wait_ms
    for job in list(work.asleep_ms):
        facts = work.facts(job)
        if len(facts.holders) != 1 or facts.started:  # perhaps before its record, or in a generation without one
            _woke(work, job, step.at_ms)


def _running_on(work: Work, step: RecordStep) -> None:
    """An eager worker stops what the last record gave it. In the first eager generation it was told to stop nothing, so
    what it had before and was not given again runs on, in later generations too, and when it is given back, nothing is
    started."""
    for job, worker in list(work.ran_on.items()):
        if worker not in work.members or worker in step.joined or not step.restarts:
            del work.ran_on[job]
    for worker in step.unstopped:
        work.ran_on.update(dict.fromkeys(step.lost.get(worker, ()), worker))


def _to_start(work: Work, step: RecordStep) -> list[JobKey]:
    if step.restarts and not step.downgraded:
        return [job for job, facts in work.jobs.items() if facts.holders]
    return [job for jobs in step.started.values() for job in jobs]


def _woke(work: Work, job: JobKey, at_ms: int) -> None:
    """Nothing has to be started here any more; an incident ends with the last of its jobs."""
    if work.asleep_ms.pop(job, None) != TOLD:
        return
    subject = subject_of(job)
    for key, incident in list(work.open.items()):
        if incident.code == HELD_NOT_RUNNING.code and subject in incident.subjects:
            names = [f"{one.type} {one.id}" for one in incident.subjects]
            if not any(work.asleep_ms.get(name) == TOLD for name in names):
                work.over([key], at_ms)


def late(work: Work, now_ms: int) -> None:
    """Timers of both rules that are due. Where unseen generations lie between the last record and the next one, the
    time between the two proves nothing: the timers then start again with the next record."""
    blind_ms = _unseen_until_ms(work)
    if blind_ms is not None and blind_ms > now_ms:
        wait_ms = blind_ms + work.settings.start_wait_ms
        work.asleep_ms.update((job, wait_ms) for job, due_ms in work.asleep_ms.items() if due_ms <= now_ms)
        work.strays.update(
            (job, replace(one, due_ms=blind_ms)) for job, one in work.strays.items() if one.due_ms <= now_ms
        )
        return
    for job, stray in [(job, one) for job, one in work.strays.items() if one.due_ms <= now_ms]:
        _judge_stray(work, job, stray)
    due = sorted((due_ms, job) for job, due_ms in work.asleep_ms.items() if due_ms <= now_ms)
    overslept: dict[tuple[int, str], list[JobKey]] = {}
    for due_ms, job in due:
        if _excused(work, job) or _taken_up_unseen(work, job, now_ms) or _in_time_perhaps(work, job, due_ms):
            del work.asleep_ms[job]
        else:
            overslept.setdefault((due_ms, work.facts(job).holders[0]), []).append(job)
    for (due_ms, worker), jobs in sorted(overslept.items()):
        work.asleep_ms.update(dict.fromkeys(jobs, TOLD))
        work.found(_not_running(work, worker, jobs), due_ms)


def _unseen_until_ms(work: Work) -> int | None:
    """The time of the next record, if generations between the last one and it left none."""
    return work.following.at_ms if work.following is not None and work.following.unseen else None


def _judge_stray(work: Work, job: JobKey, stray: Stray) -> None:
    wait_ms = stray.since_ms + max(work.settings.judge_wait_ms, STRAY_MS)
    if stray.generation > work.generation and stray.due_ms < wait_ms:
        work.strays[job] = replace(stray, due_ms=wait_ms)
        return
    work.strays[job] = replace(stray, due_ms=TOLD)
    facts = work.facts(job)
    shown = facts.shown
    known = stray.worker in work.members and stray.worker not in facts.holders
    if known and shown is not None and shown.worker == stray.worker:
        if stray.awaited:
            work.found(_not_judged(job, stray, _place(work, shown)), stray.due_ms)
            return
        if stray.generation == work.generation:
            work.found(_not_held(work, job, stray, _place(work, shown)), stray.due_ms)
            return
    del work.strays[job]
    _close_strays(work, job, stray.due_ms, but=None)


def unjudged(work: Work) -> None:
    """The input has ended: runs whose generation's record never came."""
    for job, stray in work.strays.items():
        shown = work.facts(job).shown
        if stray.awaited and stray.due_ms < TOLD and stray.worker in work.members and shown is not None:
            work.found(_not_judged(job, stray, _place(work, shown)), stray.since_ms)


def _excused(work: Work, job: JobKey) -> bool:
    facts = work.facts(job)
    if len(facts.holders) != 1 or facts.started or facts.holders[0] in work.behind:
        return True
    if work.ran_on.get(job) == facts.holders[0]:
        return True
    connector = work.facts(connector_key(job)).shown
    if connector is not None and connector.state in (PAUSED, STOPPED):
        return True
    return not work.members & work.heard


def _taken_up_unseen(work: Work, job: JobKey, now_ms: int) -> bool:
    """Whether what comes later shows that the job may have been taken up in time: what was said of it was replaced
    since, or it was deleted, and the topic compacted before it was read."""
    facts = work.facts(job)
    holes = {place for place, at_ms in work.holes_ms.items() if at_ms >= facts.since_ms}
    later = [one for one in work.coming.get(job, ()) if one.at_ms > now_ms]
    if later or facts.shown is not None:
        return any(str(one.partition) in holes for one in later)
    coming = (step for step in work.recorded if step.at_ms > now_ms)
    return bool(holes) and any(job in step.lost.get(facts.holders[0], ()) for step in coming)


def _in_time_perhaps(work: Work, job: JobKey, due_ms: int) -> bool:
    """Whether its worker, by a status that is read but dated later, may have taken it up before this time: by a clock
    that may be so far ahead."""
    facts = work.facts(job)
    for status in work.coming.get(job, ()):
        if status.worker in facts.holders and status.generation >= facts.since and status.at_ms > due_ms:
            earliest_ms = work.offsets.earliest_ms(status)
            if earliest_ms is None or earliest_ms <= due_ms:
                return True
    return False


def _not_held(work: Work, job: JobKey, stray: Stray, place: Evidence) -> Finding:
    subject, holders = subject_of(job), work.facts(job).holders
    whose = f"held by {' and '.join(holders)}" if holders else "held by nobody"
    return Finding(
        rule=RUNNING_NOT_HELD,
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        subjects=(subject, Subject("worker", stray.worker)),
        message=f"{stray.worker} runs {subject.type} {subject.id}, {whose}",
        evidence=(place,),
        cause=(Subject("worker", stray.worker),),
    )


def _not_judged(job: JobKey, stray: Stray, place: Evidence) -> Finding:
    subject = subject_of(job)
    return Finding(
        rule=RUNNING_NOT_HELD,
        severity=Severity.INFO,
        certainty=Certainty.POSSIBLE,
        subjects=(subject, Subject("worker", stray.worker)),
        message=f"{stray.worker} runs {subject.type} {subject.id}; whether it holds it is not judged: generation "
        f"{stray.generation} has left no record",
        evidence=(place,),
        cause=(Subject("worker", stray.worker),),
    )


def _place(work: Work, shown: Sighting) -> Evidence:
    return Evidence(source=Source(work.status_topic, shown.partition, shown.offset))


def _close_strays(work: Work, job: JobKey, at_ms: int, but: Stray | None) -> None:
    subject = subject_of(job)
    kept = Subject("worker", but.worker) if but is not None else None
    ended = [
        key
        for key, one in work.open.items()
        if one.code == RUNNING_NOT_HELD.code and one.subjects[0] == subject and one.subjects[1] != kept
    ]
    work.over(ended, at_ms)


def _not_running(work: Work, worker: str, jobs: list[JobKey]) -> Finding:
    since = {work.facts(job).since for job in jobs}
    since_ms = max(work.facts(job).since_ms for job in jobs)
    others = (facts for _, facts in work.jobs.items() if facts.holders == (worker,) and facts.since in since)
    lost = len(jobs) == 1 or any(facts.started for facts in others)
    what, them = ("1 connector or task", "it") if len(jobs) == 1 else (f"{len(jobs)} connectors and tasks", "them")
    return Finding(
        rule=HELD_NOT_RUNNING,
        severity=Severity.MEDIUM,
        certainty=Certainty.POSSIBLE if lost else Certainty.LIKELY,
        subjects=(*sorted(map(subject_of, jobs)), Subject("worker", worker)),
        message=f"{worker} holds {what} since {utc(since_ms)} and has not taken {them} up"
        + (", or its status was lost" if lost else ""),
        evidence=(Evidence(source=work.record), *_last_words(work, jobs)),
        cause=(Subject("worker", worker),),
    )


def _last_words(work: Work, jobs: list[JobKey]) -> list[Evidence]:
    shown = [facts.shown for facts in map(work.facts, jobs) if facts.shown is not None]
    return [_place(work, one) for one in shown[:8]]
