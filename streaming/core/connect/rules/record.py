"""Laws about the jobs in one record of a Connect group (CONNECT-I1 to I8): what no correct leader can have answered.

A job is *active* with a member that reports it, in the *hands* of a member that has it after the round, and *waits*
where the delay was opened for it. What the config topic says is believed only as far as the leader must have known it.
"""

from collections.abc import Iterable, Iterator, Mapping

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.advice.own_step import imbalance_step
from rebalance_monitor.streaming.core.connect.observed import (
    COOPERATIVE,
    ConnectorOrTask,
    Observed,
    WorkerView,
    by_job,
    job_key,
    job_kind,
    job_name,
    of_jobs,
    subjects_of,
)
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Subject
from .catalogue_record import (
    ASSIGNED_AND_REVOKED,
    ASSIGNED_WHILE_ACTIVE,
    DUPLICATE_ACTIVE,
    DUPLICATE_HOLD,
    HELD_BUT_DELETED,
    IMBALANCE,
    REVOKED_NOT_HELD,
    UNASSIGNED,
)
from .context import Need, RuleCheck, Scene

BALANCED_ERAS = frozenset({"A4", "A5", "eager"})
"""Algorithm families under which every calm generation is balanced within one."""
SHOWN = 5
"""Jobs or workers that a message names before it only counts them."""


def sorted_jobs(jobs: Iterable[ConnectorOrTask]) -> list[ConnectorOrTask]:
    return sorted(jobs, key=lambda job: (job_kind(job), job_name(job)))


def names(jobs: Iterable[ConnectorOrTask]) -> str:
    """The first few, connectors before tasks."""
    return listed([job_name(job) for job in sorted_jobs(jobs)], SHOWN)


def names_alike(jobs: Iterable[ConnectorOrTask]) -> str:
    """The first few, connectors and tasks alike in the order of their names."""
    return listed(sorted(map(job_name, jobs)), SHOWN)


def found(
    scene: Scene,
    rule: Rule,
    subjects: tuple[Subject, ...],
    message: str,
    severity: Severity | None = None,
    certainty: Certainty = Certainty.CERTAIN,
) -> Finding:
    """A finding that the record itself proves."""
    return finding_of(rule, subjects, message, scene.evidence, severity=severity, certainty=certainty)


def found_since(
    scene: Scene, rule: Rule, subjects: tuple[Subject, ...], message: str, certainty: Certainty = Certainty.CERTAIN
) -> Finding:
    """A finding that the record and the one before it prove."""
    before = (Evidence(source=scene.last.source),) if scene.last is not None else ()
    return finding_of(rule, subjects, message, (*before, *scene.evidence), certainty=certainty)


@of_jobs
def active(observed: Observed) -> Mapping[ConnectorOrTask, list[str]]:
    """Member ids per job that they report as theirs, of members that can be read."""
    return by_job((member_id, view.held) for member_id, view in observed.views.items() if view.readable)


def _reported_twice(observed: Observed) -> bool:
    held = [view.held for view in observed.views.values() if view.readable]
    return sum(map(len, held)) > len(frozenset[ConnectorOrTask]().union(*held))


