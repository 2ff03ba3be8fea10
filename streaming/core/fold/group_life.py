"""The lives of a group id: it is deleted, it begins anew, and one record may be written twice."""

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Generation, Grade, Verdict
from .lifecycle import GroupView
from .published import SharesOf, body_of, published_as, source_of
from .state import Envelope

WRITTEN_LATE = Reason(ReasonKind.WRITTEN_AGAIN, "an earlier generation was written again")
MAX_WRITTEN = 64
"""Records of a group that are known again when they are written once more, the newest."""


def with_incarnation(state: Envelope, body: GroupGeneration) -> Envelope:
    """A tombstone, a lower number, or the same number with other members starts a new life of the group id, unless a
    static member may have been replaced.

    What processes remember outlives the group: it disappears ten minutes after its last member.
    """
    if state.generation is None:
        return replace(state, seen_from_start=state.seen_from_start or _first(body))
    ids = frozenset(member.member_id for member in body.members)
    # A static member that is replaced has another id in the same generation, and may be the only one.
    static = any(member.instance_id is not None for member in body.members)
    reused = body.generation == state.generation and bool(ids) and not (ids & state.member_ids) and not static
    if not state.deleted and body.generation >= state.generation and not reused:
        return state
    return replace(
        state,
        incarnation=state.incarnation + 1,
        generation=None,
        seen_from_start=state.deleted or _first(body),
    )


def _first(body: GroupGeneration) -> bool:
    """Whether nothing of this life of the group id can have been before this record."""
    return body.generation <= 1 and body.sampled is None


def begun_anew(state: Envelope) -> Envelope:
    """A record of another kind than a classic group's, behind the end of what the group id was before."""
    return replace(state, incarnation=state.incarnation + 1, generation=None, deleted=False, seen_from_start=True)


def counted_on(state: Envelope, epoch: int) -> Envelope:
    """A target of this epoch: a lower number than before starts a new life of the group id."""
    fell = state.generation is not None and epoch < state.generation
    return replace(state, generation=epoch, incarnation=state.incarnation + fell)


def written_late(view: GroupView, row: Row, shares: SharesOf) -> Generation | None:
    """An earlier record as it is published once more, if this one is a copy of it: its generation ended at the same
    millisecond. It is no round and no new life of the group, and moves nothing."""
    body = body_of(row)
    if not known_again(view.envelope, body):
        return None
    verdict = Verdict(grade=Grade.NOT_JUDGED, reason=WRITTEN_LATE)
    cause = Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=(Evidence(source=source_of(row)),))
    return published_as(view, row, shares=shares, verdict=verdict, cause=(cause,), repeats=True)


def known_again(state: Envelope, body: GroupGeneration) -> bool:
    """Whether this is a copy of an earlier record of the group."""
    return bool(body.members) and body.generation != state.generation and _mark(body) in state.written


def written(state: Envelope, body: GroupGeneration) -> tuple[tuple[int, int], ...]:
    if body.state_ms <= 0 or not body.members or _mark(body) in state.written:
        return state.written
    return (*state.written, _mark(body))[-MAX_WRITTEN:]


def _mark(body: GroupGeneration) -> tuple[int, int]:
    return body.generation, body.state_ms
