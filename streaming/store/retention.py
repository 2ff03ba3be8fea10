"""History ends: by age, and where the database is too large the oldest days first.

    1  archive     the day as files, where one is configured (`archive`)
    2  detach      the day's partitions leave the tables, in one short transaction that has the tables for itself;
                   what is still needed moves to the partition for all others, and the day is noted in `cuts`
    3  summarise   counts of the day, by group, and its partitions are dropped, in one transaction

A process that is killed between two steps goes on with the next one: what is noted and still there is summarised.

Still needed is what says how things are now: the last generation of each group that was not deleted, and the one in
which an open incident began. It goes when a later one has taken its place. States, positions, what is open, and
notifications that nobody has got yet are never cut.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rebalance_monitor.streaming.core.columns import DAY_MS, day_of
from rebalance_monitor.streaming.core.costs import DOUBLED, FIGURES
from rebalance_monitor.streaming.core.tables import COST_COLUMNS
from .database import Connection, Database
from .days import BY_DAY, LOCK, partition, there

AGE, SIZE = "age", "size"
AT_ONCE = 5_000
"""Rows that one statement deletes: others write meanwhile."""
SPARE = 0.1
"""By how much the size may be passed while the archive fails."""
WARNED_FOR_MS = 1_800_000
"""So long the archive has to have failed before a day goes without it; people are alerted of that after ten minutes."""
LOCKED_FOR = "2s"

Archive = Callable[[Connection, int], int]
"""Writes a day's generations as files, and says how many there are; raises where it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How long detail is kept, how large all may become, and how long summaries are kept."""

    days: int
    max_bytes: int
    summary_days: int
    outbox_days: int = 7


@dataclass(frozen=True, slots=True)
class HistoryCut:
    """What one pass did. `failed`: why a day could not be archived; then it is still there."""

    cut: tuple[int, ...] = ()
    incidents: int = 0
    notifications: int = 0
    failed: Exception | None = None


_SIZE = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 from pg_class c
where c.relnamespace = 'rebalance_monitor'::regnamespace and c.relkind = 'r'
"""
_LAST_OF_EACH = """
select g.cluster, g.topic_id, g.partition, g."offset" from rebalance_monitor.states s cross join lateral (
    select * from rebalance_monitor.stored_generations g where g.cluster = s.cluster and g."group" = s."group"
    order by g.incarnation desc, g."offset" desc limit 1
) g where not exists (
    select from rebalance_monitor.groups t
    where t.cluster = s.cluster and t."group" = s."group" and t.state = 'Dead')
"""
_STILL_NEEDED = f"""
insert into still_needed {_LAST_OF_EACH} and g.day = %(day)s
union
select g.cluster, g.topic_id, g.partition, g."offset" from rebalance_monitor.incidents i
join rebalance_monitor.stored_generations g on g.cluster = i.cluster and g."group" = i."group"
    and g.generation = i.opened_generation and g.day = %(day)s
where i.resolved_at_ms is null
"""
_PLACE = 'cluster, topic_id, partition, "offset"'
_MOVE = (
    "insert into rebalance_monitor.stored_generations select * from {stored_generations}"
    f" where ({_PLACE}) in (table still_needed)",
    "insert into rebalance_monitor.stored_contents select * from {stored_contents} where hash in (select unnest("
    "array[content, sent]) from rebalance_monitor.stored_generations_other where day = {day})",
    "insert into rebalance_monitor.stored_assignments select * from {stored_assignments} where hash in (select unnest("
    "array[subscription_hash, assignment_hash]) from rebalance_monitor.members where day = {day})",
)
_NOTE = "insert into rebalance_monitor.cuts (day, reason) values (%s, %s) on conflict (day) do nothing"
_COSTS = ("rebalances", *(column.name for column in COST_COLUMNS))
_MOST = 2**63 - 1
_NONE_OF_IT = ", ".join("sum(ms), 0" if one.name == "doubled_ms" else "null, 0" for one in FIGURES)


def _sums(of: str) -> list[str]:
    """Of each column of a cost: the largest that fits where it does not."""
    sums = (f"sum(({of}).{one})" for one in _COSTS)
    return [f"case when {one} > {_MOST} then {_MOST} else {one} end" for one in sums]


def _adding(select: str, *costs: str) -> str:
    """Adds counts, and what they cost in these columns and of which connectors; one that is null, as an older release
    leaves it, to nothing."""
    columns = "".join(f", {one}" for one in (*costs, *(("connectors",) if costs else ())))
    sums = "".join(f", {one} = coalesce(old.{one} + excluded.{one}, old.{one}, excluded.{one})" for one in costs)
    if costs:
        sums += ", connectors = rebalance_monitor.connectors_together(old.connectors, excluded.connectors)"
    return f"""
