"""Laws about one record of a Connect group (CONNECT-I…): what no correct leader can have answered."""

from collections.abc import Iterable, Iterator, Mapping

from streaming.core.observed import Job, job_kind, job_name
from streaming.core.records import BadBlob, GroupGeneration
from streaming.core.results import Certainty, Evidence, Grade, Severity, Subject
from streaming.core.rules.catalogue_record import (
    DUPLICATE_ACTIVE,
    DUPLICATE_HOLD,
    IMBALANCE,
    UNDECODABLE_MEMBER,
)
from streaming.core.rules.rule import Rule
from streaming.core.rules.scene import Finding, Law, Need, Scene

BALANCED_ERAS = frozenset({"A4", "A5", "eager"})
"""Algorithm families under which every calm generation is balanced within one."""


def duplicate_hold(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I1: no job is in two members' hands after the round. A mismatch round revokes nothing and is exempt."""
    for job, holders in sorted(scene.observed.holders().items(), key=lambda item: job_name(item[0])):
        if len(holders) > 1:
            yield _duplicate(scene, DUPLICATE_HOLD, job, holders, Severity.CRITICAL, "is held by")


def duplicate_active(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I2: two members report the same job as theirs. Harmless for long only if all of them must stop it now."""
    observed = scene.observed
    holders: dict[Job, list[str]] = {}
    for member_id, view in observed.views.items():
        for job in view.held:
            holders.setdefault(job, []).append(member_id)
    for job, members in sorted(holders.items(), key=lambda item: job_name(item[0])):
        if len(members) > 1:
            revoked = all(job in observed.views[member_id].revoked for member_id in members)
            severity = Severity.MEDIUM if revoked else Severity.CRITICAL
            yield _duplicate(scene, DUPLICATE_ACTIVE, job, members, severity, "was running, by their own account, on")


def _duplicate(scene: Scene, rule: Rule, job: Job, members: Iterable[str], severity: Severity, verb: str) -> Finding:
    views = scene.observed.views
    workers = sorted(views[member_id].worker or member_id for member_id in members)
    return Finding(
        rule=rule,
        severity=severity,
        certainty=Certainty.CERTAIN,
        subjects=(Subject(job_kind(job), job_name(job)), *(Subject("worker", worker) for worker in workers)),
        message=f"{job_kind(job)} {job_name(job)} {verb} {' and '.join(workers)}",
        evidence=(Evidence(source=scene.observed.source),),
    )


def imbalance(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I8: in a calm generation no two members differ by more than one connector, nor by more than one task."""
    observed = scene.observed
    calm = not observed.delay_ms and not observed.revoked()
    if not calm or scene.configured is None or len(observed.views) < 2:
        return
    held = {job for view in observed.views.values() for job in view.holds}
    if held - scene.configured:
        return
    if scene.era is not None and scene.era not in BALANCED_ERAS:
        return
    severity = Severity.INFO if scene.grade in (Grade.MATCH, Grade.EXPLAINABLE) else Severity.MEDIUM
    for kind in ("connector", "task"):
        loads = {
            view.worker or member_id: sum(job_kind(job) == kind for job in view.holds)
            for member_id, view in observed.views.items()
        }
        most, least = max(loads, key=lambda one: loads[one]), min(loads, key=lambda one: loads[one])
        if loads[most] - loads[least] > 1:
            yield Finding(
                rule=IMBALANCE,
                severity=severity,
                certainty=Certainty.CERTAIN,
                subjects=(Subject("worker", most), Subject("worker", least)),
                message=f"{most} holds {loads[most]} {kind}s and {least} holds {loads[least]}, with nothing pending",
                evidence=(Evidence(source=observed.source), Evidence(text=_spread(loads, kind))),
            )


def _spread(loads: Mapping[str, int], kind: str) -> str:
    return f"{kind}s per worker: " + ", ".join(f"{worker} {count}" for worker, count in sorted(loads.items()))


def undecodable_member(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I12: every member of a completed generation has a readable subscription and assignment."""
    yield from unreadable_blobs(scene.body, Evidence(source=scene.observed.source), UNDECODABLE_MEMBER)


def unreadable_blobs(body: GroupGeneration, evidence: Evidence, rule: Rule) -> Iterator[Finding]:
    """Members whose bytes Kafka's own classes reject; an empty assignment means the leader left the member out."""
    for member in body.members:
        for what, blob in (("subscription", member.subscription), ("assignment", member.assignment)):
            if isinstance(blob, BadBlob):
                yield Finding(
                    rule=rule,
                    severity=Severity.HIGH,
                    certainty=Certainty.CERTAIN,
                    subjects=(Subject("member", member.member_id),),
                    message=f"the {what} of {member.member_id} cannot be decoded: {blob.reason}",
                    evidence=(evidence,),
                )
                break


NO_ERROR = frozenset({Need.NO_ERROR})
LAWS = (
    Law(rules=(DUPLICATE_HOLD,), needs=NO_ERROR, broken=duplicate_hold),
    Law(rules=(DUPLICATE_ACTIVE,), needs=NO_ERROR, broken=duplicate_active),
    Law(rules=(IMBALANCE,), needs=NO_ERROR | {Need.CONFIG}, broken=imbalance),
    Law(rules=(UNDECODABLE_MEMBER,), broken=undecodable_member),
)
