"""One operation of the coordinator: what its records say together, published once its moment is closed."""

from collections.abc import Iterable

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Cause, Evidence
from rebalance_monitor.streaming.core.targets import missing
from rebalance_monitor.streaming.core.targets.assigning import CONVERTED
from rebalance_monitor.streaming.core.targets.breaches import Breach, Law
from rebalance_monitor.streaming.core.targets.causes import causes_of, merged, unknown
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.kind import Kind
from rebalance_monitor.streaming.core.targets.laws import epoch_decreased
from rebalance_monitor.streaming.core.targets.moves import unlike_before
from rebalance_monitor.streaming.core.targets.operation import Computed, Raised, operation_of
from rebalance_monitor.streaming.core.targets.published import detail_of, generation_of
from rebalance_monitor.streaming.core.targets.reasons import not_judged
from rebalance_monitor.streaming.core.targets.shown import targets_by_name
from rebalance_monitor.streaming.core.targets.state import TargetsState
from rebalance_monitor.streaming.core.targets.tally import Tally
from rebalance_monitor.streaming.core.targets.timing import noted, shortest_session_ms
from rebalance_monitor.streaming.core.targets.topics import NameOf, naming
from rebalance_monitor.streaming.core.targets.trust import believed, notices, opened, reassured
from rebalance_monitor.streaming.core.targets.way import reached, settled, stands, state_word, underway

PROTOCOL_CHANGED = "protocol_changed"


def closed(kind: Kind, view: GroupView, state: TargetsState, tally: Tally) -> tuple[TargetsState, Tally, list[Output]]:
    """The state after the operation that was set aside, its tally, and what is published of it. `tally`: of the state
    before."""
    began = state
    operation = operation_of(kind.parts, state.begun, state.view)
    after, at_ms, changed = operation.after, operation.at_ms, operation.changed
    tally = tally.after(after, changed)
    name_of = naming(view.knowledge.topics, operation.before, after)
    state = opened(view, replace(state, begun=()), operation)
    raises = operation.raises()
    outputs: list[Output] = []
    earlier = operation.before
    for target in operation.targets():
        row = operation.rows[target.at]
        asked = [one for one in raises if one.at < target.at]
        state = _asked(view, state, asked, changed, (Evidence(source=source_of(row)),), at_ms)
        raises = [one for one in raises if one.at > target.at]
        state, told = _targeted(kind, view, state, earlier, target, row, name_of)
        outputs += told
        earlier = target.after
    left = {**state.left, **targets_by_name(earlier.among(operation.gone(earlier)), name_of)}
    state = replace(state, view=after, left=left if after.members else {})
    state = _asked(view, state, raises, changed, operation.raised(), at_ms)
    state, told = reached(kind, view, state, tally, at_ms)
    outputs += told
    surely = began.trusted and state.unsettled_ms is None
    went_back = list(epoch_decreased(operation)) if surely else []
    if surely and Law.UNLIKE_BEFORE in kind.rules:
        went_back += unlike_before(operation, tally.held.several)

    def lacking() -> list[Breach]:
        return kind.lacking(view, tally, at_ms)

    state = reassured(kind, state, tally, operation, lacking)
    state = replace(state, last=operation.last)
    state = noted(began, state, at_ms, lacking)
    outputs += notices(kind, view, state, tally, went_back, at_ms)
    sure = surely and state.trusted and state.unsettled_ms is None
    state, still_missed = missing.noted(view, began, state, changed, name_of, operation.last, sure=sure)
    outputs += still_missed
    state, outputs = stands(view, state, state_word(kind, state, tally), outputs, at_ms)
    return state, tally, outputs


def _asked(
    view: GroupView,
    state: TargetsState,
    raises: Iterable[Raised],
    changed: set[str],
    evidence: tuple[Evidence, ...],
    at_ms: int,
) -> TargetsState:
    """The state with what asked for these group epochs."""
    for one in raises:
        found = _causes(view, one.before, one.after, changed, evidence, at_ms)
        state = replace(state, cause=merged(state.cause, found))
    return state


def _causes(
    view: GroupView,
    before: TargetGroup,
    after: TargetGroup,
    changed: set[str],
    evidence: tuple[Evidence, ...],
    at_ms: int,
) -> tuple[Cause, ...]:
    """Why the group epoch rose. Where only members changed, the others tell nothing."""
    if before.regexes == after.regexes and after.states is None:
        before, after = before.among(changed), after.among(changed)
    return causes_of(before, after, evidence, at_ms, shortest_session_ms(view.settings, view.group))


def _targeted(
    kind: Kind,
    view: GroupView,
    state: TargetsState,
    earlier: TargetGroup,
    target: Computed,
    row: Row,
    name_of: NameOf,
) -> tuple[TargetsState, list[Output]]:
    """A target: the one before is over, this one is published."""
    at_ms, source, group = row.timestamp_ms, source_of(row), target.after
    state, outputs = settled(kind, view, state, earlier, overtaken_by=group.assignment_epoch or 0)
    here, everybody = (Evidence(source=source),), {*earlier.members, *group.members}
    if kind.converted(target):
        cause: tuple[Cause, ...] = (Cause(kind=PROTOCOL_CHANGED, evidence=here),)
        verdict = not_judged(None, CONVERTED)
    else:
        cause = state.cause or _causes(view, earlier, group, everybody, here, at_ms) or (unknown(here),)
        verdict = kind.judge(view, target, at_ms, name_of)
    state, verdict = believed(state, verdict, (one.wanted() for one in group.members.values()))
    published = generation_of(
        kind, view, target, source=source, at_ms=at_ms, verdict=verdict, cause=cause, left=state.left, name_of=name_of
    )
    return underway(state, published, detail_of(kind, group)), [*outputs, published]
