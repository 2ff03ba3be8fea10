"""The way of a group from target to target: whether every record of it was read, and the last word on each target."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.schemas.group_values import GroupEpoch
from rebalance_monitor.schemas.streams_values import StreamsEpoch
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.epoch_detail import MemberProgress
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Aftermath, Generation, Grade, Standing, Verdict
from rebalance_monitor.streaming.core.targets.group import TargetGroup, TimedMember
from rebalance_monitor.streaming.core.targets.state import TargetsState

S = TypeVar("S", bound=TargetsState)

MAYBE_MISSING = "offsets of the log were not read: records of the group may be missing before this target"
FIRST_EPOCHS = 2
"""A new group's first record states epoch 1 or 2."""


def followed(
    view: GroupView,
    state: TargetsState,
    epoch: int | None,
    stated: Iterable[int],
    row: Row,
    *,
    anew: bool,
    blank: bool,
) -> bool:
    """Whether the state is still that of all records: each group epoch is one more than the one before.

    `epoch`: the group's before the moment, `stated`: those of its records; `row`: one of them, for its partition.
    `anew`: the group has one member, which is given the same whatever it had. A group of more members had an earlier
    epoch, whose targets compaction may have taken. `blank`: nobody was known before the moment. Of a group that was
    seen to be deleted, and then has members before an epoch, compaction has taken records; a conversion from the
    classic protocol brings all of it in one moment, at an epoch of its own.
    """
    trusted, unread = state.trusted, view.envelope.unread
    for new in stated:
        if epoch is None:
            trusted = new < FIRST_EPOCHS or (new == FIRST_EPOCHS and anew) or (blank and view.envelope.seen_from_start)
        elif new not in (epoch, epoch + 1):
            trusted = False
        epoch = new
    if unread is None or (unread.topic, unread.partition) != (row.topic, row.partition):
        return trusted
    since = -1 if state.last is None else state.last.source.offset
    return trusted and unread.offset < since


def doubted(state: S, at_ms: int) -> S:
    """The state where records before this time may be missing since the last closed moment."""
    return replace(state, doubted=True, unsettled_ms=at_ms)


def unheard_of(state: TargetsState, underway: Mapping[str, TimedMember]) -> frozenset[str]:
    """Of the members that have not reached the newest target (`underway`), those that have not written since records
    may be missing: one of these may have been theirs."""
    since_ms = state.unsettled_ms
    if since_ms is None:
        return frozenset()
    return frozenset(name for name, one in underway.items() if one.wrote_ms is None or one.wrote_ms < since_ms)


def believed(state: S, verdict: Verdict) -> tuple[S, Verdict]:
    """A verdict by records of which some may be missing, and the state after it. Where the assignor's answer is the
    record's, nothing that it rests on was missing. Where it is another one, nobody knows why."""
    match verdict.grade:
        case Grade.MATCH:
            return replace(state, doubted=False), verdict
        case Grade.UNEXPLAINED if state.doubted:
            reason = Reason(ReasonKind.EVIDENCE_MISSING, MAYBE_MISSING)
            lowered = Verdict(grade=Grade.NOT_JUDGED, assignor=verdict.assignor, reason=reason)
            return replace(state, trusted=False), lowered
        case Grade.EXPLAINABLE | Grade.UNEXPLAINED | Grade.NOT_JUDGED:
            return state, verdict
        case _:
            assert_never(verdict.grade)


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


def reached(
    view: GroupView,
    state: S,
    group: TargetGroup,
    progress_of: Callable[[], Sequence[MemberProgress]],
    at_ms: int,
    *,
    everybody: bool,
) -> tuple[S, list[Output]]:
    """The last word on a target, once `everybody` holds it or nobody is left, of whom all is true."""
    underway = state.underway
    if underway is None or group.assignment_epoch != underway.epoch or not everybody:
        return state, []
    progress = progress_of()
    return settled(view, state, progress, reached_ms=at_ms if progress else None)


def raising(rows: Sequence[Row], records: Sequence[GroupRecord]) -> Row:
    """The record of a moment that raised the group epoch."""
    found = (
        row for row, record in zip(rows, records, strict=False) if isinstance(record.value, GroupEpoch | StreamsEpoch)
    )
    return next(found, rows[0])


def stands(view: GroupView, state: S, word: str, outputs: Sequence[Output], at_ms: int) -> tuple[S, list[Output]]:
    """The group's state in Kafka's words behind the rest, where it changed, and behind each target: who only counts
    members takes a group with a new generation for stable."""
    if word == state.shown and not any(isinstance(one, Generation) for one in outputs):
        return state, list(outputs)
    standing = Standing(cluster=view.settings.name, group=view.group, state=word, at_ms=at_ms)
    return replace(state, shown=word), [*outputs, standing]
