"""One moment of a share group's coordinator: what its records say together, published once it is closed."""

from collections.abc import Iterable
from dataclasses import replace

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Evidence
from rebalance_monitor.streaming.core.share import timing
from rebalance_monitor.streaming.core.share.breaches import ShareBreach
from rebalance_monitor.streaming.core.share.causes import Raised, causes_of, raises_of
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.share.laws import breaches_of, epoch_decreased
from rebalance_monitor.streaming.core.share.published import detail_of, generation_of, progress_of, targets_by_member
from rebalance_monitor.streaming.core.share.rules import evaluated, findings_of
from rebalance_monitor.streaming.core.share.state import ShareState
from rebalance_monitor.streaming.core.share.tally import ShareTally
from rebalance_monitor.streaming.core.share.verdict import judge
from rebalance_monitor.streaming.core.targets.causes import merged, unknown
from rebalance_monitor.streaming.core.targets.group import among
from rebalance_monitor.streaming.core.targets.operation import Computed, operation_of
from rebalance_monitor.streaming.core.targets.published import NameOf
from rebalance_monitor.streaming.core.targets.timing import noted, shortest_session_ms
from rebalance_monitor.streaming.core.targets.topics import naming
from rebalance_monitor.streaming.core.targets.trust import Laws, believed, last_seen, notices, opened, reassured
from rebalance_monitor.streaming.core.targets.way import reached, settled, stands, underway


def closed(view: GroupView, state: ShareState, tally: ShareTally) -> tuple[ShareState, ShareTally, list[Output]]:
    """The state after the moment that was set aside, its tally, and what is published of it. `tally`: of the state
    before."""
    began = state
    operation = operation_of(state.begun, state.view)
    before, after, at_ms = operation.before, operation.after, operation.at_ms
    tally = tally.after(after, operation.changed)
    name_of = naming(view.knowledge.topics, before, after)
    state = opened(view, replace(state, begun=()), operation)
    raises = raises_of(before, operation.records, at_ms) if any(operation.epochs()) else []
    outputs: list[Output] = []
    earlier = before
    for target in operation.targets():
        row = operation.rows[target.at]
        asked = [one for one in raises if one.at < target.at]
        state = _asked(view, state, asked, (Evidence(source=source_of(row)),), at_ms)
        raises = [one for one in raises if one.at > target.at]
        state, told = _targeted(view, state, earlier, target, row, name_of)
        outputs += told
        earlier = target.after
    left = {**state.left, **targets_by_member(among(earlier, operation.gone(earlier)), name_of)}
    state = replace(state, view=after, left=left if after.members else {})
    state = _asked(view, state, raises, operation.raised(), at_ms)
    state, told = reached(view, state, tally, lambda: progress_of(after), at_ms)
    outputs += told
    surely = began.trusted and state.unsettled_ms is None
    went_back = list(epoch_decreased(operation)) if surely else []

    def known_whole() -> bool:
        # Since 4.1 records say which partitions may be assigned.
        return after.metadata_hash is None or after.states is not None

    def lacking() -> list[ShareBreach]:
        return timing.uncovered(view, tally, at_ms)

    state = reassured(state, tally, LAWS, operation, lacking, known_whole)
    state = replace(state, last=operation.last)
    state = noted(began, state, at_ms, lacking)
    outputs += notices(view, state, tally, LAWS, went_back, at_ms)
    state, outputs = stands(view, state, state_word(state), outputs, at_ms)
    return state, tally, outputs


def _found(view: GroupView, state: ShareState, breaches: Iterable[ShareBreach]) -> tuple[Finding, ...]:
    name_of = naming(view.knowledge.topics, state.view)
    return findings_of(view.group, state.view, breaches, name_of, last_seen(state))


LAWS = Laws(breaches_of, timing.overdue, _found, lambda tally: evaluated(tally.group))


def state_word(state: ShareState) -> str:
    """As Kafka's coordinator computes it, which calls a share group with members stable; `Unknown` where the records do
    not tell."""
    if not state.view.members:
        return "Empty"
    return "Stable" if state.trusted and state.view.epoch is not None else "Unknown"


def _asked(
    view: GroupView, state: ShareState, raises: Iterable[Raised], evidence: tuple[Evidence, ...], at_ms: int
) -> ShareState:
    """The state with what asked for these group epochs."""
    for one in raises:
        found = causes_of(one.before, one.after, evidence, at_ms, shortest_session_ms(view.settings, view.group))
        state = replace(state, cause=merged(state.cause, found))
    return state


def _targeted(
    view: GroupView, state: ShareState, earlier: ShareGroup, target: Computed[ShareGroup], row: Row, name_of: NameOf
) -> tuple[ShareState, list[Output]]:
    """A target: the one before is over, this one is published."""
    at_ms, source = row.timestamp_ms, source_of(row)
    state, outputs = settled(view, state, progress_of(earlier), overtaken_by=target.after.assignment_epoch or 0)
    here = (Evidence(source=source),)
    session_ms = shortest_session_ms(view.settings, view.group)
    cause = state.cause or causes_of(earlier, target.after, here, at_ms, session_ms) or (unknown(here),)
    wanted = (one.wanted() for one in target.after.members.values())
    state, verdict = believed(state, judge(target, view.knowledge.topics, at_ms, name_of), wanted)
    published = generation_of(
        view, target, source=source, at_ms=at_ms, verdict=verdict, cause=cause, left=state.left, name_of=name_of
    )
    return underway(state, published, detail_of(target.after)), [*outputs, published]
