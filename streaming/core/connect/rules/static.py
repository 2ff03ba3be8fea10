"""Laws about where jobs are meant to run (CONNECT-S1 to S8, S10): under `static` laws, from the configuration wishes.

A wish says of a job where it is to run, and nothing of other jobs: the workers it names may run those as well. So S3 to
S8 and S10, which follow from declarations that exclude everything else, hold under `static` alone. Jobs that are not
where a wish wants them are one finding for each worker that has them and each group of workers they are meant for.

Each law speaks of its own part, so that one mistake has one name: a dropped job that several workers declare is S10,
that one worker declares S5, that nobody declares S6; a job in two hands stays I1. Only S4 repeats what S1, S2 or S3
say: a misplaced job that its holder may keep is in wrong hands, and the leader did nothing about it.

What a set of declarations leads to (CONNECT-P1 to P5) breaks no law, and each message says what comes next. The numbers
are ours. Elsewhere than under `static` the leader, who never heard of the declarations, goes on as if there were none.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.connect.intent import Intent
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, WorkerView, job_key, subjects_of
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.results import Severity, Subject
from .catalogue_static import (
    DECLARED_JOB_MISSING,
    LISTED_UNASSIGNED,
    LISTERS_AWAY,
    MISSING_JOB_HAS_EFFECT,
    NO_WILDCARD_WORKER,
    NOT_TAKEN_AWAY,
    SINGLE_LISTER,
    STATIC_IMBALANCE,
    STATIC_ON_OTHER,
    STATIC_ON_WILDCARD,
    STATIC_UNASSIGNED,
    STATIC_WORKER_IDLE,
    WILDCARD_ON_STATIC,
    WILDCARD_UNASSIGNED,
)
from .context import RuleCheck, Scene
from .record import CONFIGURED, found, lopsided, may_wait, names, sorted_jobs

UNHEARD = "; the leader knows nothing of this wish, so it stays until another rebalance happens to move it"


@dataclass(frozen=True, slots=True)
class StaticSides:
    """Who is static, who is wildcard, and which jobs are; jobs that may not exist for the leader are neither."""

    intent: Intent
    static_jobs: frozenset[ConnectorOrTask]
    wildcard_jobs: frozenset[ConnectorOrTask]
    static: Mapping[str, WorkerView]
    wildcard: Mapping[str, WorkerView]

    def idle_by_design(self, scene: Scene, member_id: str) -> bool:
        """Whether a static worker declares only jobs that do not exist."""
        return not self.intent.lists[member_id] & scene.possibly


def enforced(scene: Scene) -> StaticSides | None:
    """The sides where the leader must obey: under `static`, where somebody declares something."""
    two = sides(scene)
    return two if two is not None and two.intent.enforced else None


def sides(scene: Scene) -> StaticSides | None:
    """None where nothing is declared; then there is nothing to say."""
    intent = scene.intent
    if intent is None or not intent.lists:
        return None
    static_jobs = intent.static_jobs(scene.surely)
    views = scene.observed.views
    return StaticSides(
        intent=intent,
        static_jobs=static_jobs,
        wildcard_jobs=scene.surely - static_jobs,
        static={one: view for one, view in views.items() if one in intent.lists},
        wildcard={one: view for one, view in views.items() if one not in intent.lists},
    )


def static_on_wildcard(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-S1: what a present worker declares is never in the hands of one that declares nothing."""
    for member_id, view in sorted(two.wildcard.items()):
        yield from _misplaced(
            scene, two, STATIC_ON_WILDCARD, member_id, view.holds & two.static_jobs, "which declares nothing"
        )


