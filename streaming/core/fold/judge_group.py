"""One record of a group becomes a published generation, and moves the group's incidents.

record   which life of the group id it belongs to; or it is a copy of the one before       group_life
Connect  what it shows, whether it can be judged, the round run again, what follows        connect.generation
others   the assignor run again, if we know it                                             consumer.generation
"""

from dataclasses import replace

from streaming.core.connect import evidence
from streaming.core.connect import generation as connect_generation
from streaming.core.consumer import generation as consumer_generation
from streaming.core.fold import group_life, timers
from streaming.core.fold.published import body_of, published_as
from streaming.core.fold.state import GroupState
from streaming.core.incidents import damping
from streaming.core.model.records import Row
from streaming.core.model.results import Generation, Grade, Result, Verdict
from streaming.core.model.settings import ClusterSettings

CONNECT = "connect"


def generation(
    settings: ClusterSettings, group: str, state: GroupState, row: Row, *, missing: str | None, historic: bool
) -> tuple[GroupState, list[Result]]:
    """Judge one record whose turn has come; `missing` is the reason why its evidence never came."""
    body = body_of(row)
    late = group_life.written_late(settings, group, state, row)
    if late is not None:
        return state, [replace(late, historic=historic)]
    state = replace(group_life.lived_on(state, body), historic=historic, written=group_life.written(state, body))
    results: list[Result] = []
    if body.members:
        state, found = timers.overdue_before(settings, group, state, row, body.generation, historic=historic)
        results.extend(found)
    again = group_life.written_again(settings, group, state, row)
    if again is not None:
        judged: list[Result] = [again]
    elif body.protocol_type == CONNECT:
        state, judged = connect_generation.judged(settings, group, state, row, missing)
    else:
        state, judged = consumer_generation.judged(settings, group, state, row)
    state, judged = damping.follow(settings, state, judged, row.timestamp_ms)
    results.extend(judged)
    ids = frozenset(member.member_id for member in body.members)
    return replace(state, generation=body.generation, member_ids=ids, deleted=False), results


def pending(
    settings: ClusterSettings, group: str, state: GroupState, row: Row, until_ms: int, *, historic: bool
) -> Generation:
    """The record as published while its evidence is on the way."""
    missing = evidence.missing(settings, group, state, row) or "an earlier generation of the group"
    verdict = Verdict(grade=Grade.NOT_JUDGED, reason=f"pending: {missing}", pending_until_ms=until_ms)
    return replace(published_as(settings, group, state, row, verdict=verdict), historic=historic)
