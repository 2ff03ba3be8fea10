"""Laws from one record of a Connect group to the next (CONNECT-K…): what a cluster that works never shows."""

from collections.abc import Iterator

from rebalance_monitor.schemas.connect_protocol import WorkerState
from rebalance_monitor.streaming.core.connect.observed import (
    COOPERATIVE,
    LEVELS,
    STATIC,
    Observed,
    WorkerView,
    subjects_of,
)
from rebalance_monitor.streaming.core.fold.rounds import SPAN_MS, number, surplus, with_round
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Subject
from .catalogue_across import (
    CONFIG_MISMATCH_PERSISTS,
    HOLD_NOT_CARRIED_OVER,
    LEADER_WITHOUT_MEMORY,
    OFFSET_REGRESSION,
    PROTOCOL_DOWNGRADE,
    REBALANCE_STORM,
    REVOKED_JOB_LOST,
    ZOMBIE_RETURN,
)
from .context import Need, RuleCheck, Scene
from .memory import FREE_ROUNDS, Downgrade, aimless_rounds, lagging_members, round_of
from .record import found_since, names_alike

PATIENCE_ROUNDS = 3
"""Rounds in a row after which what may happen once is no longer chance."""
NEVER_CATCHES_UP = "a worker that never catches up may follow another Connect cluster's topic under this group.id"
DOWNGRADE_PATIENCE_MS = 600_000
"""How long a rolling change of `connect.protocol` may take before the workers that did not follow are reported."""