def duplicate_hold(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I1: no job is in two members' hands after the round. A mismatch round revokes nothing and is exempt."""
    views = scene.observed.views.values()
    if sum(len(view.holds) for view in views) == len(scene.observed.hands()):
        return
    holders = scene.observed.holders()
    for job in sorted_jobs(job for job, members in holders.items() if len(members) > 1):
        yield _shared(scene, DUPLICATE_HOLD, job, holders[job], Severity.CRITICAL, "is held by")


def duplicate_active(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I2: two members report the same job as theirs. Harmless for long only if all of them must stop it now.

    A report is no run: a worker reports what it was given, whether it has started it or not. Statuses prove runs (K2).
    """
    if not _reported_twice(scene.observed):
        return
    holders = active(scene.observed)
    for job in sorted_jobs(job for job, members in holders.items() if len(members) > 1):
        revoked = all(job in scene.observed.views[member_id].revoked for member_id in holders[job])
        severity = Severity.MEDIUM if revoked else Severity.CRITICAL
        shared = _shared(scene, DUPLICATE_ACTIVE, job, holders[job], severity, "is reported as theirs by")
        message = f"{shared.message}; whether both have run it, only their statuses tell"
        yield replace(shared, message=message, certainty=Certainty.LIKELY)


def _shared(
    scene: Scene, rule: Rule, job: ConnectorOrTask, members: Iterable[str], severity: Severity, verb: str
) -> Finding:
    holders = scene.subjects(members)
    workers = " and ".join(one.id for one in holders)
    message = f"{job_key(job)} {verb} {workers}"
    return found(scene, rule, (*subjects_of([job]), *holders), message, severity)


def assigned_while_active(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I3: a job that a member reports, and keeps, is not handed out, not even to the same member.

    A member that cannot be read reports nothing: what it had after the record before proves no run.
    """
    if not any(view.assigned for view in scene.observed.views.values()):
        return
    holders = active(scene.observed)
    kept = frozenset(job for job, members in holders.items() if _stays(scene, job, members))
    for member_id, view in sorted(scene.observed.views.items()):
        for job in sorted_jobs(view.assigned & kept):
            worker, running = scene.worker(member_id), sorted(map(scene.worker, holders[job]))
            message = f"{job_key(job)} was handed to {worker} while reported by {' and '.join(running)}"
            yield found(scene, ASSIGNED_WHILE_ACTIVE, (*subjects_of([job]), *scene.subjects([member_id])), message)


def _stays(scene: Scene, job: ConnectorOrTask, members: Iterable[str]) -> bool:
    """Whether one of these members, which report the job, is not told to stop it."""
    return any(job not in scene.observed.views[member_id].revoked for member_id in members)


def unassigned(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I4: every configured job is in somebody's hands, unless it was just taken away or waits for the delay.

    Groups whose members declare static jobs have finer laws (S5, S6), and so have jobs that were just taken away (K15).
    """
    if scene.intent is not None and scene.intent.enforced and scene.intent.lists:
        return
    observed = scene.observed
    missing = scene.surely - observed.hands() - observed.revoked()
    if observed.delay_ms:
        missing -= may_wait(scene)
    again = missing & _without_excuse_before(scene)
    if scene.gap == 0:  # what the round before took away and this one forgot has a law of its own
        missing = (missing - scene.memory.revoked) | again
    if missing:
        severity = Severity.CRITICAL if again else Severity.HIGH
        jobs = (
            "1 configured connector or task is"
            if len(missing) == 1
            else f"{len(missing)} configured connectors and tasks are"
        )
        twice = ", for the second time in a row" if again else ""
        message = f"{jobs} in nobody's hands, and neither revoked nor waiting for a delay{twice}: {names(missing)}"
        yield found(scene, UNASSIGNED, subjects_of(missing), message, severity)


def may_wait(scene: Scene) -> frozenset[ConnectorOrTask]:
    """Jobs that may be lost and therefore wait: whatever the leader can have given out before.

    New jobs never wait, and what was revoked in the round before is new; but for what was taken back from a candidate.
    """
    last = scene.last
    if last is None or scene.gap or scene.configured_before is None:
        return scene.possibly
    taken = frozenset(job for view in last.views.values() for job in view.revoked & view.held)
    # What somebody held was given out, even where compaction has left no record of it from before.
    return (scene.configured_before | scene.hidden_before | last.hands()) - taken


def _without_excuse_before(scene: Scene) -> frozenset[ConnectorOrTask]:
    last = scene.last
    if last is None or scene.gap or last.error or last.delay_ms or scene.configured_before is None:
        return frozenset()
    return scene.configured_before - last.hands() - last.revoked()


def held_but_deleted(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I5: a job that is no longer configured is never handed out, and taken away by a leader that knew it."""
    if scene.observed.hands() <= scene.possibly:
        return
    for member_id, view in sorted(scene.observed.views.items()):
        worker = scene.worker(member_id)
        handed = view.assigned - scene.possibly
        kept = (view.held & view.holds) - scene.possibly - handed
        kept = frozenset() if scene.explained else kept & _remembered(scene)
        if handed or kept:
            verb = "was given" if handed else "was left with"
            message = f"{worker} {verb} what is not configured: {names(handed | kept)}"
            subjects = (*subjects_of(handed | kept), *scene.subjects([member_id]))
            yield found(scene, HELD_BUT_DELETED, subjects, message, Severity.CRITICAL if handed else Severity.MEDIUM)


def _remembered(scene: Scene) -> frozenset[ConnectorOrTask]:
    """What the leader cannot have forgotten: all jobs of the round before, if the same process led it and its own
    report shows that round and no other."""
    last, now = scene.last, scene.observed
    leader = now.leader or ""
    if last is None or scene.gap or last.error or last.leader != leader or last.protocol not in COOPERATIVE:
        return frozenset()
    view = now.leading
    return last.hands() if view is not None and last.shown_by(view) else frozenset()


def assigned_and_revoked(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I6: a job that must stop somewhere is handed out in a later round only, or it runs twice for a while."""
    taken = by_job((member_id, view.revoked) for member_id, view in sorted(scene.observed.views.items()))
    for member_id, view in sorted(scene.observed.views.items()):
        for job in sorted_jobs(view.assigned & taken.keys()):
            to, of = scene.worker(member_id), sorted(map(scene.worker, taken[job]))
            others = scene.subjects(one for one in taken[job] if one != member_id)
            subjects = (*subjects_of([job]), *scene.subjects([member_id]), *others)
            what = job_key(job)
            message = f"{what} was revoked from {' and '.join(of)} and assigned to {to} in the same rebalance"
            yield found(scene, ASSIGNED_AND_REVOKED, subjects, message)


def revoked_not_held(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I7: a member is told to stop only what it reports, or a candidate what balancing took back at once."""
    last = scene.last
    if scene.explained or last is None or scene.gap:
        return
    for member_id, view in sorted(scene.observed.views.items()):
        stray = view.revoked - view.held
        if last.delay_ms:
            stray &= last.hands()
        if stray:
            worker = scene.worker(member_id)
            message = f"{worker} must stop what it does not hold: {names(stray)}"
            yield found(scene, REVOKED_NOT_HELD, (*subjects_of(stray), *scene.subjects([member_id])), message)


def imbalance(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I8: in a calm generation no two members differ by more than one connector, nor by more than one task.

    Groups whose members declare static jobs are balanced among the others only (S7).
    """
    if scene.intent is not None and scene.intent.enforced and scene.intent.lists:
        return
    if scene.eras and BALANCED_ERAS.isdisjoint(scene.eras):
        return
    yield from lopsided(scene, scene.observed.views, IMBALANCE)


def lopsided(
    scene: Scene, views: Mapping[str, WorkerView], rule: Rule, jobs: frozenset[ConnectorOrTask] | None = None
) -> Iterator[Finding]:
    """Where these members' loads differ by more than one although nothing is pending; `jobs` None counts all."""
    observed = scene.observed
    pending = observed.delay_ms or observed.revoked() or observed.hands() - scene.surely
    # A job in nobody's hands unbalances the rest, and has a law of its own.
    left_lying = (scene.surely if jobs is None else jobs) - observed.hands()
    if pending or left_lying or len(views) < 2:
        return
    by_design = f"; this is what the leader's algorithm ({' or '.join(scene.eras)}) does" if scene.explained else ""
    tasks, connectors = dict[Subject, int](), dict[Subject, int]()
    for member_id, view in sorted(views.items()):
        counted = view.holds if jobs is None else view.holds & jobs
        subject, of_connectors = observed.subject_of(member_id), sum(isinstance(job, str) for job in counted)
        connectors[subject], tasks[subject] = of_connectors, len(counted) - of_connectors
    for kind, loads in (("connector", connectors), ("task", tasks)):
        most, least = max(loads, key=lambda one: loads[one]), min(loads, key=lambda one: loads[one])
        if loads[most] - loads[least] > 1:
            yield finding_of(
                rule,
                (most, least),
                f"{most.id} holds {loads[most]} {kind}s and {least.id} holds {loads[least]}, with nothing "
                f"pending{by_design}",
                (*scene.evidence, Evidence(text=_spread(loads, kind))),
                severity=Severity.INFO if scene.explained else None,
                next_step=_own_step(scene, most),
            )


def _own_step(scene: Scene, most: Subject) -> str:
    """What would even out the loads of this very group, as the assignors play it; declarations are not played."""
    observed = scene.observed
    if scene.configured is None or (scene.intent is not None and scene.intent.lists):
        return ""
    holds = {observed.subject_of(member_id).id: view.holds for member_id, view in observed.views.items()}
    leader = observed.leader or ""
    leader = observed.subject_of(leader).id if leader in observed.views else ""
    return imbalance_step(holds, leader, most.id, scene.configured, scene.eras, scene.max_delay_ms)


def _spread(loads: Mapping[Subject, int], kind: str) -> str:
    return f"{kind}s per worker: " + ", ".join(f"{worker.id} {count}" for worker, count in sorted(loads.items()))


WHOLE = frozenset({Need.NO_ERROR, Need.READABLE})
CONFIGURED = WHOLE | {Need.CONFIG}
LAWS = (
    RuleCheck(rules=(DUPLICATE_HOLD,), needs=frozenset({Need.NO_ERROR}), broken=duplicate_hold),
    RuleCheck(rules=(DUPLICATE_ACTIVE,), needs=frozenset({Need.NO_ERROR}), broken=duplicate_active),
    RuleCheck(rules=(ASSIGNED_WHILE_ACTIVE,), broken=assigned_while_active),
    RuleCheck(rules=(UNASSIGNED,), needs=CONFIGURED, broken=unassigned),
    RuleCheck(rules=(HELD_BUT_DELETED,), needs=frozenset({Need.NO_ERROR, Need.CONFIG}), broken=held_but_deleted),
    RuleCheck(rules=(ASSIGNED_AND_REVOKED,), broken=assigned_and_revoked),
    RuleCheck(rules=(REVOKED_NOT_HELD,), broken=revoked_not_held),
    # Not all leaders balance within one.
    RuleCheck(rules=(IMBALANCE,), needs=CONFIGURED | {Need.JUDGED}, broken=imbalance),
)
