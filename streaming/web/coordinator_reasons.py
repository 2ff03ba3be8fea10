"""Generations of the database meet what coordinators said of them: the only place where they do."""

from collections.abc import Callable, Sequence
from typing import Any, LiteralString

from rebalance_monitor.streaming.core.coordinator_log.causes import SaidOf, numbered, said_of, with_reasons
from rebalance_monitor.streaming.core.coordinator_log.line import Began, CoordinatorReason
from .rows import GenerationRow

RunStatement = Callable[[LiteralString, Sequence[Any]], list[tuple[Any, ...]]]
"""Its rows, for a statement and its values."""

# `b` is the record before, of the same life of the group id: whoever was in it is nobody of another life. Where it has
# the same number, this one was written again.
_REASONS: LiteralString = """
select d.place, r.kind, r.text, r.member_id, r.instance_id, r.client_reason, r.offsets_partition, exists (
    select from rebalance_monitor.stored_contents c where c.hash = b.content and c.day = b.day
        and c.content -> 'members' @> jsonb_build_array(jsonb_build_object('member_id', r.member_id))
), not exists (
    select from rebalance_monitor.stored_generations g
    where g.cluster = d.cluster and g."group" = d."group" and g.incarnation <> d.incarnation
)
from unnest(%s::text[], %s::text[], %s::int4[], %s::int8[], %s::int4[])
    with ordinality as d (cluster, "group", incarnation, "offset", old_generation, place)
join rebalance_monitor.coordinator_reasons r using (cluster, "group", old_generation)
left join lateral (
    select g.generation, g.content, g.day from rebalance_monitor.stored_generations g
    where g.cluster = d.cluster and g."group" = d."group" and g.incarnation = d.incarnation
        and g."offset" < d."offset" order by g."offset" desc limit 1
) b on true
where b.generation is distinct from d.old_generation + 1
order by d.place, r.text
"""


def with_said(rows: list[GenerationRow], run: RunStatement) -> list[GenerationRow]:
    """The rows, each with what the coordinator said of the rebalance that led to it."""
    known = [(place, row) for place, row in enumerate(rows) if numbered(row.document)]
    if not known:
        return rows
    columns = [
        [row.cluster for _, row in known],
        [row.group for _, row in known],
        [row.document["incarnation"] for _, row in known],
        [row.document["source"]["offset"] for _, row in known],
        [row.document["generation"] - 1 for _, row in known],
    ]
    said: dict[int, list[SaidOf]] = {}
    for number, *named, in_one_before, one_life in run(_REASONS, columns):
        place, row = known[number - 1]
        reason = _reason(row, *named)
        after = any(one["member_id"] == reason.member_id for one in row.document["members"])
        found = said_of(reason, before=in_one_before, after=after)
        if found is not None and (found.seen or one_life):
            said.setdefault(place, []).append(found)
    return [
        row._replace(document=with_reasons(row.document, said[place])) if place in said else row
        for place, row in enumerate(rows)
    ]


def _reason(
    row: GenerationRow,
    kind: str,
    text: str,
    member_id: str | None,
    instance_id: str | None,
    client_reason: str | None,
    partition: int | None,
) -> CoordinatorReason:
    return CoordinatorReason(
        group=row.group,
        old_generation=row.document["generation"] - 1,
        partition=partition,
        kind=Began(kind),
        text=text,
        member_id=member_id,
        instance_id=instance_id,
        client_reason=client_reason,
    )