def assignment_not_carried_over(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K1: a member reports exactly what it held after the record before.

    It may have given everything up (no allocation), or have missed the answer: then it reports what it had before, and
    shows the header of the answer before. One that keeps what it was told to stop looks alike only while the headers
    are equal: the pause that follows, a delay, tells it from the others.
    """
    last = scene.last
    if last is None or scene.observed.protocol not in COOPERATIVE:
        return
    for member_id, view in sorted(scene.observed.views.items()):
        before = last.views.get(member_id)
        if before is None or not view.had_allocation or view.held == before.holds:
            continue
        if not before.readable:
            continue
        if _missed(view, before, last):
            continue
        extra, short = view.held - before.holds, before.holds - view.held
        worker = scene.worker(member_id)
        parts = [f"still has {names_alike(extra)}"] if extra else []
        parts += [f"lacks {names_alike(short)}"] if short else []
        message = f"{worker} {' and '.join(parts)} against its assignment of generation {last.generation}"
        yield found_since(scene, HOLD_NOT_CARRIED_OVER, scene.subjects([member_id]), message)


def _missed(view: WorkerView, before: WorkerView, last: Observed) -> bool:
    """Whether a member may have missed the last answer; an eager join leaves no allocation to compare with, and then
    only one that shows another answer has."""
    if last.protocol not in COOPERATIVE:
        return view.shown != last.header
    if view.held != before.held:
        return False
    return view.shown != last.header or before.shown == last.header


def rebalance_storm(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K10: more generations than members, config changes, revocations and delays explain, or rounds in a row
    that nothing asked for."""
    last = scene.last
    latest = round_of(scene.observed, last, config_changes=scene.config_changes)
    repeats = scene.observed.error != 0 and scene.memory.errors_in_row > 0
    rounds = with_round(scene.memory.rounds, latest, repeats=repeats)
    in_row = aimless_rounds(scene.memory, scene.observed, last, gap=scene.gap, config_changes=scene.config_changes)
    more = surplus(rounds, free=FREE_ROUNDS)
    if more > 0:
        message = (
            f"{number(rounds)} generations within {SPAN_MS // 60_000} minutes, {more} more than members "
            "that came or went, configuration changes, revocations and delays explain"
        )
    elif in_row >= PATIENCE_ROUNDS:
        message = f"{in_row} generations in a row that nothing visible asked for: same members, connectors and tasks"
    else:
        return
    yield found_since(scene, REBALANCE_STORM, (Subject("group", scene.group),), message, Certainty.LIKELY)


def config_mismatch_persists(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K11: a config mismatch, or a member behind the last assignment's offset, for three records in a row."""
    observed = scene.observed
    if observed.error and scene.memory.errors_in_row + 1 >= PATIENCE_ROUNDS:
        message = (
            f"{scene.memory.errors_in_row + 1} generations in a row failed because the leader has not read the config "
            f"topic up to offset {observed.config_offset}; {NEVER_CATCHES_UP}"
        )
        yield found_since(scene, CONFIG_MISMATCH_PERSISTS, (Subject("group", scene.group),), message)
    lagging = lagging_members(scene.memory, observed, scene.last)
    for member_id, view in sorted(observed.views.items()):
        count = lagging.get(observed.process_of(member_id), 0)
        if count >= PATIENCE_ROUNDS and not observed.error:
            worker = scene.worker(member_id)
            message = (
                f"{worker} has read the config topic up to offset {view.config_offset} only, behind the assignments of "
                f"{count} generations in a row; {NEVER_CATCHES_UP}"
            )
            yield found_since(scene, CONFIG_MISMATCH_PERSISTS, scene.subjects([member_id]), message)


def offset_regression(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K12: assignments never refer to a lower config offset, unless topic or leader started anew."""
    top, offset = scene.memory.top_offset, scene.observed.config_offset
    leader = scene.observed.leader or ""
    if top is None or offset is None or offset >= top or scene.last is None or leader not in scene.last.views:
        return
    if scene.foreign:
        return
    message = f"assignments refer to config offset {offset}, earlier ones to {top}"
    yield found_since(scene, OFFSET_REGRESSION, (Subject("member", leader),), message)


def protocol_downgrade(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K13: the group speaks a lower protocol than before and some of its workers did not follow in time."""
    after = downgrade_after(scene)
    if after is not None and scene.observed.at_ms >= after.at_ms + DOWNGRADE_PATIENCE_MS:
        yield downgrade_finding(after, scene.group, scene.observed, scene.evidence)


def downgrade_finding(downgrade: Downgrade, group: str, observed: Observed, evidence: tuple[Evidence, ...]) -> Finding:
    """The same words whether a record or the clock brings it up."""
    names = sorted(observed.process_of(one) for one in downgrade.stayed if one in observed.views)
    unsigned = ", which also ends the signing of internal requests" if downgrade.before in LEVELS[2:] else ""
    message = (
        f"the group fell from protocol {downgrade.before} to {observed.protocol}{unsigned}, and "
        f"{', '.join(names[:5])} still offer the higher one: a single member keeps the group down"
    )
    subjects = (Subject("group", group),)
    return finding_of(PROTOCOL_DOWNGRADE, subjects, message, evidence, certainty=Certainty.LIKELY)


def downgrade_after(scene: Scene) -> Downgrade | None:
    """The downgrade the group is in after this record; None once it is undone or every worker has followed."""
    now, last, known = scene.observed, scene.last, scene.memory.downgrade
    if known is None:
        if last is None or _level(now.protocol) >= _level(last.protocol):
            return None
        known = Downgrade(before=last.protocol or "", at_ms=now.at_ms, stayed=frozenset(last.views))
    if _level(now.protocol) >= _level(known.before):
        return None
    stayed = known.stayed & now.views.keys()
    return Downgrade(before=known.before, at_ms=known.at_ms, stayed=stayed) if stayed else None


def _level(protocol: str | None) -> int:
    return LEVELS.index(protocol) if protocol in LEVELS else len(LEVELS)


def revoked_job_lost(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K15: what was taken away in one round is in somebody's hands after the next one that succeeds.

    A job taken back from a delay candidate waits again if a member left meanwhile: a new window opens for it. One that
    another leader took from a worker that left may be lost to this one, who remembers an earlier round: a window opens
    for it, too.
    """
    last = scene.last
    missing = (scene.memory.revoked & scene.surely) - scene.observed.hands() - scene.observed.revoked()
    left = {} if last is None else {id_: view for id_, view in last.views.items() if id_ not in scene.observed.views}
    if scene.observed.delay_ms and left:
        missing -= scene.memory.taken_back
        if last is not None and last.leader != scene.observed.leader:
            missing -= {job for view in left.values() for job in view.revoked}
    if scene.intent is not None and scene.intent.enforced:  # of declared jobs S5 and S10 speak, delay or not
        missing -= scene.intent.static_jobs(scene.surely)
    if missing and scene.gap == 0 and not _without_wildcard_worker(scene):
        message = f"{names_alike(missing)} taken from a worker in the rebalance before and given to nobody since"
        yield found_since(scene, REVOKED_JOB_LOST, subjects_of(missing), message)


def _without_wildcard_worker(scene: Scene) -> bool:
    """Under `static` every member may declare jobs of its own; then nobody may take the others."""
    states = [one.subscription for one in scene.body.members if isinstance(one.subscription, WorkerState)]
    return scene.observed.protocol == STATIC and all(one.static_connectors or one.static_tasks for one in states)


def zombie_return(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K16: a new member that already holds an assignment was a member before, and worked on unseen."""
    last = scene.last
    if last is None or last.protocol not in COOPERATIVE:
        return
    for member_id, view in sorted(scene.observed.views.items()):
        if member_id not in last.views and view.had_allocation:
            worker = scene.worker(member_id)
            jobs = f"with {names_alike(view.held)}" if view.held else "without connectors or tasks"
            message = f"{worker} came back {jobs} after the group had given it up: it was cut off or stood still"
            yield found_since(scene, ZOMBIE_RETURN, scene.subjects([member_id]), message, Certainty.LIKELY)


def leader_without_memory(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K17: another leader than before decides without the memory of the last one; open delays end with it."""
    last, leader = scene.last, scene.observed.leader or ""
    if last is None or scene.observed.protocol not in COOPERATIVE or leader == last.leader:
        return
    message = f"{scene.worker(leader)} leads now and does not know what the leader before remembered"
    yield found_since(scene, LEADER_WITHOUT_MEMORY, (Subject("member", leader),), message)


FROM_LAST = frozenset({Need.LAST})
CONFIGURED = frozenset({Need.NO_ERROR, Need.CONFIG, Need.READABLE})
LAWS = (
    RuleCheck(rules=(HOLD_NOT_CARRIED_OVER,), needs=FROM_LAST, broken=assignment_not_carried_over),
    RuleCheck(rules=(REBALANCE_STORM,), broken=rebalance_storm),
    RuleCheck(rules=(CONFIG_MISMATCH_PERSISTS,), broken=config_mismatch_persists),
    RuleCheck(rules=(OFFSET_REGRESSION,), broken=offset_regression),
    RuleCheck(rules=(PROTOCOL_DOWNGRADE,), broken=protocol_downgrade),
    RuleCheck(rules=(REVOKED_JOB_LOST,), needs=CONFIGURED, broken=revoked_job_lost),
    RuleCheck(rules=(ZOMBIE_RETURN,), needs=FROM_LAST, broken=zombie_return),
    RuleCheck(rules=(LEADER_WITHOUT_MEMORY,), needs=FROM_LAST, broken=leader_without_memory),
)
