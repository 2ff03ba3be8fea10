"""Laws about where jobs are meant to run (CONNECT-S1 to S8, S10): under `static` laws, from the configuration wishes.

Each law speaks of its own part, so that one mistake has one name: a dropped job that several workers declare is S10,
that one worker declares S5, that nobody declares S6; a job in two hands stays I1. Only S4 repeats what S1, S2 or S3
say: a misplaced job that its holder may keep is in wrong hands, and the leader did nothing about it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streaming.core.intent import Intent
from streaming.core.observed import Job, WorkerView, job_kind, job_name
from streaming.core.results import Severity
from streaming.core.rules.catalogue_static import (
    LISTED_UNASSIGNED,
    MISSING_JOB_HAS_EFFECT,
    NOT_TAKEN_AWAY,
    STATIC_IMBALANCE,
    STATIC_ON_OTHER,
    STATIC_ON_WILDCARD,
    STATIC_UNASSIGNED,
    WILDCARD_ON_STATIC,
    WILDCARD_UNASSIGNED,
)
from streaming.core.rules.record import CONFIGURED, found, in_hands, lopsided, may_wait, names, sorted_jobs, subjects_of
from streaming.core.rules.rule import Rule
from streaming.core.rules.scene import Finding, Law, Scene

UNHEARD = "; the leader knows nothing of this wish, so the job stays until another rebalance happens to move it"


@dataclass(frozen=True, slots=True)
class Sides:
    """Who is static, who is wildcard, and which jobs are; jobs that may not exist for the leader are neither."""

    intent: Intent
    static_jobs: frozenset[Job]
    wildcard_jobs: frozenset[Job]
    static: Mapping[str, WorkerView]
    wildcard: Mapping[str, WorkerView]

    def severity(self, rule: Rule) -> Severity:
        return rule.severity if self.intent.enforced else Severity.INFO

    def idle_by_design(self, scene: Scene, member_id: str) -> bool:
        """Whether a static worker declares only jobs that do not exist."""
        return not self.intent.lists[member_id] & scene.possibly


def sides(scene: Scene) -> Sides | None:
    """None where nothing is declared; then there is nothing to say."""
    intent = scene.intent
    if intent is None or not intent.lists:
        return None
    static_jobs = intent.static_jobs(scene.surely)
    views = scene.observed.views
    return Sides(
        intent=intent,
        static_jobs=static_jobs,
        wildcard_jobs=scene.surely - static_jobs,
        static={one: view for one, view in views.items() if one in intent.lists},
        wildcard={one: view for one, view in views.items() if one not in intent.lists},
    )


def static_on_wildcard(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S1: what a present worker declares is never in the hands of one that declares nothing."""
    two = sides(scene)
    if two is None:
        return
    for member_id, view in sorted(two.wildcard.items()):
        for job in sorted_jobs(view.holds & two.static_jobs):
            yield _misplaced(scene, two, STATIC_ON_WILDCARD, member_id, job, "which declares nothing")


