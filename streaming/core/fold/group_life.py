"""The lives of a group id: it is deleted, it begins anew, and one record may be written twice."""

from dataclasses import replace

from streaming.core.connect.observed import observe
from streaming.core.connect.rules.memory import RuleMemory
from streaming.core.connect.verdict import not_judged
from streaming.core.fold.published import body_of, published_as, source_of
from streaming.core.fold.state import GroupState
from streaming.core.incidents.monitor_error import MONITOR_ERROR
from streaming.core.incidents.transitions import Moment
from streaming.core.model.records import GroupGeneration, Row
from streaming.core.model.results import Cause, Certainty, Evidence, Generation
from streaming.core.model.settings import ClusterSettings

WRITTEN_AGAIN = "the same generation was written again"
WRITTEN_LATE = "an earlier generation was written again"
MAX_WRITTEN = 64
"""Records of a group that are known again when they are written once more, the newest."""


def lived_on(state: GroupState, body: GroupGeneration) -> GroupState:
    """A tombstone, a lower number, or the same number with other members starts a new life of the group id.

    What leaders remember outlives the group: it disappears ten minutes after its last member, processes stay.
    """
    if state.generation is None:
        return replace(state, seen_from_start=state.seen_from_start or body.generation <= 1)
    ids = frozenset(member.member_id for member in body.members)
    reused = body.generation == state.generation and bool(ids) and not (ids & state.member_ids)
    if not state.deleted and body.generation >= state.generation and not reused:
        return state
    return replace(
        state,
        incarnation=state.incarnation + 1,
        generation=None,
        seen_from_start=state.deleted or body.generation <= 1,
        last=None,
        unassigned_since_ms={},
        holds={},
        declared={},
        rule_memory=RuleMemory(),
    )


def written_again(settings: ClusterSettings, group: str, state: GroupState, row: Row) -> Generation | None:
    """The round before as it is published once more, if this record is only a copy of it: the leader's request was
    repeated before the first record was replicated. It is no round, and moves nothing."""
    last, body = state.last, body_of(row)
    if last is None or not body.members or body.generation != state.generation:
        return None
    observed = observe(body, source_of(row), row.timestamp_ms, last)
    copy = replace(last, source=observed.source, at_ms=observed.at_ms, unseen=observed.unseen, blind=observed.blind)
    if copy != observed:
        return None
    verdict = not_judged(WRITTEN_AGAIN).verdict
    cause = Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=(Evidence(source=last.source),))
    published = published_as(settings, group, state, row, verdict=verdict, cause=(cause,))
    return replace(published, delay_ms=observed.delay_ms)


def written_late(settings: ClusterSettings, group: str, state: GroupState, row: Row) -> Generation | None:
    """An earlier record as it is published once more, if this one is a copy of it: its generation ended at the same
    millisecond. It is no round and no new life of the group, and moves nothing."""
    body = body_of(row)
    if not body.members or body.generation == state.generation or _mark(body) not in state.written:
        return None
    verdict = not_judged(WRITTEN_LATE).verdict
    cause = Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=(Evidence(source=source_of(row)),))
    return published_as(settings, group, state, row, verdict=verdict, cause=(cause,))


def written(state: GroupState, body: GroupGeneration) -> tuple[tuple[int, int], ...]:
    """The newest records with this one."""
    if body.state_ms <= 0 or not body.members or _mark(body) in state.written:
        return state.written
    return (*state.written, _mark(body))[-MAX_WRITTEN:]


def _mark(body: GroupGeneration) -> tuple[int, int]:
    return body.generation, body.state_ms


def skipped(state: GroupState, body: GroupGeneration) -> int:
    """Generations of this life that left no record before this one; below zero if this one was there before.

    A life of the group begins with 1, whether its record was written or not.
    """
    if state.generation is not None:
        return body.generation - state.generation - 1
    return max(body.generation - 1, 0) if state.seen_from_start or state.processes else 0


def moment_of(settings: ClusterSettings, group: str, state: GroupState, row: Row) -> Moment:
    """When and where incidents of this record begin and end."""
    return Moment(
        cluster=settings.name,
        group=group,
        incarnation=state.incarnation,
        generation=body_of(row).generation,
        at_ms=row.timestamp_ms,
        historic=state.historic,
    )


def codes(state: GroupState) -> frozenset[str]:
    """Rules with an open incident that is about the group, not about the monitor's fold of it."""
    return frozenset(incident.code for incident in state.incidents.values()) - {MONITOR_ERROR.code}
