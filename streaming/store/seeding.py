"""A shadow begins where the live job is: with a copy of its positions and states, taken at one moment.

Began it at the topics' beginning, most of what differs would differ because records were compacted since.
"""

from psycopg import sql

from .database import Database
from .schema import LIVE, as_written

WHAT_GOES_ON = (
    "positions",
    "states",
    "waiting_rows",
    "gaps",
    "known_ends",
    "topic_samples",
    "other_groups",
    "groups",
    "group_progress",
    "connectors_and_tasks",
    "coordinator_reasons",
    "coordinator_log_positions",
)
"""Tables from which a job goes on."""
OPEN = {
    "incidents": "resolved_at_ms is null",
    "incident_parts": f"incident_id in (select incident_id from {LIVE}.incidents where resolved_at_ms is null)",
}
"""Tables of which only what is open goes on."""
LEFT = (
    "migrations",
    "writer",
    "leases",
    "kept_states",
    "stored_generations",
    "stored_contents",
    "stored_assignments",
    "cuts",
    "daily_summaries",
    "outbox",
    "outbox_sent",
    "undecodable",
    "undecodable_counts",
    "maintenance",
)
"""What is the live job's alone: who it is, its history, whom it notifies."""
BEGAN = "shadow_began"
"""Of a shadow only: where it began in each partition, and when (ms by PostgreSQL's clock)."""

_COLUMNS = """
select attname from pg_attribute where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped
intersect
select attname from pg_attribute where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped
    and attgenerated = ''
"""


def begin_from_live(database: Database) -> int:
    """Copies what the live job goes on from, unless the shadow has begun before; how many states. The database is the
    shadow's."""
    shadow = sql.Identifier(database.schema)
    with database.transaction() as connection:
        # What is read here is the live job's: its name must stay what it is.
        run = as_written(connection).execute
        run("set transaction isolation level repeatable read")
        live, began = run(
            "select to_regclass(%s), to_regclass(%s)", (f"{LIVE}.states", f"{database.schema}.{BEGAN}")
        ).fetchone() or (None, None)
        if began is not None or run(sql.SQL("select from {}.positions limit 1").format(shadow)).fetchone() is not None:
            return 0
        run(
            sql.SQL(
                "create table {}.{} (cluster_id text not null, topic_id text not null, partition integer not null,"
                " next_offset bigint not null, at_ms bigint not null, primary key (cluster_id, topic_id, partition))"
            ).format(shadow, sql.Identifier(BEGAN))
        )
        if live is None:
            return 0
        for table in (*WHAT_GOES_ON, *OPEN):
            names = [str(one) for (one,) in run(_COLUMNS, (f"{LIVE}.{table}", f"{database.schema}.{table}"))]
            if not names:
                continue  # the live job's release does not have it yet
            columns = sql.SQL(", ").join(map(sql.Identifier, names))
            run(
                sql.SQL("insert into {}.{} ({}) select {} from {}.{} where {}").format(
                    shadow, sql.Identifier(table), columns, columns, sql.Identifier(LIVE), sql.Identifier(table),
                    sql.SQL(OPEN.get(table, "true")),
                )
            )  # fmt: skip
        run(
            sql.SQL(
                "insert into {}.{} select cluster_id, topic_id, partition, next_offset,"
                " (extract(epoch from clock_timestamp()) * 1000)::bigint from {}.positions"
            ).format(shadow, sql.Identifier(BEGAN), sql.Identifier(LIVE))
        )
        found = run(sql.SQL("select count(*) from {}.states").format(shadow)).fetchone()
    return 0 if found is None else int(found[0])