def static_on_other(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S2: a static worker has no static job but those it declares."""
    two = sides(scene)
    if two is None:
        return
    for member_id, view in sorted(two.static.items()):
        for job in sorted_jobs((view.holds & two.static_jobs) - two.intent.lists[member_id]):
            yield _misplaced(scene, two, STATIC_ON_OTHER, member_id, job, "which declares other jobs")


def wildcard_on_static(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S3: a static worker has no wildcard job. One that declares only missing jobs is S8's matter."""
    two = sides(scene)
    if two is None:
        return
    for member_id, view in sorted(two.static.items()):
        if not two.idle_by_design(scene, member_id):
            for job in sorted_jobs(view.holds & two.wildcard_jobs):
                yield _misplaced(scene, two, WILDCARD_ON_STATIC, member_id, job, "which declares other jobs only")


def _misplaced(scene: Scene, two: Sides, rule: Rule, member_id: str, job: Job, which: str) -> Finding:
    worker = scene.worker(member_id)
    listers = [scene.worker(one) for one in two.intent.listers(job)]
    meant = f"{' or '.join(listers)} declares it" if listers else "no worker declares it"
    message = f"{job_kind(job)} {job_name(job)} is held by {worker}, {which}; {meant}"
    if not two.intent.enforced:
        message += UNHEARD
    subjects = (*subjects_of([job]), *scene.subjects([member_id]))
    return found(scene, rule, subjects, message, two.severity(rule))


def not_taken_away(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S4: a misplaced job is revoked in the same round, even while a delay runs."""
    two = sides(scene)
    if two is None or not two.intent.enforced:
        return
    for member_id, view in sorted(scene.observed.views.items()):
        allowed = two.intent.lists.get(member_id, two.wildcard_jobs)
        left = ((view.held & scene.surely) - allowed) - view.revoked
        if left:
            worker = scene.worker(member_id)
            message = f"{worker} reported jobs that it must not run and was not told to stop them: {names(left)}"
            yield found(scene, NOT_TAKEN_AWAY, (*subjects_of(left), *scene.subjects([member_id])), message)


def static_unassigned(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S5 (one lister) and S10 (several): a static job is in a lister's hands at once, without any delay."""
    two = sides(scene)
    # A real leader lets lost jobs wait, whatever is wished for them.
    if two is None or (scene.observed.delay_ms and not two.intent.enforced):
        return
    missing = two.static_jobs - in_hands(scene.observed) - scene.observed.revoked()
    single = frozenset(job for job in missing if len(two.intent.listers(job)) == 1)
    for rule, jobs, who in (
        (STATIC_UNASSIGNED, single, "the worker that declares them is"),
        (LISTED_UNASSIGNED, missing - single, "several workers that declare them are"),
    ):
        if jobs:
            message = f"in nobody's hands although {who} there: {names(jobs)}"
            yield found(scene, rule, subjects_of(jobs), message, two.severity(rule))


def wildcard_unassigned(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S6: a wildcard job waits only for its revocation or the delay; without wildcard workers it has to."""
    two = sides(scene)
    if two is None:
        return
    missing = two.wildcard_jobs - in_hands(scene.observed) - scene.observed.revoked()
    if scene.observed.delay_ms:
        missing -= may_wait(scene)
    if two.wildcard and scene.gap == 0:  # what the round before took away and this one forgot is K15's matter
        missing -= scene.memory.revoked
    if not missing:
        return
    if two.wildcard:
        message = f"declared by nobody and in nobody's hands, with nothing pending: {names(missing)}"
        yield found(scene, WILDCARD_UNASSIGNED, subjects_of(missing), message, two.severity(WILDCARD_UNASSIGNED))
    else:
        message = (
            f"declared by nobody, and every worker runs declared jobs only: {names(missing)}; "
            "the next worker without declarations gets them at once"
        )
        yield found(scene, WILDCARD_UNASSIGNED, subjects_of(missing), message, Severity.INFO)


def static_imbalance(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S7: in a calm generation the wildcard jobs are spread within one over the wildcard workers."""
    two = sides(scene)
    if two is not None:
        for one in lopsided(scene, two.wildcard, STATIC_IMBALANCE, two.wildcard_jobs):
            yield one if two.intent.enforced else found(scene, one.rule, one.subjects, one.message, Severity.INFO)


def missing_job_has_effect(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S8: whoever declares only jobs that do not exist is a static worker all the same, and idles."""
    two = sides(scene)
    if two is None:
        return
    for member_id, view in sorted(two.static.items()):
        held = view.holds & scene.surely
        if two.idle_by_design(scene, member_id) and held:
            worker = scene.worker(member_id)
            message = f"{worker} declares only jobs that do not exist, and still has {names(held)}"
            if not two.intent.enforced:
                message += UNHEARD
            severity = two.severity(MISSING_JOB_HAS_EFFECT)
            yield found(scene, MISSING_JOB_HAS_EFFECT, scene.subjects([member_id]), message, severity)


LAWS = tuple(
    Law(rules=rules, needs=CONFIGURED, broken=broken)
    for rules, broken in (
        ((STATIC_ON_WILDCARD,), static_on_wildcard),
        ((STATIC_ON_OTHER,), static_on_other),
        ((WILDCARD_ON_STATIC,), wildcard_on_static),
        ((NOT_TAKEN_AWAY,), not_taken_away),
        ((STATIC_UNASSIGNED, LISTED_UNASSIGNED), static_unassigned),
        ((WILDCARD_UNASSIGNED,), wildcard_unassigned),
        ((STATIC_IMBALANCE,), static_imbalance),
        ((MISSING_JOB_HAS_EFFECT,), missing_job_has_effect),
    )
)
