"""The way of a group from target to target: the last word on each, and the state of the group in Kafka's words."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.epoch_detail import EpochDetail, MemberProgress
from rebalance_monitor.streaming.core.model.results import Aftermath, Generation, Standing
from rebalance_monitor.streaming.core.targets.state import TargetsState, Underway
from rebalance_monitor.streaming.core.targets.tally import Tally

S = TypeVar("S", bound=TargetsState)


def settled(
    view: GroupView,
    state: S,
    progress: Sequence[MemberProgress],
    *,
    reached_ms: int | None = None,
    overtaken_by: int | None = None,
) -> tuple[S, list[Output]]:
    """The last word on the target that is under way: it was reached, another one came first, or nobody is left."""
    underway = state.underway
    if underway is None:
        return state, []
    detail = replace(underway.detail, progress=tuple(progress), reached_ms=reached_ms, overtaken_by=overtaken_by)
    last_word = Aftermath(
        cluster=view.settings.name,
        group=view.group,
        generation=underway.epoch,
        source=underway.source,
        cause=underway.cause,
        epoch=detail,
    )
    return replace(state, underway=None), [last_word]


def underway(state: S, target: Generation, detail: EpochDetail) -> S:
    """The state with this target, as it was published, under way; `detail`: how far its members are."""
    published = Underway(
        epoch=target.generation, source=target.source, cause=target.cause, detail=replace(detail, progress=())
    )
    return replace(state, underway=published, cause=(), left={})


def reached(
    view: GroupView,
    state: S,
    tally: Tally[Any, Any, Any],
    progress_of: Callable[[], Sequence[MemberProgress]],
    at_ms: int,
) -> tuple[S, list[Output]]:
    """The last word on a target, once everybody holds it or nobody is left, of whom all is true."""
    underway = state.underway
    if underway is None or tally.group.assignment_epoch != underway.epoch or not tally.reached:
        return state, []
    progress = progress_of()
    return settled(view, state, progress, reached_ms=at_ms if progress else None)


def stands(view: GroupView, state: S, word: str, outputs: Sequence[Output], at_ms: int) -> tuple[S, list[Output]]:
    """The group's state in Kafka's words behind the rest, where it changed, and behind each target: who only counts
    members takes a group with a new generation for stable."""
    if word == state.shown and not any(isinstance(one, Generation) for one in outputs):
        return state, list(outputs)
    standing = Standing(cluster=view.settings.name, group=view.group, state=word, at_ms=at_ms)
    return replace(state, shown=word), [*outputs, standing]
