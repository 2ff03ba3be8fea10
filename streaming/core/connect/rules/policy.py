"""What a set of declarations leads to (CONNECT-P1 to P5): no law is broken, and each message says what comes next.

The numbers are ours. Under `static` the declarations are the workers' own; elsewhere they come from the monitor's
configuration, and the leader, who never heard of them, will go on as if there were none.
"""

from collections.abc import Iterator

from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, subjects_of
from rebalance_monitor.streaming.core.connect.rules.catalogue_static import (
    DECLARED_JOB_MISSING,
    LISTERS_AWAY,
    NO_WILDCARD_WORKER,
    SINGLE_LISTER,
    STATIC_WORKER_IDLE,
)
from rebalance_monitor.streaming.core.connect.rules.context import RuleCheck, Scene
from rebalance_monitor.streaming.core.connect.rules.record import (
    CONFIGURED,
    found,
    in_hands,
    names,
    sorted_jobs,
)
from rebalance_monitor.streaming.core.connect.rules.static import enforced, sides
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.results import Subject

AS_ANY_OTHER = "the leader, which knows nothing of this wish, treats it like all others"


def declared_task_missing(scene: Scene) -> Iterator[Finding]:
    """CONNECT-P1: a declared job does not exist."""
    intent = scene.intent
    if intent is None:
        return
    missing = intent.declared() - scene.possibly
    if missing:
        once = "once created it goes only to the workers that declare it" if intent.enforced else AS_ANY_OTHER
        message = f"declared but not configured: {names(missing)}; nothing happens until it is created, {once}"
        yield found(scene, DECLARED_JOB_MISSING, subjects_of(missing), message)


def static_worker_idle(scene: Scene) -> Iterator[Finding]:
    """CONNECT-P2: a worker with declarations has nothing to do, and nothing is on its way."""
    intent = scene.intent
    if intent is None or scene.observed.delay_ms or scene.observed.revoked():
        return
    for member_id in sorted(intent.lists):
        if not scene.observed.views[member_id].holds:
            worker, jobs = scene.worker(member_id), intent.lists[member_id]
            if intent.enforced:
                later = "it idles until one of them is created or loses its holder, and takes nothing else"
            else:
                later = "the leader, which knows nothing of this wish, may give it any task in the next rebalance"
            message = f"{worker} is meant for {names(jobs)} and has nothing to do; {later}"
            yield found(scene, STATIC_WORKER_IDLE, scene.subjects([member_id]), message)


def single_lister(scene: Scene) -> Iterator[Finding]:
    """CONNECT-P3: only one worker declares the job."""
    two = sides(scene)
    if two is None:
        return
    alone: dict[str, set[ConnectorOrTask]] = {}
    for job in two.static_jobs:
        listers = two.intent.listers(job)
        # A wish that is not met is S1's or S2's matter.
        met = two.intent.enforced or any(job in scene.observed.views[one].holds for one in listers)
        if len(listers) == 1 and met:
            alone.setdefault(listers[0], set()).add(job)
    for member_id, jobs in sorted(alone.items()):
        worker = scene.worker(member_id)
        if two.intent.enforced:
            later = "they wait for the whole delay and then go to workers without declarations, if there are any"
        else:
            later = "they wait for the whole delay and then go to any worker"
        message = f"only {worker} declares {names(jobs)}; when it goes away, {later}"
        yield found(scene, SINGLE_LISTER, scene.subjects([member_id]), message)


def listers_away(scene: Scene) -> Iterator[Finding]:
    """CONNECT-P4: all workers that declare the job are away, so another one runs it."""
    intent = scene.intent
    if intent is None:
        return
    present = frozenset[ConnectorOrTask]().union(*intent.lists.values())
    away = frozenset[ConnectorOrTask]().union(*intent.away.values()) - present
    if intent.enforced:
        later = "they go back in the first rebalance after one of them returns"
    else:
        later = "the leader, which knows nothing of this wish, will not move them back on purpose"
    for member_id, view in sorted(scene.observed.views.items()):
        if member_id in intent.lists and intent.enforced:
            continue
        worker = scene.worker(member_id)
        by_absent: dict[tuple[str, ...], list[ConnectorOrTask]] = {}
        for job in sorted_jobs(view.holds & away & scene.surely):
            absent = tuple(sorted(name for name, wanted in intent.away.items() if job in wanted))
            by_absent.setdefault(absent, []).append(job)
        for absent, jobs in by_absent.items():
            message = f"{worker} runs {names(jobs)} because {' and '.join(absent[:3])} is not in the group; {later}"
            yield found(scene, LISTERS_AWAY, (*subjects_of(jobs), *scene.subjects([member_id])), message)


def no_wildcard_worker(scene: Scene) -> Iterator[Finding]:
    """CONNECT-P5: some jobs are declared by nobody, and every worker has declarations."""
    two = enforced(scene)
    if two is None or two.wildcard or not two.wildcard_jobs:
        return
    jobs = two.wildcard_jobs - in_hands(scene.observed) or two.wildcard_jobs
    later = "they stay without a holder until a worker without declarations joins"
    message = f"every worker declares connectors or tasks, and nobody declares {names(jobs)}; {later}"
    yield found(scene, NO_WILDCARD_WORKER, (Subject("group", scene.group),), message)


LAWS = (
    RuleCheck(rules=(DECLARED_JOB_MISSING,), needs=CONFIGURED, broken=declared_task_missing),
    RuleCheck(rules=(STATIC_WORKER_IDLE,), needs=CONFIGURED, broken=static_worker_idle),
    RuleCheck(rules=(SINGLE_LISTER,), needs=CONFIGURED, broken=single_lister),
    RuleCheck(rules=(LISTERS_AWAY,), needs=CONFIGURED, broken=listers_away),
    RuleCheck(rules=(NO_WILDCARD_WORKER,), needs=CONFIGURED, broken=no_wildcard_worker),
)