insert into rebalance_monitor.daily_summaries as old (cluster, "group", day, kind, name, count{columns})
{select}
on conflict (cluster, "group", day, kind, name) do update set count = old.count + excluded.count{sums}
"""


_SUMMARIES = (
    _adding("select cluster, \"group\", {day}, 'grade', grade, count(*) from {generations} group by 1, 2, 5"),
    _adding(
        f"""with each as materialized (
    select cluster, "group", document, coalesce(cost, rebalance_monitor.cost_of(document, protocol_type)) as cost
    from {{generations}}
), split as (
    select cluster, "group", (one.cost).cause, coalesce(one.connector, '') as connector,
        jsonb_build_array({", ".join(_sums("one.cost"))}) as sums
    from each cross join lateral (select rebalance_monitor.connectors_of(document, cost) as told offset 0) as named
    cross join lateral rebalance_monitor.split(cost, told) as one group by 1, 2, 3, 4
), named as (
    select cluster, "group", cause, jsonb_object_agg(connector, sums) as connectors from split group by 1, 2, 3
), summed as (
    select cluster, "group", (cost).cause, count(*) as count, {", ".join(_sums("cost"))} from each group by 1, 2, 3
) select cluster, "group", {{day}}, 'cause', cause, count, {", ".join(_COSTS)}, connectors
from summed as all_of (cluster, "group", cause, count, {", ".join(_COSTS)})
left join named using (cluster, "group", cause)""",
        *_COSTS,
    ),
    _adding(
        "select cluster, \"group\", {day}, 'moved', 'assignments', sum(jsonb_array_length(change.value -> 'gained'))"
        " from {generations}, jsonb_each(document -> 'diff') change where jsonb_typeof(document -> 'diff') = 'object'"
        " and jsonb_typeof(change.value -> 'gained') = 'array' group by 1, 2"
    ),
    _adding(
        "select cluster, \"group\", {day}, 'idle_s', one ->> 'kind', sum((one ->> 'total_ms')::int8) / 1000"
        " from {generations}, jsonb_array_elements(document -> 'downtime') one"
        " where jsonb_typeof(document -> 'downtime') = 'array' group by 1, 2, 5"
    ),
)
# Of what was kept longer than its day: no longer the last one, and nothing open began with it.
_OUTDATED = f"""
delete from rebalance_monitor.stored_generations_other o where o.day < %(before)s and ({_PLACE}) in (
    select {_PLACE} from rebalance_monitor.stored_generations_other where day < %(before)s
    except {_LAST_OF_EACH}
    except select g.cluster, g.topic_id, g.partition, g."offset" from rebalance_monitor.incidents i
    join rebalance_monitor.stored_generations_other g on g.cluster = i.cluster and g."group" = i."group"
        and g.generation = i.opened_generation
    where i.resolved_at_ms is null
    limit {AT_ONCE})
