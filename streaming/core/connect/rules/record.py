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
    job_key,
    job_kind,
    job_name,
    subjects_of,
)
from rebalance_monitor.streaming.core.connect.rules.catalogue_record import (
    ASSIGNED_AND_REVOKED,
    ASSIGNED_WHILE_ACTIVE,
    DUPLICATE_ACTIVE,
    DUPLICATE_HOLD,
    HELD_BUT_DELETED,
    IMBALANCE,
    REVOKED_NOT_HELD,
    UNASSIGNED,
)
from rebalance_monitor.streaming.core.connect.rules.context import Need, RuleCheck, Scene
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Subject

BALANCED_ERAS = frozenset({"A4", "A5", "eager"})
"""Algorithm families under which every calm generation is balanced within one."""
SHOWN = 5
"""Jobs or workers that a message names before it only counts them."""


def sorted_jobs(jobs: Iterable[ConnectorOrTask]) -> list[ConnectorOrTask]:
    return sorted(jobs, key=lambda job: (job_kind(job), job_name(job)))


def names(jobs: Iterable[ConnectorOrTask]) -> str:
    """The first few, and how many more there are."""
    found = [job_name(job) for job in sorted_jobs(jobs)]
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


def found(
    scene: Scene, rule: Rule, subjects: tuple[Subject, ...], message: str, severity: Severity | None = None
) -> Finding:
    """A finding that the record itself proves."""
    return Finding(
        rule=rule,
        severity=severity or rule.severity,
        certainty=Certainty.CERTAIN,
        subjects=subjects,
        message=message,
        evidence=scene.evidence,
    )


def active(observed: Observed) -> dict[ConnectorOrTask, list[str]]:
    """Member ids per job that they report as theirs, of members that can be read."""
    holders: dict[ConnectorOrTask, list[str]] = {}
    for member_id, view in observed.views.items():
        for job in view.held if view.readable else ():
            holders.setdefault(job, []).append(member_id)
    return holders


def in_hands(observed: Observed) -> frozenset[ConnectorOrTask]:
    return frozenset(job for view in observed.views.values() for job in view.holds)


def duplicate_hold(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I1: no job is in two members' hands after the round. A mismatch round revokes nothing and is exempt."""
    holders = scene.observed.holders()
    for job in sorted_jobs(job for job, members in holders.items() if len(members) > 1):
        yield _shared(scene, DUPLICATE_HOLD, job, holders[job], Severity.CRITICAL, "is held by")


def duplicate_active(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I2: two members report the same job as theirs. Harmless for long only if all of them must stop it now.

    A report is no run: a worker reports what it was given, whether it has started it or not. Statuses prove runs (K2).
    """
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
    holders = active(scene.observed)
    kept = frozenset(job for job, members in holders.items() if _stays(scene, job, members))
    for member_id, view in sorted(scene.observed.views.items()):
        for job in sorted_jobs(view.assigned & kept):
            worker, running = scene.worker(member_id), sorted(map(scene.worker, holders[job]))
            yield found(
                scene,
                ASSIGNED_WHILE_ACTIVE,
                (*subjects_of([job]), *scene.subjects([member_id])),
                f"{job_key(job)} was handed to {worker} while reported by {' and '.join(running)}",
            )


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
    missing = scene.surely - in_hands(observed) - observed.revoked()
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
    return (scene.configured_before | scene.hidden_before | in_hands(last)) - taken


def _without_excuse_before(scene: Scene) -> frozenset[ConnectorOrTask]:
    last = scene.last
    if last is None or scene.gap or last.error or last.delay_ms or scene.configured_before is None:
        return frozenset()
    return scene.configured_before - in_hands(last) - last.revoked()


def held_but_deleted(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I5: a job that is no longer configured is never handed out, and taken away by a leader that knew it."""
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
    before, view = last.views.get(leader), now.views.get(leader)
    if before is None or view is None or not _shows(view, before, last):
        return frozenset()
    return in_hands(last)


def _shows(view: WorkerView, before: WorkerView, last: Observed) -> bool:
    given = (last.leader, last.config_offset, last.error, last.delay_ms)
    unlike_earlier = (before.shown, before.held) != (view.shown, view.held)
    return view.shown == given and view.held == before.holds and unlike_earlier


def assigned_and_revoked(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I6: a job that must stop somewhere is handed out in a later round only, or it runs twice for a while."""
    taken: dict[ConnectorOrTask, list[str]] = {}
    for member_id, view in sorted(scene.observed.views.items()):
        for job in view.revoked:
            taken.setdefault(job, []).append(member_id)
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
            stray &= in_hands(last)
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
    pending = observed.delay_ms or observed.revoked() or in_hands(observed) - scene.surely
    # A job in nobody's hands unbalances the rest, and has a law of its own.
    left_lying = (scene.surely if jobs is None else jobs) - in_hands(observed)
    if pending or left_lying or len(views) < 2:
        return
    severity = Severity.INFO if scene.explained else rule.severity
    for kind in ("connector", "task"):
        loads = {
            observed.subject_of(member_id): sum(
                job_kind(job) == kind for job in view.holds if jobs is None or job in jobs
            )
            for member_id, view in sorted(views.items())
        }
        most, least = max(loads, key=lambda one: loads[one]), min(loads, key=lambda one: loads[one])
        if loads[most] - loads[least] > 1:
            yield Finding(
                rule=rule,
                severity=severity,
                certainty=Certainty.CERTAIN,
                subjects=(most, least),
                message=f"{most.id} holds {loads[most]} {kind}s and {least.id} holds {loads[least]}, with nothing "
                f"pending{_by_design(scene)}",
                evidence=(*scene.evidence, Evidence(text=_spread(loads, kind))),
                next_step=_own_step(scene, most),
            )


def _by_design(scene: Scene) -> str:
    """Where the answer is a right one, people are told that it is."""
    return f"; this is what the leader's algorithm ({' or '.join(scene.eras)}) does" if scene.explained else ""


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
