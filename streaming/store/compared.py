"""Verdicts of the live job beside those of a shadow: what differs, and what only one of them has, where both have been.

PostgreSQL joins, sorts and keeps what does not fit its memory on disk; only differences come here, a few at a time.

What both have is compared. What only one has is a difference in the common range:

    generations   from where the shadow began in the partition and after the days that the other one has cut, up to the
                  last generation of the group that the other one has judged. Where it has judged none of the group, up
                  to where it has read, unless something of the group still waits there
    findings      opened after the shadow began, and up to the last generation of the cluster that both have judged;
                  `patience_ms` less on both sides: clocks differ, and a timer may not have come yet

What brokers were asked for has no place in a topic: clusters that are polled are not compared, but named.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from .database import Connection
from .schema import LIVE, as_written
from .seeding import BEGAN

AT_ONCE = 500
"""Differences that are fetched together."""
POLLED = "(polled)"


@dataclass(frozen=True, slots=True)
class Divergence:
    """`found`: differs, only_live or only_shadow. `kind`: generation, incident or incident_part. `place` names it; what
    each one says of it is None where that one does not have it."""

    kind: str
    found: str
    cluster: str
    group: str
    place: Mapping[str, Any]
    live: Mapping[str, Any] | None
    shadow: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Compared:
    """How much both have, and clusters that are not compared."""

    generations: int
    incidents: int
    polled: tuple[str, ...]


class NoSuchShadow(Exception):
    """No tables are in the schema, or none are in the live job's."""


def _statement(text: str, schema: str, **more: sql.Composable) -> sql.Composed:
    """A statement; `began`: where the shadow began, empty in a schema that did not begin as one."""
    return sql.SQL(text).format(live=sql.Identifier(LIVE), shadow=sql.Identifier(schema), **more)


_PAIRED = """
from (select * from {live}.stored_generations where topic <> %(polled)s) l
full join (select * from {shadow}.stored_generations where topic <> %(polled)s) s
    using (cluster, topic_id, partition, "offset") as k
"""
_SIDE = "jsonb_build_object('grade', {0}.grade, 'assignor', {0}.assignor, 'era', {0}.era, 'reason', {0}.reason)"
_EXPECTED = """(select c.content -> 'expected' from {{{schema}}}.stored_contents c
    where (c.hash, c.day) = ({side}.content, {side}.day))"""
_KIND = """coalesce({side}.document -> 'verdict', (select c.content #> '{{{{document,verdict}}}}'
    from {{{schema}}}.stored_contents c where (c.hash, c.day) = ({side}.content, {side}.day))) ->> 'reason_kind'"""
_LAST = """(select cluster, "group", topic_id, partition, max("offset") as last_offset
    from {{{schema}}}.stored_generations where pending_until_ms is null group by 1, 2, 3, 4)"""
# Whether the other one has been where only this one has a generation.
_BEEN = """({side}.pending_until_ms is null
    and {side}.day > coalesce((select max(day) from {{{other}}}.cuts), -1)
    and {side}."offset" >= coalesce(b.next_offset, 0)
    and {side}."offset" <= coalesce(
        {other}_last.last_offset,
        (select max(p.next_offset) - 1 from {{{other}}}.positions p
            where (p.topic_id, p.partition) = (k.topic_id, k.partition) and not exists (
                select from {{{other}}}.states w where (w.cluster, w."group") = (k.cluster, {side}."group")
                and (w.waits > 0 or w.due_ms is not null))),
        -1))"""
