"""Whether the state of a group is still that of all its records, and what may be said of it while it is not.

every record was read             laws, verdicts and states are told
records may be missing            laws are silent but for members who have written since; a target is explainable, if
                                  the assignor gives it from the records that were read, or not judged
everybody is known and at a target that breaks no law      nothing that it rests on was missing
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import assert_never

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.group_values import AssignmentEpoch
from rebalance_monitor.schemas.streams_values import Topology
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.results import Evidence, Grade, Verdict
from .breaches import Breach
from .findings import evaluated, findings_of
from .group import TargetGroup
from .kind import Kind
from .laws import state_findings
from .operation import Operation, holed
from .reasons import BY_WHAT_WAS_READ, MAYBE_MISSING, RECORDS_MISSING, SUBSCRIPTION_ASSUMED, not_judged
from .state import TargetsState
from .tally import Tally
from .timing import overdue
from .topics import naming

_SAID_WHILE_MISSING = frozenset({ReasonKind.EVIDENCE_MISSING, ReasonKind.CONVERSION})
"""Why a target is not judged, whether or not more records are missing."""
FIRST_EPOCHS = 2
"""A new group's first record states epoch 2 since 4.3, and epoch 1 before."""


def opened(view: GroupView, state: TargetsState, operation: Operation) -> TargetsState:
    """The state with whether it can be trusted after this operation."""
    state = replace(state, trusted=_followed(view, state, operation))
    return doubted(state, operation.at_ms) if holed(operation.rows) else state


def _followed(view: GroupView, state: TargetsState, operation: Operation) -> bool:
    """Whether the state is still that of all records: each group epoch is one more than the one before.

    A group at epoch 2 may be new (`_begins_at_two`), or had an earlier epoch, whose targets compaction may have taken.
    Of a group that was seen to be deleted, and then has members before an epoch, compaction has taken records; a
    conversion from the classic protocol brings all of it in one moment, at an epoch of its own.
    """
    before, row = operation.before, operation.rows[0]
    trusted, unread, epoch = state.trusted, view.envelope.unread, before.epoch
    anew = before.assignment_epoch is None and _begins_at_two(operation)
    for _, new in operation.epochs():
        if epoch is None:
            blank = not before.members and view.envelope.seen_from_start
            trusted = new < FIRST_EPOCHS or blank or (new == FIRST_EPOCHS and anew)
        elif new not in (epoch, epoch + 1):
            trusted = False
        epoch = new
    trusted = trusted or (epoch == FIRST_EPOCHS and anew)
    if unread is None or (unread.topic, unread.partition) != (row.topic, row.partition):
        return trusted
    since = -1 if state.last is None else state.last.source.offset
    return trusted and unread.offset < since


def _begins_at_two(operation: Operation) -> bool:
    """Whether a group whose first known epoch is 2 is new: it has one member then, everybody has joined since the group
    is known, and 4.3 or later wrote these records. It dates its targets, and writes the topology of a Streams group
    with the first member."""
    had = any(one.assigned() for one in operation.before.members.values())
    unknown = any(one.metadata is None for one in operation.after.members.values())
    if had or unknown or len(operation.first_members()) > 1:
        return False
    values = [one.value for one in operation.records]
    return any(
        (isinstance(one, AssignmentEpoch) and one.at_ms is not None) or isinstance(one, Topology) for one in values
    )


def doubted(state: TargetsState, at_ms: int) -> TargetsState:
    """The state where records before this time may be missing since the last closed moment."""
    return replace(state, doubted=True, unsettled_ms=at_ms)


