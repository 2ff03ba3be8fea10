"""One operation of the coordinator: what its records say together, published once its moment is closed."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.schemas.group_values import GroupEpoch
from rebalance_monitor.schemas.streams_values import StreamsEpoch
from rebalance_monitor.streaming.core.epochs import missing, tasks, tasks_verdict, timing, topics
from rebalance_monitor.streaming.core.epochs.breaches import Breach
from rebalance_monitor.streaming.core.epochs.causes import causes_of
from rebalance_monitor.streaming.core.epochs.expected import Computed, targets_of
from rebalance_monitor.streaming.core.epochs.group import STREAMS, EpochGroup, among, changed_by, take, take_all
from rebalance_monitor.streaming.core.epochs.laws import epoch_decreased, state_findings
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
from rebalance_monitor.streaming.core.epochs.verdict import judge
from rebalance_monitor.streaming.core.fold import missing_members
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.fold.state import LastRecord
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Cause, Evidence, ExpectedShare, Verdict
from rebalance_monitor.streaming.core.model.streams_settings import NOTHING_SAID
from rebalance_monitor.streaming.core.targets.causes import merged
from rebalance_monitor.streaming.core.targets.moment import holed, records_of
from rebalance_monitor.streaming.core.targets.published import NameOf
from rebalance_monitor.streaming.core.targets.state import Underway
from rebalance_monitor.streaming.core.targets.timing import shortest_session_ms
from rebalance_monitor.streaming.core.targets.way import (
    believed,
    doubted,
    followed,
    raising,
    reached,
    settled,
    stands,
    unheard_of,
)

PROTOCOL_CHANGED = "protocol_changed"


def closed(view: GroupView, state: EpochsState, tally: EpochTally) -> tuple[EpochsState, EpochTally, list[Output]]:
    """The state after the operation that was set aside, its tally, and what is published of it. `tally`: of the state
    before."""
    began = state
    rows, state = state.begun, replace(state, begun=())
    records = records_of(rows)
    at_ms, before = rows[0].timestamp_ms, state.view
    after = take_all(before, records, at_ms)
    changed = changed_by(records, before)
    tally = tally.after(after, changed)

    def name_of(topic: bytes) -> str:
        return topics.name_of(topic, after, view.knowledge.topics)

    epochs = [one.value.epoch for one in records if isinstance(one.value, GroupEpoch | StreamsEpoch)]
    anew = before.epoch is None and len(_first_members(before, records, at_ms)) <= 1
    blank = not before.members
    state = replace(state, trusted=followed(view, state, before.epoch, epochs, rows[0], anew=anew, blank=blank))
    hole = holed(rows)
    state = doubted(state, at_ms) if hole else state
    outputs: list[Output] = []
    earlier = before
    for target in targets_of(before, records, at_ms):
        state, told = _targeted(view, state, earlier, target, rows[target.at], name_of)
        outputs += told
        earlier = target.after
    gone = [name for name in changed if name in earlier.members and name not in after.members]
    left = {**state.left, **targets_by_name(among(earlier, gone), name_of)}
    known = frozenset(name for name in state.members if name not in after.members)
    state = replace(state, view=after, left=left if after.members else {}, members=known)
    if after.epoch != earlier.epoch and after.epoch is not None:
        raised = (Evidence(source=source_of(raising(rows, records))),)
        session_ms = shortest_session_ms(view.settings, view.group)
        state = replace(state, cause=merged(state.cause, _causes(earlier, after, changed, raised, at_ms, session_ms)))
    state, told = reached(view, state, after, lambda: progress_of(after), at_ms, everybody=tally.reached)
    outputs += told
    surely = began.trusted and state.unsettled_ms is None
    went_back = list(epoch_decreased(before, after)) if surely else []
    state = _settled(replace(state, doubted=state.doubted or hole), tally)
    last = LastRecord(source_of(rows[-1]), at_ms)
    state = replace(state, last=last)
    state = timing.noted(view, began, state, tally, at_ms)
    outputs += _notices(view, state, tally, went_back, at_ms)
    sure = surely and state.trusted and state.unsettled_ms is None
    state, still_missed = missing.noted(view, began, state, changed, name_of, last, sure=sure)
    outputs += still_missed
    state, outputs = stands(view, state, state_word(state, tally), outputs, at_ms)
    return state, tally, outputs


def _first_members(group: EpochGroup, records: Sequence[GroupRecord], at_ms: int) -> Collection[str]:
    """Who is in a group as its first epoch is written: others may join within the same moment."""
    for record in records:
        group = take(group, record, at_ms)
        if group.epoch is not None:
            break
    return group.members


def fired(
    view: GroupView, state: EpochsState, tally: EpochTally, at_ms: int, *, historic: bool
) -> tuple[EpochsState, list[Output]]:
    """What has lasted too long at this time."""
    found = _found(view, state, timing.overdue(view, state, tally, at_ms))
    missed, told = missing_members.fired(view, state.missed, at_ms, historic=historic)
    state = replace(state, fired_ms=at_ms, missed=missed)
    return state, [*([Notice(moment=view.moment(at_ms, historic=historic), found=found)] if found else []), *told]


def _notices(
    view: GroupView, state: EpochsState, tally: EpochTally, went_back: Sequence[Breach], at_ms: int
) -> Iterator[Output]:
    """What the laws find after a closed moment. While records are missing they are silent, and end nothing."""
    moment = view.moment(at_ms)
    if not state.trusted or (state.unsettled_ms is not None and state.doubted):
        if went_back:
            yield Notice(moment=moment, found=_found(view, state, went_back))
        return
    if state.unsettled_ms is not None:
        sure = EpochTally(_sure(state, tally), tally.session_ms)
        yield Notice(moment=moment, found=_found(view, state, state_findings(sure)))
        return
    breaches = [*state_findings(tally), *went_back, *timing.overdue(view, state, tally, at_ms)]
    found = _found(view, state, breaches)
    yield Notice(moment=moment, found=found, evaluated=evaluated(state.view))


def _found(view: GroupView, state: EpochsState, breaches: Iterable[Breach]) -> tuple[Finding, ...]:
    def name_of(topic: bytes) -> str:
        return topics.name_of(topic, state.view, view.knowledge.topics)

    here = Evidence(source=None if state.last is None else state.last.source)
    return findings_of(view.group, state.view, breaches, name_of, here)


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


def _settled(state: EpochsState, tally: EpochTally) -> EpochsState:
    """The state, with what is sure of it again. Where a target was recomputed since records may be missing, all that it
    rests on is known; what a member holds is, once it has reached that target or has written."""
    if state.trusted and state.unsettled_ms is None:
        return state
    if _in_order(state, tally):
        return replace(state, trusted=True, unsettled_ms=state.unsettled_ms if state.doubted else None)
    if state.trusted and not state.doubted and _sure(state, tally) is state.view and not state_findings(tally):
        return replace(state, unsettled_ms=None)
    return state


def _sure(state: EpochsState, tally: EpochTally) -> EpochGroup:
    """The group without the members of whom it is not known what they hold."""
    members = state.view.members
    unsure = unheard_of(state, {name: members[name] for name in tally.late})
    if not unsure:
        return state.view
    return replace(state.view, members={name: one for name, one in members.items() if name not in unsure})


def _in_order(state: EpochsState, tally: EpochTally) -> bool:
    """Whether the view is surely the group's again: everybody is known and holds its target, and no law is broken."""
    known = bool(tally.facts) and not tally.unknown and not state.members
    return known and tally.converged and not state_findings(tally)


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
    view: GroupView, state: EpochsState, earlier: EpochGroup, target: Computed, row: Row, name_of: NameOf
) -> tuple[EpochsState, list[Output]]:
    """A target: the one before is over, this one is published."""
    at_ms, source, epoch = row.timestamp_ms, source_of(row), target.after.assignment_epoch or 0
    state, outputs = settled(view, state, progress_of(earlier), overtaken_by=epoch)
    here = (Evidence(source=source),)
    if target.converted:
        cause: tuple[Cause, ...] = (Cause(kind=PROTOCOL_CHANGED, evidence=here),)
    elif target.after.epoch == earlier.epoch and state.cause:
        cause = state.cause
    else:
        session_ms = shortest_session_ms(view.settings, view.group)
        cause = merged(state.cause, causes_of(earlier, target.after, here, at_ms, session_ms))
    state, verdict = believed(state, _verdict(view, target, at_ms, name_of, trusted=state.trusted))
    outputs.append(
        generation_of(
            view, target, source=source, at_ms=at_ms, verdict=verdict, cause=cause, left=state.left, name_of=name_of
        )
    )
    underway = Underway(epoch=epoch, source=source, cause=cause, detail=replace(detail_of(target.after), progress=()))
    return replace(state, underway=underway, cause=(), left={}), outputs


def _verdict(view: GroupView, target: Computed, at_ms: int, name_of: NameOf, *, trusted: bool) -> Verdict:
    history = view.knowledge.topics
    if target.after.kind != STREAMS:
        return judge(target, history, at_ms, name_of, trusted=trusted)
    settings = view.settings.streams.get(view.group, NOTHING_SAID)
    found = tasks_verdict.judge(target, settings, history, at_ms, trusted=trusted)
    if found.expected is None:
        return found.verdict
    reads = tasks.reads(target.after, history, at_ms)
    expected = {name: ExpectedShare(assigned=share_of(of, name_of, reads)) for name, of in found.expected.items()}
    return replace(found.verdict, expected=expected)