_GENERATIONS = f"""
select 'generation' as kind,
    case when s."group" is null then 'only_live' when l."group" is null then 'only_shadow' else 'differs' end as found,
    k.cluster, coalesce(l."group", s."group") as "group",
    jsonb_build_object('generation', coalesce(l.generation, s.generation), 'topic', coalesce(l.topic, s.topic),
        'partition', k.partition, 'offset', k."offset", 'at_ms', coalesce(l.at_ms, s.at_ms)) as place,
    case when l."group" is not null then {_SIDE.format("l")} end as live,
    case when s."group" is not null then {_SIDE.format("s")} end as shadow
{_PAIRED}
left join {{began}} b on (b.topic_id, b.partition) = (k.topic_id, k.partition)
left join {_LAST.format(schema="live")} live_last on s."group" is not null and l."group" is null
    and (live_last.cluster, live_last."group", live_last.topic_id, live_last.partition)
      = (k.cluster, s."group", k.topic_id, k.partition)
left join {_LAST.format(schema="shadow")} shadow_last on l."group" is not null and s."group" is null
    and (shadow_last.cluster, shadow_last."group", shadow_last.topic_id, shadow_last.partition)
      = (k.cluster, l."group", k.topic_id, k.partition)
where case
    when s."group" is null then {_BEEN.format(side="l", other="shadow")}
    when l."group" is null then {_BEEN.format(side="s", other="live")}
    when l.pending_until_ms is not null or s.pending_until_ms is not null then false
    when (l."group", l.generation, l.grade, l.assignor, l.era)
        is distinct from (s."group", s.generation, s.grade, s.assignor, s.era) then true
    when l.reason is distinct from s.reason
        and {_KIND.format(schema="live", side="l")} is distinct from {_KIND.format(schema="shadow", side="s")} then true
    when l.content <> s.content then {_EXPECTED.format(schema="live", side="l")}
        is distinct from {_EXPECTED.format(schema="shadow", side="s")}
    else false end
order by k.cluster, k.topic_id, k.partition, k."offset"
"""
# Times between which what only one has is a difference: by cluster, of those that are read and not polled.
_SPANS = """
with judged as (
    select cluster, max(live_ms) as live_ms, max(shadow_ms) as shadow_ms, bool_or(polled) as polled from (
        select cluster, max(at_ms) as live_ms, null::bigint as shadow_ms, bool_or(topic = %(polled)s) as polled
        from {live}.stored_generations group by 1
        union all
        select cluster, null, max(at_ms), bool_or(topic = %(polled)s) from {shadow}.stored_generations group by 1
    ) as each_one group by 1
), spans as (
    select cluster, coalesce((select max(at_ms) from {began}), 0) + %(patience_ms)s as from_ms,
        least(live_ms, shadow_ms) - %(patience_ms)s as until_ms
    from judged where not polled and live_ms is not null and shadow_ms is not null
)
"""
_INCIDENT = """jsonb_build_object('severity', {0}.severity, 'certainty', {0}.certainty, 'alert', {0}.alert,
    'message', {0}.message, 'resolved_at_ms', {0}.resolved_at_ms)"""
