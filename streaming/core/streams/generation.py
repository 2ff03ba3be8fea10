"""One generation of a Streams group: verdict, causes, detail, what its rules find."""

from collections.abc import Iterator
from dataclasses import replace

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.streams_tasks import PROTOCOL
from rebalance_monitor.streaming.core.fold import departures, static_members
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import (
    MemberShares,
    body_of,
    diff_of,
    published_as,
    source_of,
)
from rebalance_monitor.streaming.core.fold.state import LastRecord
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.monitor_error import MONITOR_ERROR
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import (
    Certainty,
    ConsumerShare,
    Evidence,
    Grade,
    Subject,
    Verdict,
)
from rebalance_monitor.streaming.core.streams.catalogue import RULES, STREAMS_CONTESTED, STREAMS_UNDECODABLE
from rebalance_monitor.streaming.core.streams.causes import asked_by, causes_of
from rebalance_monitor.streaming.core.streams.members import UnreadableThread, thread_of, threads_of
from rebalance_monitor.streaming.core.streams.observed import detail_of, holds_of, observed
from rebalance_monitor.streaming.core.streams.state import StreamsState
from rebalance_monitor.streaming.core.streams.topology import learnt

_OWN = frozenset(rule.code for rule in RULES) | {MONITOR_ERROR.code}


def shares_of(member: MemberRow) -> MemberShares:
    """The partitions that a thread is given, and those it owned when it joined."""
    wanted, given = member.subscription, member.assignment
    return MemberShares(
        assigned=ConsumerShare(given.partitions) if isinstance(given, ConsumerAssignment) else None,
        owned=ConsumerShare(wanted.owned) if isinstance(wanted, ConsumerSubscription) else None,
    )


def judged(view: GroupView, state: StreamsState, row: Row) -> tuple[StreamsState, list[Output]]:
    """The state after this record, what is published of it, and what it says of incidents."""
    body, source = body_of(row), source_of(row)
    moment = view.moment(row.timestamp_ms, generation=body.generation)
    last = LastRecord(source, row.timestamp_ms)
    if not body.members:
        over = frozenset(one.code for one in view.open().values()) - {MONITOR_ERROR.code}
        return StreamsState(last=last, seen=state.seen), [Notice(moment=moment, evaluated=over)]
    here = Evidence(source=source)
    sightings = static_members.seen(state.sightings, body, row.timestamp_ms)
    contested = tuple(static_members.contested(STREAMS_CONTESTED, sightings, row.timestamp_ms, here))
    # A release that took Streams groups for consumers left incidents of rules that nobody looks for any more.
    foreign = tuple(key for key, one in view.open().items() if one.code not in _OWN)
    outputs: list[Output] = [
        Notice(moment=moment, found=tuple(_unreadable(body, here)), evaluated=frozenset({STREAMS_UNDECODABLE.code})),
        Notice(moment=moment, found=contested, evaluated=frozenset({STREAMS_CONTESTED.code}), over=foreign),
    ]
    threads = threads_of(body)
    if isinstance(threads, UnreadableThread):
        text = f"the {threads.what} of {threads.member_id} cannot be decoded: {threads.reason}"
        verdict = _not_judged(ReasonKind.MEMBER_UNREADABLE, text)
        published = published_as(view.settings, view.group, view.envelope, row, shares=shares_of, verdict=verdict)
        return replace(state, last=last, sightings=sightings), [published, *outputs]
    seen = learnt(state.seen, threads)
    one = observed(view.group, body.leader, threads, seen)
    holds = holds_of(one)
    verdict = _not_judged(ReasonKind.ASSIGNOR_UNKNOWN, f"assignor {body.protocol} is not recomputed by this version")
    published = published_as(
        view.settings,
        view.group,
        view.envelope,
        row,
        shares=shares_of,
        verdict=verdict,
        diff=diff_of(state.holds, holds),
        cause=causes_of(view, state, one, static_members.replaced(state.sightings, sightings), row),
    )
    after = StreamsState(
        last=last,
        holds=holds,
        seen=seen,
        asked=asked_by(one, body.state_ms, departures.shortest_ms(body.members)),
        sightings=sightings,
    )
    return after, [replace(published, detail=detail_of(one, None)), *outputs]


def _not_judged(kind: ReasonKind, text: str) -> Verdict:
    return Verdict(grade=Grade.NOT_JUDGED, assignor=PROTOCOL, reason=Reason(kind, text))


def _unreadable(body: GroupGeneration, here: Evidence) -> Iterator[Finding]:
    """Members that cannot be read, the Streams payloads in their bytes included."""
    for member in body.members:
        if not member.subscription_bytes and not member.assignment_bytes:
            continue
        found = thread_of(member)
        if isinstance(found, UnreadableThread):
            yield Finding(
                rule=STREAMS_UNDECODABLE,
                severity=STREAMS_UNDECODABLE.severity,
                certainty=Certainty.CERTAIN,
                subjects=(Subject("member", found.member_id),),
                message=f"the {found.what} of {found.member_id} cannot be decoded: {found.reason}",
                evidence=(here,),
            )