"""
_ORPHANS = (
    "delete from rebalance_monitor.stored_contents_other c where c.day < %(before)s and not exists (select from"
    " rebalance_monitor.stored_generations_other g where c.hash in (g.content, g.sent) and g.day = c.day)",
    "delete from rebalance_monitor.stored_assignments_other where day < %(before)s and (hash, day) not in ("
    " select named, m.day from rebalance_monitor.members m"
    " cross join lateral unnest(array[m.subscription_hash, m.assignment_hash]) as named"
    " where m.day < %(before)s and named is not null)",
)
_INCIDENTS = f"""
with gone as (
    delete from rebalance_monitor.incidents i where incident_id in (
        select incident_id from rebalance_monitor.incidents i where resolved_at_ms < %(before_ms)s and not firing
            and not exists (select from rebalance_monitor.outbox o where o.incident_id = i.incident_id and not done)
            and not exists (select from rebalance_monitor.incidents f where f.led_by = i.incident_id and f.firing)
        limit {AT_ONCE})
    returning incident_id, cluster, "group", code, rule, least(opened_at_ms / 86400000, 2147483647)::int as day
), parts as (
    delete from rebalance_monitor.incident_parts where incident_id in (select incident_id from gone)
    returning incident_id, rebalance_monitor.connector_of(subjects) as connector,
        case when certainty in ('certain', 'likely') then resolved_at_ms - opened_at_ms end as ms
), twice as (
    select * from parts join gone using (incident_id) where code = '{DOUBLED}' and ms is not null
), doubled as (
    select incident_id, sum(ms) as ms from twice group by 1
), split as (
    select cluster, "group", day, rule, connector, jsonb_build_array(0, {_NONE_OF_IT}) as sums
    from twice where connector is not null group by 1, 2, 3, 4, 5
), named as (
    select cluster, "group", day, rule, jsonb_object_agg(connector, sums) as connectors from split group by 1, 2, 3, 4
), told as (
    delete from rebalance_monitor.outbox where incident_id in (select incident_id from gone)
), counted as ({
    _adding(
        '''select cluster, "group", day, 'rule', rule, count(*), sum(ms), connectors
    from gone left join doubled using (incident_id) left join named using (cluster, "group", day, rule)
    group by 1, 2, 3, 5, connectors''',
        "doubled_ms",
    )
}) select count(*) from gone
"""
_NOTIFICATIONS = f"""
delete from rebalance_monitor.outbox where key in (
    select key from rebalance_monitor.outbox o where done and created_at < now() - %s * interval '1 day'
    and not exists (select from rebalance_monitor.incidents i
        where i.incident_id = o.incident_id and (i.resolved_at_ms is null or i.firing)) limit {AT_ONCE})
"""
_REASONS = f"""
delete from rebalance_monitor.coordinator_reasons where (cluster, "group", old_generation, hash) in (
    select cluster, "group", old_generation, hash from rebalance_monitor.coordinator_reasons
    where read_day < %s limit {AT_ONCE})
