"""Laws about what all members of one record are told, and whether it can be read (CONNECT-I9 to I12)."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from rebalance_monitor.assignors.connect.eras import era_of
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.fold.unreadable_members import unreadable_members
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity
from .catalogue_record import CONFIG_OFFSET_WRONG, DELAY_OUT_OF_RANGE, HEADER_INCONSISTENT, UNDECODABLE_MEMBER
from .context import Need, RuleCheck, Scene
from .record import found

VERSIONS: Mapping[str, frozenset[int]] = {
    EAGER: frozenset({0}),
    "compatible": frozenset({1}),
    "sessioned": frozenset({1, 2}),
    "static": frozenset({3}),
}


def answers(body: GroupGeneration) -> dict[str, ConnectAssignment]:
    """The readable assignments by member id."""
    return {one.member_id: one.assignment for one in body.members if isinstance(one.assignment, ConnectAssignment)}


def header_inconsistent(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I9: version, error, leader, URL, offset and delay are those of the round, the same for every member."""
    body = scene.body
    given = answers(body)
    if not given:
        return
    first_id = body.leader if body.leader in given else min(given)
    first = given[first_id]
    leader = next((one.subscription for one in body.members if one.member_id == body.leader), None)
    url = leader.url if isinstance(leader, WorkerState) else first.leader_url
    wrong = _differences(first, replace(first, leader=body.leader or "", leader_url=url))
    versions = VERSIONS.get(body.protocol or "")
    if versions is not None and first.version not in versions:
        wrong.append(f"version {first.version}, which {body.protocol} does not write")
    worker, subjects = scene.worker(first_id), scene.subjects([first_id])
    if wrong:
        message = f"the answer's header is not that of its generation, as {worker} received it: {', '.join(wrong)}"
        yield found(scene, HEADER_INCONSISTENT, subjects, message)
    elif _configured_version(scene) not in (None, first.version):
        release = scene.settings.release
        message = f"{worker} leads by another release than {release}, the configured one: version {first.version}"
        yield found(scene, HEADER_INCONSISTENT, subjects, message, Severity.INFO, Certainty.LIKELY)
    for member_id, header in sorted(given.items()):
        wrong = _differences(header, first)
        if wrong:
            other = scene.worker(member_id)
            message = f"{other} received another header than {worker}: {', '.join(wrong)}"
            yield found(scene, HEADER_INCONSISTENT, scene.subjects([member_id]), message)


def _differences(assignment: ConnectAssignment, expected: ConnectAssignment) -> list[str]:
    fields = (
        ("version", assignment.version, expected.version),
        ("error", assignment.error, expected.error),
        ("leader", assignment.leader, expected.leader),
        ("leader URL", assignment.leader_url, expected.leader_url),
        ("config offset", assignment.config_offset, expected.config_offset),
        ("delay", assignment.delay_ms, expected.delay_ms),
    )
    return [f"{name} {mine!r} instead of {wanted!r}" for name, mine, wanted in fields if mine != wanted]


def _configured_version(scene: Scene) -> int | None:
    """The version that a leader of the configured release writes; None where any may be written. While workers are
    upgraded, one of another release may lead."""
    if scene.body.protocol == "sessioned" and scene.settings.release is not None:
        with suppress(ValueError):  # a release from before the protocol: then the group proves the configuration wrong
            return era_of(scene.settings.release).sessioned_header
    return None


def config_offset_wrong(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I10: the answer refers to the highest offset any member has read; beyond it, or to an error, only if the
    leader itself had read less."""
    observed = scene.observed
    read = {member_id: view.config_offset for member_id, view in observed.views.items()}
    own, stated = read.get(observed.leader or ""), observed.config_offset
    highest = max((offset for offset in read.values() if offset is not None), default=None)
    if own is None or stated is None or highest is None:
        return
    if observed.error and own >= highest:
        wrong = f"the leader had read everything up to offset {own} and still answered with a config mismatch"
    elif stated < highest:
        wrong = f"assignments refer to config offset {stated}, a member had read up to {highest}"
    elif stated > highest and (observed.error or own >= highest):
        wrong = f"assignments refer to config offset {stated}, nobody had read beyond {highest}"
    else:
        return
    yield found(scene, CONFIG_OFFSET_WRONG, scene.subjects([observed.leader or ""]), wrong)


def delay_out_of_range(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I11: no negative delay, none above the leader's maximum, and nothing but the error in an error round."""
    observed, most_ms = scene.observed, scene.max_delay_ms
    if observed.delay_ms < 0:
        wrong = f"the delay is {observed.delay_ms} ms"
    elif most_ms is not None and observed.delay_ms > most_ms:
        wrong = f"the delay is {observed.delay_ms} ms, scheduled.rebalance.max.delay.ms is {most_ms}"
    elif observed.error and observed.delay_ms:
        wrong = f"the rebalance ended in an error and carries a delay of {observed.delay_ms} ms"
    elif observed.error and any(view.assigned or view.revoked for view in observed.views.values()):
        wrong = "the rebalance ended in an error and still assigns or revokes connectors or tasks"
    else:
        return
    yield found(scene, DELAY_OUT_OF_RANGE, scene.subjects([observed.leader or ""]), wrong)


def undecodable_member(scene: Scene) -> Iterator[Finding]:
    """CONNECT-I12: every member of a completed generation has a readable subscription and assignment. One that has
    neither is only about to join."""
    yield from unreadable_members(scene.body, Evidence(source=scene.observed.source), UNDECODABLE_MEMBER)


LAWS = (
    RuleCheck(rules=(HEADER_INCONSISTENT,), broken=header_inconsistent),
    RuleCheck(rules=(CONFIG_OFFSET_WRONG,), needs=frozenset({Need.READABLE}), broken=config_offset_wrong),
    RuleCheck(rules=(DELAY_OUT_OF_RANGE,), broken=delay_out_of_range),
    RuleCheck(rules=(UNDECODABLE_MEMBER,), broken=undecodable_member),
)