def static_on_other(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-S2: a static worker has no static job but those it declares."""
    for member_id, view in sorted(two.static.items()):
        jobs = (view.holds & two.static_jobs) - two.intent.lists[member_id]
        yield from _misplaced(scene, two, STATIC_ON_OTHER, member_id, jobs, "which declares others")


def wildcard_on_static(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-S3: a static worker has no wildcard job. One that declares only missing jobs is S8's matter."""
    for member_id, view in sorted(two.static.items()):
        if not two.idle_by_design(scene, member_id):
            jobs = view.holds & two.wildcard_jobs
            yield from _misplaced(scene, two, WILDCARD_ON_STATIC, member_id, jobs, "which declares others only")


def _misplaced(
    scene: Scene, two: StaticSides, rule: Rule, member_id: str, jobs: frozenset[ConnectorOrTask], which: str
) -> Iterator[Finding]:
    """Under `static` one finding for each of these jobs; of wishes one for each group of workers they are meant for."""
    worker = scene.worker(member_id)
    meant_for: dict[tuple[str, ...], list[ConnectorOrTask]] = {}
    for job in sorted_jobs(jobs):
        meant_for.setdefault(tuple(map(scene.worker, two.intent.listers(job))), []).append(job)
    for listers, misplaced in meant_for.items():
        if two.intent.enforced:
            meant = f"{' or '.join(listers)} declares it" if listers else "no worker declares it"
            for job in misplaced:
                message = f"{job_key(job)} is held by {worker}, {which}; {meant}"
                yield found(scene, rule, (*subjects_of([job]), *scene.subjects([member_id])), message)
        else:
            message = f"{worker} holds {names(misplaced)}, meant for {' or '.join(listers)}{UNHEARD}"
            subjects = (*subjects_of(misplaced), *scene.subjects([member_id]))
            yield found(scene, rule, subjects, message, Severity.INFO)


def not_taken_away(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-S4: a misplaced job is revoked in the same round, even while a delay runs."""
    for member_id, view in sorted(scene.observed.views.items()):
        allowed = two.intent.lists.get(member_id, two.wildcard_jobs)
        left = ((view.held & scene.surely) - allowed) - view.revoked
        if left:
            worker = scene.worker(member_id)
            message = f"{worker} reported what it must not run, and the leader did not revoke it: {names(left)}"
            yield found(scene, NOT_TAKEN_AWAY, (*subjects_of(left), *scene.subjects([member_id])), message)


def static_unassigned(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-S5 (one lister) and S10 (several): a static job is in a lister's hands at once, without any delay."""
    missing = two.static_jobs - scene.observed.hands() - scene.observed.revoked()
    single = frozenset(job for job in missing if len(two.intent.listers(job)) == 1)
    for rule, jobs, who in (
        (STATIC_UNASSIGNED, single, "the worker that declares them is"),
        (LISTED_UNASSIGNED, missing - single, "several workers that declare them are"),
    ):
        if jobs:
            message = f"in nobody's hands although {who} there: {names(jobs)}"
            yield found(scene, rule, subjects_of(jobs), message)


def wildcard_unassigned(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-S6: a wildcard job waits only for its revocation or the delay; without wildcard workers it has to."""
    missing = two.wildcard_jobs - scene.observed.hands() - scene.observed.revoked()
    if scene.observed.delay_ms:
        missing -= may_wait(scene)
    if two.wildcard and scene.gap == 0:  # what the round before took away and this one forgot is K15's matter
        missing -= scene.memory.revoked
    if not missing:
        return
    if two.wildcard:
        message = f"declared by nobody and in nobody's hands, with nothing pending: {names(missing)}"
        yield found(scene, WILDCARD_UNASSIGNED, subjects_of(missing), message)
    else:
        message = (
            f"declared by nobody, and every worker declares what it runs: {names(missing)}; "
            "the next worker without declarations gets them at once"
        )
        yield found(scene, WILDCARD_UNASSIGNED, subjects_of(missing), message, Severity.INFO)


def static_imbalance(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-S7: in a calm generation the wildcard jobs are spread within one over the wildcard workers."""
    yield from lopsided(scene, two.wildcard, STATIC_IMBALANCE, two.wildcard_jobs)


def missing_job_has_effect(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-S8: whoever declares only jobs that do not exist is a static worker all the same, and idles."""
    for member_id, view in sorted(two.static.items()):
        held = view.holds & scene.surely
        if two.idle_by_design(scene, member_id) and held:
            worker = scene.worker(member_id)
            message = f"{worker} declares only tasks that do not exist, and still holds {names(held)}"
            yield found(scene, MISSING_JOB_HAS_EFFECT, scene.subjects([member_id]), message)


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


def single_lister(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-P3: only one worker declares the job."""
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


def no_wildcard_worker(scene: Scene, two: StaticSides) -> Iterator[Finding]:
    """CONNECT-P5: some jobs are declared by nobody, and every worker has declarations."""
    if two.wildcard or not two.wildcard_jobs:
        return
    jobs = two.wildcard_jobs - scene.observed.hands() or two.wildcard_jobs
    later = "they stay without a holder until a worker without declarations joins"
    message = f"every worker declares connectors or tasks, and nobody declares {names(jobs)}; {later}"
    yield found(scene, NO_WILDCARD_WORKER, (Subject("group", scene.group),), message)


def _where(
    known: Callable[[Scene], StaticSides | None], law: Callable[[Scene, StaticSides], Iterator[Finding]]
) -> Callable[[Scene], Iterator[Finding]]:
    def broken(scene: Scene) -> Iterator[Finding]:
        two = known(scene)
        return iter(()) if two is None else law(scene, two)

    return broken


LAWS = tuple(
    RuleCheck(rules=rules, needs=CONFIGURED, broken=broken)
    for rules, broken in (
        ((STATIC_ON_WILDCARD,), _where(sides, static_on_wildcard)),
        ((STATIC_ON_OTHER,), _where(sides, static_on_other)),
        ((WILDCARD_ON_STATIC,), _where(enforced, wildcard_on_static)),
        ((NOT_TAKEN_AWAY,), _where(enforced, not_taken_away)),
        ((STATIC_UNASSIGNED, LISTED_UNASSIGNED), _where(enforced, static_unassigned)),
        ((WILDCARD_UNASSIGNED,), _where(enforced, wildcard_unassigned)),
        ((STATIC_IMBALANCE,), _where(enforced, static_imbalance)),
        ((MISSING_JOB_HAS_EFFECT,), _where(enforced, missing_job_has_effect)),
        ((DECLARED_JOB_MISSING,), declared_task_missing),
        ((STATIC_WORKER_IDLE,), static_worker_idle),
        ((SINGLE_LISTER,), _where(sides, single_lister)),
        ((LISTERS_AWAY,), listers_away),
        ((NO_WILDCARD_WORKER,), _where(enforced, no_wildcard_worker)),
    )
)