def believed(
    state: TargetsState, verdict: Verdict, wanted: Iterable[Collection[object]]
) -> tuple[TargetsState, Verdict]:
    """A verdict by records of which some may be missing, and the state after it. Where the assignor's answer is the
    record's, hardly anything that it rests on was missing, if it gives anybody anything (`wanted`, by member). Where it
    is another one, nobody knows why."""
    match verdict.grade:
        case Grade.MATCH if state.trusted:
            return replace(state, doubted=False), verdict
        case Grade.MATCH if any(wanted):
            return state, replace(verdict, grade=Grade.EXPLAINABLE, reason=BY_WHAT_WAS_READ)
        case Grade.EXPLAINABLE if verdict.reason is SUBSCRIPTION_ASSUMED and any(wanted):
            return state, verdict
        case Grade.NOT_JUDGED if verdict.reason is not None and verdict.reason.kind in _SAID_WHILE_MISSING:
            return state, verdict
        case _ if not state.trusted:
            return state, not_judged(verdict.assignor, RECORDS_MISSING)
        case Grade.UNEXPLAINED if state.doubted:
            return replace(state, trusted=False), not_judged(verdict.assignor, MAYBE_MISSING)
        case Grade.MATCH | Grade.EXPLAINABLE | Grade.UNEXPLAINED | Grade.NOT_JUDGED:
            return state, verdict
        case _:
            assert_never(verdict.grade)


def reassured(
    kind: Kind, state: TargetsState, tally: Tally, operation: Operation, lacking: Callable[[], Collection[object]]
) -> TargetsState:
    """The state, with what is sure of it again. Where a target was recomputed since records may be missing, all that it
    rests on is known; what a member holds is, once it has reached that target or has written. Everybody who is known,
    and holds a target that breaks no law, is in order. That nobody else is there, only targets tell that leave nothing
    out (`lacking`)."""
    state = replace(state, doubted=state.doubted or holed(operation.rows))
    if state.trusted and state.unsettled_ms is None:
        return state
    everybody = bool(tally.facts) and not tally.unknown and tally.converged
    if everybody and _known_whole(kind, tally.group) and not state_findings(tally) and not lacking():
        return replace(state, trusted=True, unsettled_ms=state.unsettled_ms if state.doubted else None)
    if state.trusted and not state.doubted and not _unheard_of(state, tally) and not state_findings(tally):
        return replace(state, unsettled_ms=None)
    return state


def _known_whole(kind: Kind, group: TargetGroup) -> bool:
    """Whether nothing is missing that some protocol alone has: the topics of regular expressions, and which partitions
    may be assigned where members share, which records say since 4.1."""
    unresolved = any(group.unresolved(one) for one in group.members.values())
    return not unresolved and (kind.exclusive or group.metadata_hash is None or group.states is not None)


def notices(
    kind: Kind, view: GroupView, state: TargetsState, tally: Tally, went_back: Sequence[Breach], at_ms: int
) -> Iterator[Notice]:
    """What the laws find after a closed moment. While records are missing they are silent, and end nothing."""
    moment = view.moment(at_ms)
    if not state.trusted or (state.unsettled_ms is not None and state.doubted):
        if went_back:
            yield Notice(moment=moment, found=found(kind, view, state, went_back))
        return
    if state.unsettled_ms is not None:
        sure = tally.without(_unheard_of(state, tally))
        yield Notice(moment=moment, found=found(kind, view, state, state_findings(sure)))
        return
    breaches = [*state_findings(tally), *went_back, *overdue(kind, view, state, tally, at_ms)]
    yield Notice(moment=moment, found=found(kind, view, state, breaches), evaluated=evaluated(kind, state.view))


def found(kind: Kind, view: GroupView, state: TargetsState, breaches: Iterable[Breach]) -> tuple[Finding, ...]:
    """What is told of these, by the last record of the last closed moment."""
    here = Evidence(source=None if state.last is None else state.last.source)
    return findings_of(kind, view.group, state.view, breaches, naming(view.knowledge.topics, state.view), here)


def _unheard_of(state: TargetsState, tally: Tally) -> frozenset[str]:
    """Of the members that have not reached the newest target, those that have not written since records may be missing:
    one of these may have been theirs."""
    since_ms, members = state.unsettled_ms, tally.group.members
    if since_ms is None:
        return frozenset()
    wrote = {name: members[name].wrote_ms for name in tally.late}
    return frozenset(name for name, at_ms in wrote.items() if at_ms is None or at_ms < since_ms)
