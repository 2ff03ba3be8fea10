"""From a judged record of a Connect group to the step that the timeline takes."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from streaming.core.connect.observed import Observed
from streaming.core.connect.statuses.round_change import Step, step_of
from streaming.core.fold.clocks import NO_LEAP, Leap
from streaming.core.fold.published import body_of, source_of
from streaming.core.fold.state import GroupState
from streaming.core.fold.timeouts import Timeouts, timeouts_of
from streaming.core.model.records import GroupDeleted, Row
from streaming.core.model.results import Generation, Result
from streaming.core.model.settings import ClusterSettings

CONNECT = "connect"


def steps_of(
    settings: ClusterSettings,
    group: str,
    before: GroupState,
    after: GroupState,
    row: Row,
    results: Iterable[Result],
    leap: Leap = NO_LEAP,
) -> Iterator[Step]:
    """The step of this record, for a Connect group; an ending where the group emptied or was deleted."""
    if isinstance(row.body, GroupDeleted):
        yield _ending(before, row)
        return
    body = body_of(row)
    now = after.last
    if body.protocol_type == CONNECT and now is not None and now.source == source_of(row):
        step = _step(before, after, timeouts_of(settings, group, body), now, results)
        yield replace(step, jump_ms=leap.back_ms, unsure_ms=leap.unsure_ms)


def _step(before: GroupState, after: GroupState, timeouts: Timeouts, now: Observed, results: Iterable[Result]) -> Step:
    published = next((one for one in results if isinstance(one, Generation) and one.source == now.source), None)
    same_life = before.incarnation == after.incarnation and before.generation is not None
    return step_of(
        now,
        before.last if before.incarnation == after.incarnation else None,
        published,
        unseen=same_life and now.generation > (before.generation or 0) + 1,
        incarnation=after.incarnation,
        session_ms=timeouts.session_ms,
        patience_ms=timeouts.both_ms,
        historic=after.historic,
    )


def _ending(before: GroupState, row: Row) -> Step:
    return Step(
        source=source_of(row),
        incarnation=before.incarnation,
        generation=before.generation or 0,
        at_ms=row.timestamp_ms,
        state_ms=row.timestamp_ms,
        over=True,
        historic=before.historic,
    )
