"""One operation of the coordinator: what its records say together, published once its moment is closed.

The last word on the target under way comes with it, and the state of the group in Kafka's words.
"""

from collections.abc import Iterable, Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.details import EpochDetail
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Aftermath, Cause, Evidence, Generation, Standing
from . import missing
from .assigning import CONVERTED
from .breaches import Breach
from .causes import causes_of, merged, unknown
from .group import TargetGroup
from .kind import Kind
from .law import Law
from .laws import epoch_decreased
from .moves import unlike_before
from .operation import Computed, Raised, operation_of
from .published import detail_of, generation_of, progress_of
from .reasons import not_judged
from .shown import targets_by_name
from .state import TargetsState, Underway
from .tally import Tally
from .timing import noted, shortest_session_ms
from .topics import NameOf, naming
from .trust import believed, notices, opened, reassured

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
