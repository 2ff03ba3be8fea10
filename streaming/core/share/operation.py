"""One moment of a share group's coordinator: what its records say together, published once it is closed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rebalance_monitor.schemas.group_values import GroupEpoch
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.fold.state import LastRecord
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Evidence
from rebalance_monitor.streaming.core.share import timing, topics
from rebalance_monitor.streaming.core.share.breaches import ShareBreach
from rebalance_monitor.streaming.core.share.catalogue import WITHOUT_MEMBER
from rebalance_monitor.streaming.core.share.causes import Raised, causes_of, raises_of, unknown
from rebalance_monitor.streaming.core.share.expected import ComputedShare, targets_of
from rebalance_monitor.streaming.core.share.group import ShareGroup, among, changed_by, take_all
from rebalance_monitor.streaming.core.share.laws import breaches_of, epoch_decreased
from rebalance_monitor.streaming.core.share.published import detail_of, generation_of, progress_of, targets_by_member
from rebalance_monitor.streaming.core.share.rules import OF_ONE_MOMENT, findings_of
from rebalance_monitor.streaming.core.share.state import ShareState
from rebalance_monitor.streaming.core.share.tally import ShareTally
from rebalance_monitor.streaming.core.share.verdict import judge
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


def closed(view: GroupView, state: ShareState, tally: ShareTally) -> tuple[ShareState, ShareTally, list[Output]]:
    """The state after the moment that was set aside, its tally, and what is published of it. `tally`: of the state
    before."""
    began = state
    rows, state = state.begun, replace(state, begun=())
    records = records_of(rows)
    at_ms, before = rows[0].timestamp_ms, state.view
    after = take_all(before, records, at_ms)
    changed = changed_by(records, before)
    tally = tally.after(after, changed)

    def name_of(topic: bytes) -> str:
        return topics.name_of(topic, after, before, view.knowledge.topics)

    epochs = [one.value.epoch for one in records if isinstance(one.value, GroupEpoch)]
    raises = raises_of(before, records, at_ms) if epochs else []
    anew = not raises or len(raises[0].after.members) <= 1
    blank = not before.members
    state = replace(state, trusted=followed(view, state, before.epoch, epochs, rows[0], anew=anew, blank=blank))
    hole = holed(rows)
    state = doubted(state, at_ms) if hole else state
    outputs: list[Output] = []
    earlier = before
    for target in targets_of(before, records, at_ms):
        here = (Evidence(source=source_of(rows[target.at])),)
        state = _asked(view, state, [one for one in raises if one.at < target.at], here, at_ms)
        raises = [one for one in raises if one.at > target.at]
        state, told = _targeted(view, state, earlier, target, rows[target.at], name_of)
        outputs += told
        earlier = target.after
    gone = [name for name in changed if name in earlier.members and name not in after.members]
    left = {**state.left, **targets_by_member(among(earlier, gone), name_of)}
    state = replace(state, view=after, left=left if after.members else {})
    state = _asked(view, state, raises, (Evidence(source=source_of(raising(rows, records))),), at_ms)
    state, told = reached(view, state, after, lambda: progress_of(after), at_ms, everybody=not tally.late)
    outputs += told
    surely = began.trusted and state.unsettled_ms is None
    went_back = list(epoch_decreased(before, after, changed)) if surely else []
    state = _settled(replace(state, doubted=state.doubted or hole), tally)
    state = replace(state, last=LastRecord(source_of(rows[-1]), at_ms))
    state = timing.noted(view, began, state, tally, at_ms)
    outputs += _notices(view, state, tally, went_back, at_ms)
    state, outputs = stands(view, state, state_word(state), outputs, at_ms)
    return state, tally, outputs


def fired(
    view: GroupView, state: ShareState, tally: ShareTally, at_ms: int, *, historic: bool
) -> tuple[ShareState, list[Output]]:
    """What has lasted too long at this time."""
    found = _found(view, state, timing.overdue(view, state, tally, at_ms))
    state = replace(state, fired_ms=at_ms)
    return state, [Notice(moment=view.moment(at_ms, historic=historic), found=found)] if found else []


def state_word(state: ShareState) -> str:
    """As Kafka's coordinator computes it, which calls a share group with members stable; `Unknown` where the records do
    not tell."""
    if not state.view.members:
        return "Empty"
    return "Stable" if state.trusted and state.view.epoch is not None else "Unknown"


def _notices(
    view: GroupView, state: ShareState, tally: ShareTally, went_back: Sequence[ShareBreach], at_ms: int
) -> Iterator[Output]:
    """What the laws find after a closed moment. While records are missing they are silent, and end nothing."""
    moment = view.moment(at_ms)
    if not state.trusted or (state.unsettled_ms is not None and state.doubted):
        if went_back:
            yield Notice(moment=moment, found=_found(view, state, went_back))
        return
    if state.unsettled_ms is not None:
        sure = ShareTally(_sure(state, tally), tally.session_ms)
        yield Notice(moment=moment, found=_found(view, state, breaches_of(sure)))
        return
    breaches = [*breaches_of(tally), *went_back, *timing.overdue(view, state, tally, at_ms)]
    of_targets = frozenset[str]() if state.view.behind else frozenset({WITHOUT_MEMBER.code})
    yield Notice(moment=moment, found=_found(view, state, breaches), evaluated=OF_ONE_MOMENT | of_targets)


def _found(view: GroupView, state: ShareState, breaches: Iterable[ShareBreach]) -> tuple[Finding, ...]:
    def name_of(topic: bytes) -> str:
        return topics.name_of(topic, state.view, state.view, view.knowledge.topics)

    here = Evidence(source=None if state.last is None else state.last.source)
    return findings_of(view.group, state.view, breaches, name_of, here)


def _settled(state: ShareState, tally: ShareTally) -> ShareState:
    """The state, with what is sure of it again. Where a target was recomputed since records may be missing, all that it
    rests on is known; what a member holds is, once it has reached that target or has written."""
    if state.trusted and state.unsettled_ms is None:
        return state
    if _in_order(tally):
        return replace(state, trusted=True, unsettled_ms=state.unsettled_ms if state.doubted else None)
    if state.trusted and not state.doubted and _sure(state, tally) is state.view and not breaches_of(tally):
        return replace(state, unsettled_ms=None)
    return state


def _sure(state: ShareState, tally: ShareTally) -> ShareGroup:
    """The group without the members of whom it is not known what they hold."""
    members = state.view.members
    unsure = unheard_of(state, {name: members[name] for name in tally.late})
    if not unsure:
        return state.view
    return replace(state.view, members={name: one for name, one in members.items() if name not in unsure})


def _in_order(tally: ShareTally) -> bool:
    """Whether the view is surely the group's again: everybody is known and holds its target, and no law is broken; and
    since 4.1 it is known which partitions may be assigned."""
    group = tally.group
    known = bool(group.members) and not tally.unknown and (group.metadata_hash is None or group.states is not None)
    return known and not group.behind and not tally.late and not breaches_of(tally)


def _asked(
    view: GroupView, state: ShareState, raises: Iterable[Raised], evidence: tuple[Evidence, ...], at_ms: int
) -> ShareState:
    """The state with what asked for these group epochs."""
    for one in raises:
        found = causes_of(one.before, one.after, evidence, at_ms, shortest_session_ms(view.settings, view.group))
        state = replace(state, cause=merged(state.cause, found))
    return state


def _targeted(
    view: GroupView, state: ShareState, earlier: ShareGroup, target: ComputedShare, row: Row, name_of: NameOf
) -> tuple[ShareState, list[Output]]:
    """A target: the one before is over, this one is published."""
    at_ms, source, epoch = row.timestamp_ms, source_of(row), target.after.assignment_epoch or 0
    state, outputs = settled(view, state, progress_of(earlier), overtaken_by=epoch)
    here = (Evidence(source=source),)
    session_ms = shortest_session_ms(view.settings, view.group)
    cause = state.cause or causes_of(earlier, target.after, here, at_ms, session_ms) or (unknown(here),)
    state, verdict = believed(state, judge(target, view.knowledge.topics, at_ms, name_of, trusted=state.trusted))
    outputs.append(
        generation_of(
            view, target, source=source, at_ms=at_ms, verdict=verdict, cause=cause, left=state.left, name_of=name_of
        )
    )
    underway = Underway(epoch=epoch, source=source, cause=cause, detail=replace(detail_of(target.after), progress=()))
    return replace(state, underway=underway, cause=(), left={}), outputs
