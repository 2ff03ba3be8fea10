"""One generation of a consumer group, or of any other classic group: verdict, causes, the few rules it has."""

from collections.abc import Mapping
from dataclasses import replace

from schemas.consumer_protocol import ConsumerAssignment
from streaming.core import judge_consumer
from streaming.core.group_life import codes, moment_of
from streaming.core.incidents import settle
from streaming.core.published import body_of, diff_of, published_as, source_of
from streaming.core.records import Row
from streaming.core.results import Cause, Certainty, Evidence, Incident, Result, Subject
from streaming.core.rules import headers, sinks
from streaming.core.rules.catalogue import CONSUMER_UNDECODABLE
from streaming.core.rules.catalogue_status import RUNNING_TWICE
from streaming.core.settings import ClusterSettings
from streaming.core.state import GroupState

CONSUMER = "consumer"


def judged(settings: ClusterSettings, group: str, state: GroupState, row: Row) -> tuple[GroupState, list[Result]]:
    """The state after this record, what is published of it, and the incidents it moves."""
    body = body_of(row)
    moment = moment_of(settings, group, state, row)
    if not body.members:
        incidents, ended = settle(state.incidents, (), moment, codes(state))
        return replace(state, incidents=incidents, holds={}, last=None), list(ended)
    repeated, first = body.generation == state.generation, state.generation is None
    verdict = judge_consumer.judge(settings, body, row.timestamp_ms, repeated=repeated, first=first)
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
    return replace(state, incidents=incidents, holds=holds), [published, *transitions]


def _causes(state: GroupState, holds: Mapping[str, object], row: Row) -> tuple[Cause, ...]:
    evidence = (Evidence(source=source_of(row)),)
    changes = (
        ("member_joined", sorted(set(holds) - set(state.holds))),
        ("member_left", sorted(set(state.holds) - set(holds))),
    )
    found = tuple(
        Cause(kind=kind, subjects=tuple(Subject("member", one) for one in members), evidence=evidence)
        for kind, members in changes
        if members
    )
    return found or (Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=evidence),)
