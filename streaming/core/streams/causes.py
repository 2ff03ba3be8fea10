"""Why a Streams group rebalanced: members that came and went, hand-overs, probing, upgrades, new partitions.

A Streams group also rebalances without anybody coming or going (streams.md 2.7, 3.4):

    follow-up           a thread was told to join again at once, or gave partitions up for another one
    probing             the deadline of the record before has come: are the warm-ups caught up?
    version probing     all members understand a newer version than the one they used
"""

from collections.abc import Iterable, Iterator, Sequence

from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.fold import departures
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import body_of, source_of
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Subject
from .members import StreamsThread
from .observed import ObservedRecord
from .state import Asked, StreamsState


def asked_by(record: ObservedRecord, ended_ms: int, shortest_ms: int) -> Asked:
    """What this record asks of its members."""
    times = [thread.next_rebalance_ms for thread in record.threads if thread.next_rebalance_ms is not None]
    return Asked(
        ended_ms=ended_ms,
        shortest_ms=shortest_ms,
        at_once=0 in times,
        revoked=any(set(thread.wanted.owned) - set(thread.given.partitions) for thread in record.threads),
        deadline_ms=min((time for time in times if time > 0), default=None),
        versions={thread.name: thread.said.version for thread in record.threads},
    )


def causes_of(
    view: GroupView, before: StreamsState, record: ObservedRecord, replaced: Sequence[str], row: Row
) -> tuple[Cause, ...]:
    """Everything that led to this record, as far as records tell."""
    evidence = (Evidence(source=source_of(row)),)
    found = [*_membership(view, before, record, replaced, row, evidence), *_by_itself(before, record, row, evidence)]
    return tuple(found) or (Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=evidence),)


def _membership(
    view: GroupView,
    before: StreamsState,
    record: ObservedRecord,
    replaced: Sequence[str],
    row: Row,
    evidence: tuple[Evidence, ...],
) -> Iterator[Cause]:
    now = {thread.name for thread in record.threads}
    joined, gone = sorted(now - set(before.holds)), sorted(set(before.holds) - now)
    if replaced:
        yield Cause(kind="member_replaced", subjects=_members(replaced), evidence=evidence)
    if joined:
        yield Cause(kind="member_joined", subjects=_members(joined), evidence=evidence)
    if not gone:
        return
    ended_ms, shortest_ms, now_ms = before.asked.ended_ms, before.asked.shortest_ms, body_of(row).state_ms
    asked = departures.left(ended_ms, now_ms, shortest_ms)
    if asked is not None:
        why = Evidence(text=departures.too_soon(ended_ms, now_ms, shortest_ms))
        yield Cause(kind="member_left", subjects=_members(gone), certainty=asked, evidence=(*evidence, why))
        return
    for text, members in (
        (departures.CANNOT_TELL, [name for name in gone if name in view.envelope.member_ids]),
        (departures.NO_LEAVE_REQUEST, [name for name in gone if name not in view.envelope.member_ids]),
    ):
        if members:
            yield Cause(kind="member_gone", subjects=_members(members), evidence=(*evidence, Evidence(text=text)))


def _by_itself(
    before: StreamsState, record: ObservedRecord, row: Row, evidence: tuple[Evidence, ...]
) -> Iterator[Cause]:
    asked = before.asked
    if not before.holds:
        return
    if asked.at_once or asked.revoked:
        told = "threads were told to join again at once" if asked.at_once else "threads gave partitions up"
        why = Evidence(text=f"{told} by the generation before")
        yield Cause(kind="revocation_follow_up", certainty=Certainty.LIKELY, evidence=(*evidence, why))
    elif asked.deadline_ms is not None and row.timestamp_ms + SKEW_MS >= asked.deadline_ms:
        why = Evidence(text=f"the generation before set a probing rebalance for {asked.deadline_ms} ms")
        yield Cause(kind="probing_rebalance", certainty=Certainty.LIKELY, evidence=(*evidence, why))
    risen = sorted(_risen(asked, record.threads))
    if risen:
        yield Cause(kind="version_probing", subjects=_members(risen), evidence=evidence)
    other = sorted(
        topic
        for part in record.seen
        for topic, count in part.topics.items()
        for earlier in before.seen
        if count != earlier.topics.get(topic, count)
    )
    if other:
        topics = tuple(Subject("topic", topic) for topic in other)
        yield Cause(kind="topic_changed", subjects=topics, certainty=Certainty.LIKELY, evidence=evidence)


def _risen(asked: Asked, threads: Iterable[StreamsThread]) -> Iterator[str]:
    for thread in threads:
        if thread.said.version > asked.versions.get(thread.name, thread.said.version):
            yield thread.name


def _members(names: Iterable[str]) -> tuple[Subject, ...]:
    return tuple(Subject("member", one) for one in names)
