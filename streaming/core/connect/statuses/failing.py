"""CONNECT-K19, a job that its holder says has FAILED, and CONNECT-K20, a task that fails and is restarted in a loop.

    record 7: A holds c-0     A FAILED 7                      K19 opens; people are told when it has lasted
                              A RESTARTING, A RUNNING 7       it ends
    RUNNING FAILED RESTARTING RUNNING FAILED RESTARTING …     K20 once more than `restart_loop_changes` changes came
                                                              within `restart_loop_ms`; it ends when they are fewer

Only the word of the one holder counts: a FAILED of a former owner says nothing of the job as it runs now. A change is a
status of the task that differs from the one before among FAILED, RESTARTING and RUNNING, so a rebalance (UNASSIGNED,
then RUNNING) is none. Traces of errors are never read.
"""

from collections.abc import Iterable

from rebalance_monitor.streaming.core.connect.rules.catalogue_status import FAILED_JOB, RESTART_LOOP, WORKER_LOST
from rebalance_monitor.streaming.core.connect.statuses.facts import (
    FAILED,
    PAUSED,
    RESTARTING,
    RUNNING,
    STOPPED,
    JobFacts,
    JobKey,
    Sighting,
)
from rebalance_monitor.streaming.core.connect.statuses.memory import Restarts
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Open, Work
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.transitions import key_of
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Source, Subject
from rebalance_monitor.streaming.core.model.subjects import subject_of

LOOP = frozenset({FAILED, RESTARTING, RUNNING})
GO_ON = frozenset({FAILED_JOB.code, WORKER_LOST.code})
WELL = frozenset({RUNNING, PAUSED, STOPPED})


def sighted(work: Work, status: Sighting) -> None:
    """A status, once the job's facts have it."""
    _look(work, status.job, status.at_ms)
    if status.job.startswith("task "):
        _count(work, status)


def stepped(work: Work, step: RecordStep) -> None:
    """A record, after its changes are applied."""
    moved = [*step.gained.values(), *step.lost.values(), *step.started.values()]
    jobs = {job for some in moved for job in some} | {one.subjects[0].key for one in _open(work)}
    for job in sorted(jobs):
        _look(work, job, step.at_ms)


def live(work: Work, now_ms: int) -> None:
    """What began in history and goes on, now that the group is read as it goes on: people are told of it."""
    for key, part in list(work.open.items()):
        if part.code in GO_ON and part.historic:
            work.went_on(key, now_ms)


def late(work: Work, now_ms: int) -> None:
    """Loops that have ended by this time."""
    for job, restarts in list(work.restarts.items()):
        if restarts.times_ms[0] + work.settings.restart_loop_ms > now_ms:
            continue
        left = tuple(at for at in restarts.times_ms if at + work.settings.restart_loop_ms > now_ms)
        work.over([key_of(RESTART_LOOP.code, (subject_of(job),))], now_ms)
        if left:
            work.restarts[job] = Restarts(restarts.state, left)
        else:
            del work.restarts[job]


def due_ms(work: Work) -> int | None:
    """When the next change is too long ago to count."""
    return min((one.times_ms[0] + work.settings.restart_loop_ms for one in work.restarts.values()), default=None)


def _look(work: Work, job: JobKey, at_ms: int) -> None:
    facts = work.facts(job)
    failed = _has_failed(facts)
    shown = facts.shown
    well = shown is None or shown.state in WELL
    subject, holders = subject_of(job), {Subject("worker", holder) for holder in facts.holders}
    ended = [
        key_of(one.code, one.subjects)
        for one in _open(work)
        if one.subjects[0] == subject and (well or one.subjects[1] not in holders)
    ]
    work.over(ended, at_ms)
    if failed and shown is not None:
        work.found(_finding(work, subject, shown), at_ms)


def _has_failed(facts: JobFacts) -> bool:
    """Whether the job's one holder has said so since it has it."""
    return facts.shown is not None and facts.shown.state == FAILED and facts.started


def _finding(work: Work, subject: Subject, shown: Sighting) -> Finding:
    return Finding(
        rule=FAILED_JOB,
        severity=Severity.MEDIUM,
        certainty=Certainty.CERTAIN,
        subjects=(subject, Subject("worker", shown.worker)),
        message=f"{subject.key} has FAILED on {shown.worker}, which holds it in generation "
        f"{max(shown.generation, work.generation)}",
        evidence=(Evidence(source=Source(work.status_topic, shown.partition, shown.offset)),),
    )


def _count(work: Work, status: Sighting) -> None:
    """Note a change between FAILED, RESTARTING and RUNNING; tasks that only ever ran are not kept."""
    before = work.restarts.get(status.job)
    if status.state is None:
        if work.restarts.pop(status.job, None) is not None:
            work.over([key_of(RESTART_LOOP.code, (subject_of(status.job),))], status.at_ms)
        return
    if status.state not in LOOP or (before is None and status.state == RUNNING):
        return
    if before is not None and before.state == status.state:
        return
    most, window_ms = work.settings.restart_loop_changes, work.settings.restart_loop_ms
    times = (*(before.times_ms if before is not None else ()), status.at_ms)[-(most + 1) :]
    work.restarts[status.job] = Restarts(status.state, times)
    if len(times) > most and times[0] + window_ms > status.at_ms:
        work.found(_loop(work, status, window_ms), status.at_ms)


def _loop(work: Work, status: Sighting, window_ms: int) -> Finding:
    return Finding(
        rule=RESTART_LOOP,
        severity=Severity.MEDIUM,
        certainty=Certainty.CERTAIN,
        subjects=(subject_of(status.job),),
        message=f"{status.job} changed between FAILED, RESTARTING and RUNNING more than "
        f"{work.settings.restart_loop_changes} times within {window_ms // 1_000} s, last on {status.worker}",
        evidence=(Evidence(source=Source(work.status_topic, status.partition, status.offset)),),
    )


def _open(work: Work) -> Iterable[Open]:
    return [one for one in work.open.values() if one.code == FAILED_JOB.code]
