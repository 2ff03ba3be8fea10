"""The way of a group from target to target: the last word on each, and the state of the group in Kafka's words."""

from collections.abc import Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.epoch_detail import EpochDetail
from rebalance_monitor.streaming.core.model.results import Aftermath, Generation, Standing
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.kind import Kind
from rebalance_monitor.streaming.core.targets.published import progress_of
from rebalance_monitor.streaming.core.targets.state import TargetsState, Underway
from rebalance_monitor.streaming.core.targets.tally import Tally


def settled(
    kind: Kind,
    view: GroupView,
    state: TargetsState,
    group: TargetGroup,
    *,
    reached_ms: int | None = None,
    overtaken_by: int | None = None,
) -> tuple[TargetsState, list[Output]]:
    """The last word on the target that is under way: it was reached, another one came first, or nobody is left of the
    group."""
    underway = state.underway
    if underway is None:
        return state, []
    progress = progress_of(kind, group)
    reached_ms = reached_ms if progress else None
    detail = replace(underway.detail, progress=progress, reached_ms=reached_ms, overtaken_by=overtaken_by)
    last_word = Aftermath(
        cluster=view.settings.name,
        group=view.group,
        generation=underway.epoch,
        source=underway.source,
        cause=underway.cause,
        epoch=detail,
    )
    return replace(state, underway=None), [last_word]


def underway(state: TargetsState, target: Generation, detail: EpochDetail) -> TargetsState:
    """The state with this target, as it was published, under way; `detail`: its times."""
    published = Underway(epoch=target.generation, source=target.source, cause=target.cause, detail=detail)
    return replace(state, underway=published, cause=(), left={})


def reached(
    kind: Kind, view: GroupView, state: TargetsState, tally: Tally, at_ms: int
) -> tuple[TargetsState, list[Output]]:
    """The last word on a target, once everybody holds it or nobody is left, of whom all is true."""
    underway = state.underway
    if underway is None or tally.group.assignment_epoch != underway.epoch or not tally.reached:
        return state, []
    return settled(kind, view, state, tally.group, reached_ms=at_ms)


def stands(
    view: GroupView, state: TargetsState, word: str, outputs: Sequence[Output], at_ms: int
) -> tuple[TargetsState, list[Output]]:
    """The group's state in Kafka's words behind the rest, where it changed, and behind each target: who only counts
    members takes a group with a new generation for stable."""
    if word == state.shown and not any(isinstance(one, Generation) for one in outputs):
        return state, list(outputs)
    standing = Standing(cluster=view.settings.name, group=view.group, state=word, at_ms=at_ms)
    return replace(state, shown=word), [*outputs, standing]


def state_word(kind: Kind, state: TargetsState, tally: Tally) -> str:
    """As Kafka's coordinator computes it, which calls a group with members that share stable; `Unknown` where the
    records do not tell."""
    group = state.view
    if not group.members:
        return "Empty"
    if not state.trusted or group.epoch is None:
        return "Unknown"
    if kind.waits_for_topics and not tally.ready:
        return "NotReady"
    if kind.exclusive and group.behind:
        return "Assigning"
    return "Reconciling" if kind.exclusive and tally.late else "Stable"