"""


class Retention:
    """Cuts what is older or too much. One process at a time: another one that wants the same waits."""

    def __init__(self, database: Database, kept: Kept, archive: Archive | None = None) -> None:
        self._database, self._kept, self._archive = database, kept, archive
        self._fails_since_ms: int | None = None

    def cut(self, now_ms: int) -> HistoryCut:
        """One pass. DatabaseUnreachable."""
        before = day_of(now_ms) - self._kept.days
        cut: list[int] = []
        failed: Exception | None = None
        with self._database.session() as connection:
            for day in _unfinished(connection):
                _finish(connection, day)
            while (found := self._next(connection, before, day_of(now_ms))) is not None:
                day, reason = found
                failed = self._cut(connection, day, reason, now_ms)
                if failed is not None:
                    break
                cut.append(day)
            if failed is None:
                failed = self._outdated(connection, before, now_ms)
            incidents = 0
            if failed is None:  # where a day stays, its incidents do
                incidents = _all(lambda: _count(connection, _INCIDENTS, {"before_ms": before * DAY_MS}))
            told = _all(lambda: connection.execute(_NOTIFICATIONS, (self._kept.outbox_days,)).rowcount)
            _all(lambda: connection.execute(_REASONS, (before,)).rowcount)
            oldest = day_of(now_ms) - self._kept.summary_days
            connection.execute("delete from rebalance_monitor.daily_summaries where day < %s", (oldest,))
        return HistoryCut(tuple(cut), incidents, told, failed)

    def _next(self, connection: Connection, before: int, today: int) -> tuple[int, str] | None:
        """The oldest day, if it has to go. Today stays, however large it is."""
        days = [day for day in sorted(there(connection)) if day < today]
        if not days:
            return None
        if days[0] < before:
            return days[0], AGE
        return (days[0], SIZE) if size(connection) > self._kept.max_bytes else None

    def _cut(self, connection: Connection, day: int, reason: str, now_ms: int) -> Exception | None:
        """Why it is still there; None when it is gone."""
        rows, failed = self._archived(connection, day, now_ms)
        if failed is None:
            _detach(connection, day, reason, rows)
            _finish(connection, day)
        return failed

    def _archived(self, connection: Connection, day: int, now_ms: int) -> tuple[int | None, Exception | None]:
        """How many generations of the day the archive has, None without one; and why it has to stay."""
        if self._archive is None:
            return None, None
        try:
            rows = self._archive(connection, day)
        except Exception as why:
            if self._fails_since_ms is None:
                self._fails_since_ms = now_ms
            warned = now_ms - self._fails_since_ms >= WARNED_FOR_MS
            full = size(connection) > self._kept.max_bytes * (1 + SPARE)
            return None, None if warned and full else why
        self._fails_since_ms = None
        return rows, None

    def _outdated(self, connection: Connection, before: int, now_ms: int) -> Exception | None:
        """Rows outside the days' partitions that nothing needs any more. A day that never had partitions is archived
        and counted now. Why one has to stay; None when all are gone."""
        days = connection.execute(
            "select distinct day, exists (select from rebalance_monitor.cuts k where k.day = o.day)"
            " from rebalance_monitor.stored_generations_other o where day < %s order by 1",
            (before,),
        ).fetchall()
        for day in (day for day, known in days if not known):
            _, failed = self._archived(connection, day, now_ms)
            if failed is not None:
                return failed
            with connection.transaction():
                kept = f"(select * from rebalance_monitor.stored_generations_other where day = {day}) as o"
                _summarise(connection, day, kept)
                connection.execute(
                    "insert into rebalance_monitor.cuts (day, reason, dropped_at) values (%s, %s, now())", (day, AGE)
                )
        if days:
            given: dict[str, Any] = {"before": before}
            _all(lambda: connection.execute(_OUTDATED, given).rowcount)
            for statement in _ORPHANS:
                connection.execute(statement, given)
        return None


def size(connection: Connection) -> int:
    """Bytes of all tables with their indexes."""
    row = connection.execute(_SIZE).fetchone()
    return 0 if row is None else int(row[0])


def _detach(connection: Connection, day: int, reason: str, archived: int | None) -> None:
    names = _names(day)
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        connection.execute(
            f"create temporary table still_needed on commit drop as select {_PLACE}"
            " from rebalance_monitor.stored_generations with no data".encode()
        )
        connection.execute(_STILL_NEEDED, {"day": day})
        # Whoever writes takes them in this order as well.
        connection.execute(f"set local lock_timeout = '{LOCKED_FOR}'".encode())
        every = ", ".join(f"rebalance_monitor.{table}" for table in BY_DAY)
        connection.execute(f"lock table {every} in access exclusive mode".encode())
        if archived is not None:
            row = connection.execute(f"select count(*) from {names['stored_generations']}".encode()).fetchone()
            if row is not None and row[0] != archived:
                raise Moved(day)
        for table in BY_DAY:
            connection.execute(f"alter table rebalance_monitor.{table} detach partition {names[table]}".encode())
        for statement in _MOVE:
            connection.execute(statement.format(**names, day=day).encode())
        connection.execute(_NOTE, (day, reason))


class Moved(Exception):
    """Rows of a day came while it was archived; the next pass archives it again."""


def _unfinished(connection: Connection) -> list[int]:
    """Days that were detached and are not dropped yet."""
    rows = connection.execute(
        "select substring(relname from '^stored_generations_([0-9]+)$')::int from pg_class"
        " where relnamespace = 'rebalance_monitor'::regnamespace and relkind = 'r' and not relispartition"
        " and relname ~ '^stored_generations_[0-9]+$' order by 1"
    ).fetchall()
    return [int(day) for (day,) in rows]


def _finish(connection: Connection, day: int) -> None:
    names = _names(day)
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        if day not in _unfinished(connection):
            return  # another job of this database was first
        _summarise(connection, day, names["stored_generations"])
        for table in BY_DAY:
            connection.execute(f"drop table {names[table]}".encode())
        connection.execute(
            "update rebalance_monitor.cuts set dropped_at = now() where day = %s and dropped_at is null", (day,)
        )


def _summarise(connection: Connection, day: int, generations: str) -> None:
    for statement in _SUMMARIES:
        connection.execute(statement.format(generations=generations, day=day).encode())


def _names(day: int) -> dict[str, str]:
    return {table: f"rebalance_monitor.{partition(table, day)}" for table in BY_DAY}


def _count(connection: Connection, statement: str, given: dict[str, Any]) -> int:
    row = connection.execute(statement.encode(), given).fetchone()
    return 0 if row is None else int(row[0])


def _all(some: Callable[[], int]) -> int:
    """Until a statement finds nothing more."""
    total = 0
    while (found := some()) > 0:
        total += found
    return total
