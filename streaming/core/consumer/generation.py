"""One generation of a consumer group, or of any other classic group: verdict, causes, the few rules it has."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from schemas.consumer_protocol import ConsumerAssignment
from streaming.core.connect.rules import headers, sinks
from streaming.core.connect.rules.catalogue_status import RUNNING_TWICE
from streaming.core.consumer.catalogue import CONSUMER_UNDECODABLE
from streaming.core.consumer.verdict import judge
from streaming.core.fold import departures
from streaming.core.fold.group_life import codes, moment_of
from streaming.core.fold.published import body_of, diff_of, published_as, source_of
from streaming.core.fold.state import GroupState, LastJoin
from streaming.core.incidents.transitions import settle
from streaming.core.model.records import Row
from streaming.core.model.results import Cause, Certainty, Evidence, Incident, Result, Subject
from streaming.core.model.settings import ClusterSettings

CONSUMER = "consumer"


def judged(settings: ClusterSettings, group: str, state: GroupState, row: Row) -> tuple[GroupState, list[Result]]:
    """The state after this record, what is published of it, and the incidents it moves."""
    body = body_of(row)
    moment = moment_of(settings, group, state, row)
    if not body.members:
        incidents, ended = settle(state.incidents, (), moment, codes(state))
        return replace(state, incidents=incidents, holds={}, last=None, last_join=LastJoin()), list(ended)
    repeated, first = body.generation == state.generation, state.generation is None
    verdict = judge(settings, body, row.timestamp_ms, repeated=repeated, first=first)
    holds = {
        member.instance_id or member.member_id: tuple(
            f"{topic}-{number}" for topic, number in member.assignment.partitions
        )
        for member in body.members
        if isinstance(member.assignment, ConsumerAssignment)
    }
    diff, cause = diff_of(state.holds, holds), _causes(state, holds, row)
    published = published_as(settings, group, state, row, verdict=verdict, diff=diff, cause=cause)
    incidents = dict(state.incidents)
    transitions: list[Incident] = []
    if body.protocol_type == CONSUMER:
        here = Evidence(source=source_of(row))
        unreadable = headers.unreadable_blobs(body, here, CONSUMER_UNDECODABLE)
        found = (*unreadable, *sinks.consumed_twice(group, body, here))
        evaluated = frozenset({CONSUMER_UNDECODABLE.code, RUNNING_TWICE.code})
        incidents, transitions = settle(state.incidents, found, moment, evaluated)
    joined = LastJoin(body.state_ms, departures.shortest_ms(body.members))
    return replace(state, incidents=incidents, holds=holds, last_join=joined), [published, *transitions]


def _causes(state: GroupState, holds: Mapping[str, object], row: Row) -> tuple[Cause, ...]:
    evidence = (Evidence(source=source_of(row)),)
    joined, gone = sorted(set(holds) - set(state.holds)), sorted(set(state.holds) - set(holds))
    found = []
    if joined:
        found.append(Cause(kind="member_joined", subjects=_members(joined), evidence=evidence))
    if gone:
        found += _gone(state, gone, body_of(row).state_ms, evidence)
    return tuple(found) or (Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=evidence),)


def _gone(state: GroupState, gone: Sequence[str], now_ms: int, evidence: tuple[Evidence, ...]) -> Iterator[Cause]:
    """Members of the record before that are missing now. Static ones go by their instance id, which is no member id."""
    last = state.last_join
    asked = departures.left(last.ended_ms, now_ms, last.shortest_ms)
    if asked is not None:
        why = Evidence(text=departures.too_soon(last.ended_ms, now_ms, last.shortest_ms))
        yield Cause(kind="member_left", subjects=_members(gone), certainty=asked, evidence=(*evidence, why))
        return
    for text, members in (
        (departures.CANNOT_TELL, [one for one in gone if one in state.member_ids]),
        (departures.NO_LEAVE_REQUEST, [one for one in gone if one not in state.member_ids]),
    ):
        if members:
            why = Evidence(text=text)
            yield Cause(kind="member_gone", subjects=_members(members), evidence=(*evidence, why))


def _members(names: Iterable[str]) -> tuple[Subject, ...]:
    return tuple(Subject("member", one) for one in names)
