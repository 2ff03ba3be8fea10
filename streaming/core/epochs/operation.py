"""One operation of the coordinator: what its records say together, published once its moment is closed."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rebalance_monitor.streaming.core.epochs import missing, tasks, tasks_verdict, timing
from rebalance_monitor.streaming.core.epochs.breaches import Breach
from rebalance_monitor.streaming.core.epochs.causes import causes_of
from rebalance_monitor.streaming.core.epochs.expected import converted
from rebalance_monitor.streaming.core.epochs.group import STREAMS, EpochGroup
from rebalance_monitor.streaming.core.epochs.laws import epoch_decreased, state_findings
from rebalance_monitor.streaming.core.epochs.moves import unlike_before
from rebalance_monitor.streaming.core.epochs.published import (
    detail_of,
    generation_of,
    progress_of,
    share_of,
    targets_by_name,
)
from rebalance_monitor.streaming.core.epochs.rules import evaluated, findings_of
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.epochs.tally import EpochTally
from rebalance_monitor.streaming.core.epochs.units import Units
from rebalance_monitor.streaming.core.epochs.verdict import judge
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Cause, Evidence, ExpectedShare, Verdict
from rebalance_monitor.streaming.core.model.streams_settings import NOTHING_SAID
from rebalance_monitor.streaming.core.targets.causes import merged
from rebalance_monitor.streaming.core.targets.group import among
from rebalance_monitor.streaming.core.targets.operation import Computed, operation_of
from rebalance_monitor.streaming.core.targets.published import NameOf
from rebalance_monitor.streaming.core.targets.timing import noted, shortest_session_ms
from rebalance_monitor.streaming.core.targets.topics import naming
from rebalance_monitor.streaming.core.targets.trust import Laws, believed, last_seen, notices, opened, reassured
from rebalance_monitor.streaming.core.targets.way import reached, settled, stands, underway

PROTOCOL_CHANGED = "protocol_changed"


def closed(view: GroupView, state: EpochsState, tally: EpochTally) -> tuple[EpochsState, EpochTally, list[Output]]:
    """The state after the operation that was set aside, its tally, and what is published of it. `tally`: of the state
    before."""
    began = state
    operation = operation_of(state.begun, state.view)
    after, at_ms, changed = operation.after, operation.at_ms, operation.changed
    tally = tally.after(after, changed)
    name_of = naming(view.knowledge.topics, after)
    state = opened(view, replace(state, begun=()), operation)
    outputs: list[Output] = []
    earlier = operation.before
    for target in operation.targets():
        state, told = _targeted(view, state, earlier, target, operation.rows[target.at], name_of)
        outputs += told
        earlier = target.after
    left = {**state.left, **targets_by_name(among(earlier, operation.gone(earlier)), name_of)}
    known = frozenset(name for name in state.members if name not in after.members)
    state = replace(state, view=after, left=left if after.members else {}, members=known)
    if after.epoch != earlier.epoch and after.epoch is not None:
        session_ms = shortest_session_ms(view.settings, view.group)
        asked = _causes(earlier, after, changed, operation.raised(), at_ms, session_ms)
        state = replace(state, cause=merged(state.cause, asked))
    state, told = reached(view, state, tally, lambda: progress_of(after), at_ms)
    outputs += told
    surely = began.trusted and state.unsettled_ms is None
    went_back = [*epoch_decreased(operation), *unlike_before(operation, tally.held.several)] if surely else []

    def known_whole() -> bool:
        return not state.members and not any(after.unresolved(one) for one in after.members.values())

    def lacking() -> list[Breach]:
        return timing.uncovered(view, tally, at_ms)

    state = reassured(state, tally, LAWS, operation, lacking, known_whole)
    state = replace(state, last=operation.last)
    state = noted(began, state, at_ms, lacking)
    outputs += notices(view, state, tally, LAWS, went_back, at_ms)
    sure = surely and state.trusted and state.unsettled_ms is None
    state, still_missed = missing.noted(view, began, state, changed, name_of, operation.last, sure=sure)
    outputs += still_missed
    state, outputs = stands(view, state, state_word(state, tally), outputs, at_ms)
    return state, tally, outputs


def _found(view: GroupView, state: EpochsState, breaches: Iterable[Breach]) -> tuple[Finding, ...]:
    name_of = naming(view.knowledge.topics, state.view)
    return findings_of(view.group, state.view, breaches, name_of, last_seen(state))


LAWS = Laws(state_findings, timing.overdue, _found, lambda tally: evaluated(tally.group))


def state_word(state: EpochsState, tally: EpochTally) -> str:
    """As Kafka's coordinator computes it; `Unknown` where the records do not tell."""
    group = state.view
    if not group.members and not state.members:
        return "Empty"
    if state.members or not state.trusted or group.epoch is None:
        return "Unknown"
    if group.kind == STREAMS and not tally.ready:
        return "NotReady"
    if group.behind:
        return "Assigning"
    return "Reconciling" if tally.late else "Stable"


def _causes(
    before: EpochGroup,
    after: EpochGroup,
    changed: set[str],
    evidence: tuple[Evidence, ...],
    at_ms: int,
    session_ms: int,
) -> tuple[Cause, ...]:
    """Why the group epoch rose. Where only members changed, the others tell nothing."""
    if before.regexes == after.regexes:
        before, after = among(before, changed), among(after, changed)
    return causes_of(before, after, evidence, at_ms, session_ms)


def _targeted(
    view: GroupView, state: EpochsState, earlier: EpochGroup, target: Computed[EpochGroup], row: Row, name_of: NameOf
) -> tuple[EpochsState, list[Output]]:
    """A target: the one before is over, this one is published."""
    at_ms, source = row.timestamp_ms, source_of(row)
    state, outputs = settled(view, state, progress_of(earlier), overtaken_by=target.after.assignment_epoch or 0)
    here = (Evidence(source=source),)
    if converted(target):
        cause: tuple[Cause, ...] = (Cause(kind=PROTOCOL_CHANGED, evidence=here),)
    elif target.after.epoch == earlier.epoch and state.cause:
        cause = state.cause
    else:
        session_ms = shortest_session_ms(view.settings, view.group)
        cause = merged(state.cause, causes_of(earlier, target.after, here, at_ms, session_ms))
    state, verdict = believed(state, _verdict(view, target, at_ms, name_of), _wanted(target))
    published = generation_of(
        view, target, source=source, at_ms=at_ms, verdict=verdict, cause=cause, left=state.left, name_of=name_of
    )
    return underway(state, published, detail_of(target.after)), [*outputs, published]


def _wanted(target: Computed[EpochGroup]) -> Iterator[Units]:
    return (one.wanted() for one in target.after.members.values())


def _verdict(view: GroupView, target: Computed[EpochGroup], at_ms: int, name_of: NameOf) -> Verdict:
    history = view.knowledge.topics
    if target.after.kind != STREAMS:
        return judge(target, history, at_ms, name_of)
    settings = view.settings.streams.get(view.group, NOTHING_SAID)
    found = tasks_verdict.judge(target, settings, history, at_ms)
    if found.expected is None:
        return found.verdict
    reads = tasks.reads(target.after, history, at_ms)
    expected = {name: ExpectedShare(assigned=share_of(of, name_of, reads)) for name, of in found.expected.items()}
    return replace(found.verdict, expected=expected)