_INCIDENTS = f"""{_SPANS}
select 'incident' as kind,
    case when s.incident_id is null then 'only_live' when l.incident_id is null then 'only_shadow'
        else 'differs' end as found,
    coalesce(l.cluster, s.cluster) as cluster, coalesce(l."group", s."group") as "group",
    jsonb_build_object('incident_id', incident_id, 'rule', coalesce(l.rule, s.rule), 'code', coalesce(l.code, s.code),
        'opened_at_ms', coalesce(l.opened_at_ms, s.opened_at_ms)) as place,
    case when l.incident_id is not null then {_INCIDENT.format("l")} end as live,
    case when s.incident_id is not null then {_INCIDENT.format("s")} end as shadow
from (select * from {{live}}.incidents) l full join (select * from {{shadow}}.incidents) s using (incident_id)
join spans on spans.cluster = coalesce(l.cluster, s.cluster)
where case
    when l.cluster is null or s.cluster is null
        then coalesce(l.opened_at_ms, s.opened_at_ms) between from_ms and until_ms
    when (l.resolved_at_ms is null) <> (s.resolved_at_ms is null)
        then coalesce(l.resolved_at_ms, s.resolved_at_ms) <= until_ms
    else (l.code, l.severity, l.certainty, l.alert) is distinct from (s.code, s.severity, s.certainty, s.alert) end
order by 3, 4, coalesce(l.opened_at_ms, s.opened_at_ms), incident_id
"""
_PART = "jsonb_build_object('severity', {0}.severity, 'certainty', {0}.certainty, 'message', {0}.message)"
_PARTS = f"""{_SPANS}, both_have as (
    select incident_id, l.cluster, l."group", l.code, from_ms, until_ms
    from {{live}}.incidents l join {{shadow}}.incidents s using (incident_id) join spans on spans.cluster = l.cluster
)
select 'incident_part' as kind,
    case when s.severity is null then 'only_live' when l.severity is null then 'only_shadow'
        else 'differs' end as found,
    cluster, "group",
    jsonb_build_object('incident_id', incident_id, 'part', part, 'code', code, 'opened_at_ms', opened_at_ms) as place,
    case when l.severity is not null then {_PART.format("l")} end as live,
    case when s.severity is not null then {_PART.format("s")} end as shadow
from (select * from {{live}}.incident_parts) l
full join (select * from {{shadow}}.incident_parts) s using (incident_id, part, opened_at_ms)
join both_have using (incident_id)
where case
    when l.severity is null or s.severity is null then opened_at_ms between from_ms and until_ms
    else (l.severity, l.certainty) is distinct from (s.severity, s.certainty) end
order by 3, 4, opened_at_ms, incident_id, part
"""
_COUNTS = f"""
select (select count(*) {_PAIRED} where l.day is not null and s.day is not null),
    (select count(*) from {{live}}.incidents join {{shadow}}.incidents using (incident_id)),
    array(select distinct cluster from {{live}}.stored_generations where topic = %(polled)s order by 1)
"""


class BothSchemas:
    """The live schema beside a shadow's, as they are at one moment. To be used inside one transaction."""

    def __init__(self, connection: Connection, schema: str, patience_ms: int) -> None:
        """Raises NoSuchShadow."""
        self._connection, self._schema = connection, schema
        self._given = {"polled": POLLED, "patience_ms": patience_ms}
        run = as_written(connection).execute
        run("set transaction isolation level repeatable read, read only")
        for one in (LIVE, schema):
            if run("select to_regclass(%s)", (f"{one}.stored_generations",)).fetchone() == (None,):
                raise NoSuchShadow(one)
        run("set local idle_in_transaction_session_timeout = 0")  # who reads what is printed takes the time it takes
        began = run("select to_regclass(%s)", (f"{schema}.{BEGAN}",)).fetchone()
        self._began: sql.Composable = (
            sql.Identifier(schema, BEGAN) if began != (None,) else sql.SQL(_AS_FAR_BACK).format(
                live=sql.Identifier(LIVE), shadow=sql.Identifier(schema)
            )
        )  # fmt: skip

    def counts(self) -> Compared:
        row = as_written(self._connection).execute(_statement(_COUNTS, self._schema), self._given).fetchone()
        assert row is not None
        return Compared(row[0], row[1], tuple(row[2]))

    def differences(self) -> Iterator[Divergence]:
        """Generations in the order of their places, then incidents, then what those are made of, by group."""
        for text in (_GENERATIONS, _INCIDENTS, _PARTS):
            with psycopg.ServerCursor(self._connection, "compared", row_factory=dict_row) as cursor:
                cursor.itersize = AT_ONCE
                cursor.execute(_statement(text, self._schema, began=self._began), self._given)
                for row in cursor:
                    yield Divergence(**row)


_AS_FAR_BACK = """(select topic_id, partition, greatest(a.first_offset, b.first_offset) as next_offset, 0 as at_ms
    from (select topic_id, partition, min("offset") as first_offset from {live}.stored_generations group by 1, 2) a
    join (select topic_id, partition, min("offset") as first_offset from {shadow}.stored_generations group by 1, 2) b
    using (topic_id, partition))"""
"""Where the schema did not begin as a shadow, as far back as both have something."""
