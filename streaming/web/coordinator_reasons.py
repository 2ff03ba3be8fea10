"""Generations of the database meet what coordinators said of them: the only place where they do."""

from collections.abc import Callable, Sequence
from typing import Any, LiteralString

from rebalance_monitor.streaming.core.coordinator_log.causes import SaidOf, numbered, said_of, with_reasons
from rebalance_monitor.streaming.core.coordinator_log.line import Began, CoordinatorReason
from .rows import GenerationRow

RunStatement = Callable[[LiteralString, Sequence[Any]], list[tuple[Any, ...]]]
"""Its rows, for a statement and its values."""

# Most have none: the other statement is planned over all days, so it is left to those that have some.
_WITH_LINES: LiteralString = """
select place from unnest(%s::text[], %s::text[], %s::int4[])
    with ordinality as d (cluster, "group", old_generation, place)
where exists (
    select from rebalance_monitor.coordinator_reasons r
    where r.cluster = d.cluster and r."group" = d."group" and r.old_generation = d.old_generation
)
"""
# `b` is the record before, of the same life of the group id: whoever was in it is nobody of another life. Where it has
# the same number, this one was written again. `a` is the record itself. A group id of many lives has as many lines of
# one number: only those are joined that name one of the members; of one life 20 at most, such lines first.
_REASONS: LiteralString = """
with d as materialized (
    select * from unnest(%s::text[], %s::text[], %s::int4[], %s::int4[], %s::int8[])
        with ordinality as d (cluster, "group", old_generation, incarnation, "offset", place)
), lives as materialized (
    select k.cluster, k."group", (
        select min(g.incarnation) = max(g.incarnation) from rebalance_monitor.stored_generations g
        where g.cluster = k.cluster and g."group" = k."group"
    ) is not false as one_life
    from (select distinct cluster, "group" from d) k
), told as materialized (
    select d.*, one_life, coalesce(b.members, '[]') as before, coalesce(a.members, '[]') as after
    from d
    join lives using (cluster, "group")
    left join lateral (
        select g.generation, (
            select jsonb_path_query_array(c.content, '$.members[*].member_id')
            from rebalance_monitor.stored_contents c where c.hash = g.content and c.day = g.day
        ) as members
        from rebalance_monitor.stored_generations g
        where g.cluster = d.cluster and g."group" = d."group" and g.incarnation = d.incarnation
            and g."offset" < d."offset" order by g."offset" desc limit 1
    ) b on true
    left join lateral (
        select jsonb_path_query_array(jsonb_agg(c.content), '$[*].members[*].member_id') as members
        from rebalance_monitor.stored_generations g
        join rebalance_monitor.stored_contents c on c.hash = g.content and c.day = g.day
        where g.cluster = d.cluster and g."group" = d."group" and g.incarnation = d.incarnation
            and g."offset" = d."offset"
    ) a on true
    where b.generation is distinct from d.old_generation + 1
)
select place, r.kind, r.text, r.member_id, r.instance_id, r.client_reason, r.offsets_partition, was_in, one_life
from told
cross join lateral (
    select *, coalesce(before ? member_id, false) as was_in from rebalance_monitor.coordinator_reasons s
    where s.cluster = told.cluster and s."group" = told."group" and s.old_generation = told.old_generation
        and (one_life or before ? member_id or after ? member_id)
    order by coalesce(before ? member_id or after ? member_id, false) desc, read_day desc, text limit 20
) r
order by place, r.text
"""


def with_said(rows: list[GenerationRow], run: RunStatement) -> list[GenerationRow]:
    """The rows, each with what the coordinator said of the rebalance that led to it."""
    known = [(place, row) for place, row in enumerate(rows) if numbered(row.document)]
    known = [known[number - 1] for (number,) in run(_WITH_LINES, _ended(known))] if known else []
    if not known:
        return rows
    lives = [row.document["incarnation"] for _, row in known]
    offsets = [row.document["source"]["offset"] for _, row in known]
    said: dict[int, list[SaidOf]] = {}
    for number, *named, in_one_before, one_life in run(_REASONS, [*_ended(known), lives, offsets]):
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


def _ended(known: list[tuple[int, GenerationRow]]) -> list[list[Any]]:
    """The generations that these rebalances ended, by column."""
    return [
        [row.cluster for _, row in known],
        [row.group for _, row in known],
        [row.document["generation"] - 1 for _, row in known],
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
