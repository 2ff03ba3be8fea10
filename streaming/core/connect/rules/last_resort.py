"""Laws about the answer as a whole (CONNECT-I13, S8, S9, S11).

They are asked when no leader's memory explains it and no other law has named what is wrong. The first that knows a
name for it speaks, so a broken answer is reported once.
"""

from collections.abc import Iterable, Iterator

from rebalance_monitor.schemas.connect_protocol import decode_worker_state
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.connect.observed import COOPERATIVE, STATIC, ConnectorOrTask
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.results import Certainty, Grade, Severity
from .catalogue_across import REVOKED_JOB_LOST, WINDOW_END_MOVED
from .catalogue_record import DUPLICATE_ACTIVE, UNEXPLAINED
from .catalogue_static import DECLARATIONS_OBEYED, MISSING_JOB_HAS_EFFECT, NOT_LIKE_SESSIONED
from .context import Need, RuleCheck, Scene
from .record import found
from .static import sides

OF_THE_ANSWER = ("CONNECT-I", "CONNECT-S", REVOKED_JOB_LOST.code, WINDOW_END_MOVED.code)


def named(findings: Iterable[Finding]) -> bool:
    """Whether some finding already says what is wrong with the answer. A zombie's duplicates are not the leader's."""
    return any(
        one.rule.code.startswith(OF_THE_ANSWER)
        and one.severity is not Severity.INFO
        and not (one.rule is DUPLICATE_ACTIVE and one.severity is Severity.MEDIUM)
        for one in findings
    )


def declarations_obeyed(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S9: the answer is that of a static leader, but the group speaks another protocol.

    Declarations are then invisible, unless a member still sends its V3 blob or declared them a generation ago.
    """
    protocol = scene.body.protocol
    if protocol not in COOPERATIVE or protocol == STATIC:
        return
    lists: dict[str, frozenset[ConnectorOrTask]] = {}
    for member in scene.body.members:
        jobs = _tail(member.subscription_bytes) or scene.declared.get(scene.worker(member.member_id), frozenset())
        if jobs:
            lists[member.member_id] = jobs
    if lists and scene.answered_as(STATIC, lists):
        workers = sorted(map(scene.worker, lists))
        message = (
            f"the leader followed the declarations of {' and '.join(workers[:3])}, "
            f"although the group speaks {protocol}, under which they have no effect"
        )
        yield _of_leader(scene, DECLARATIONS_OBEYED, message)


def _tail(blob: bytes) -> frozenset[ConnectorOrTask]:
    """Declarations at the end of a V3 worker state, which readers of lower versions leave alone."""
    outcome = decode_worker_state(blob, static=True)
    if not isinstance(outcome, Decoded):
        return frozenset()
    return frozenset((*outcome.value.static_connectors, *outcome.value.static_tasks))


def missing_job_has_effect(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S8 for the whole answer: it is right only if those who declare missing jobs were wildcard workers."""
    two = sides(scene)
    if two is None or not two.intent.enforced:
        return
    real = {one: jobs for one, jobs in two.intent.lists.items() if not two.idle_by_design(scene, one)}
    if len(real) < len(two.intent.lists) and scene.answered_as(STATIC, real):
        workers = [scene.worker(one) for one in sorted(two.intent.lists.keys() - real.keys())]
        message = (
            f"{' and '.join(workers[:3])} declares only tasks that do not exist and should idle; "
            "the leader counted it among the workers without declarations"
        )
        yield found(scene, MISSING_JOB_HAS_EFFECT, scene.subjects(two.intent.lists.keys() - real.keys()), message)


def unlike_sessioned(scene: Scene) -> Iterator[Finding]:
    """CONNECT-S11: without any declaration a static group's answer is that of `sessioned`, but for the version."""
    if scene.body.protocol != STATIC or scene.intent is None or scene.intent.lists:
        return
    if not scene.answered_as("sessioned", {}):
        message = f"nobody declares anything, and yet the answer is not that of sessioned: {scene.why}"
        yield _of_leader(scene, NOT_LIKE_SESSIONED, message)


def unexplained(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I13: nothing that a leader of any known release may remember leads to this answer."""
    yield _of_leader(scene, UNEXPLAINED, f"no leader of a Kafka release would have answered like this: {scene.why}")


def _of_leader(scene: Scene, rule: Rule, message: str) -> Finding:
    leader = scene.subjects([scene.observed.leader or ""])
    return found(scene, rule, leader, message, certainty=Certainty.LIKELY)


LAWS = tuple(
    RuleCheck(rules=(rule,), needs=frozenset({Need.JUDGED}), broken=broken)
    for rule, broken in (
        (DECLARATIONS_OBEYED, declarations_obeyed),
        (MISSING_JOB_HAS_EFFECT, missing_job_has_effect),
        (NOT_LIKE_SESSIONED, unlike_sessioned),
        (UNEXPLAINED, unexplained),
    )
)
"""In the order asked; configured jobs are known wherever a verdict is."""


def whole_answer(scene: Scene, findings: Iterable[Finding]) -> list[Finding]:
    """What the first of these laws says, if the answer needs a name and has none."""
    if scene.grade is not Grade.UNEXPLAINED or named(findings):
        return []
    for law in LAWS:
        said = list(law.broken(scene))
        if said:
            return said
    return []
