"""The storage that history is compared with: each generation anew, with all its members and all that they sent.

So the monitor stored before history had an end: the document whole, a row for each member, the state as a whole, and
nothing deleted. It takes its rows from the tables that are measured beside it, batch by batch.
"""

from collections.abc import Sequence

from rebalance_monitor.streaming.core.columns import day_of
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.core.ports import Commit
from rebalance_monitor.streaming.store.database import Connection

_TABLES = """
create schema anew;
create table anew.generations as select * from rebalance_monitor.generations with no data;
alter table anew.generations add primary key (cluster, topic_id, partition, "offset");
create index on anew.generations (cluster, "group", incarnation, generation);
create index on anew.generations (at_ms);
create table anew.members as select * from rebalance_monitor.members with no data;
alter table anew.members add primary key (cluster, topic_id, partition, "offset", ordinal);
create table anew.assignments (hash text primary key, blob bytea not null);
create table anew.states (cluster text, "group" text, state bytea, due_ms bigint, primary key (cluster, "group"));
create index on anew.states (cluster, due_ms) where due_ms is not null;
create table anew.positions (like rebalance_monitor.positions including all);
create table anew.groups (like rebalance_monitor.groups including all);
"""
_WRITE = """
insert into anew.generations select * from rebalance_monitor.generations
where at_ms = any(%(moments)s) and day = any(%(days)s) on conflict do nothing;
insert into anew.members select m.* from anew.generations g
join rebalance_monitor.members m using (cluster, topic_id, partition, "offset", day)
where g.at_ms = any(%(moments)s) on conflict do nothing;
insert into anew.assignments select * from unnest(%(hashes)s::text[], %(blobs)s::bytea[]) on conflict do nothing;
insert into anew.states
select * from unnest(%(clusters)s::text[], %(groups)s::text[], %(states)s::bytea[], %(due)s::int8[])
on conflict (cluster, "group") do update set state = excluded.state, due_ms = excluded.due_ms;
insert into anew.positions select * from rebalance_monitor.positions where batch_id = %(batch)s
on conflict (cluster_id, topic_id, partition) do update set next_offset = excluded.next_offset;
insert into anew.groups select * from rebalance_monitor.groups where batch_id = %(batch)s
on conflict (cluster, "group") do update set at_ms = excluded.at_ms
"""
_SIZE = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 from pg_class c
where c.relnamespace = 'anew'::regnamespace and c.relkind = 'r'
"""


def make(connection: Connection) -> None:
    """Its tables, empty."""
    connection.execute(_TABLES.encode())


def write(connection: Connection, commits: Sequence[Commit]) -> None:
    """What these have brought, in one transaction."""
    moments = {one.at_ms for commit in commits for one in commit.results if isinstance(one, Generation)}
    blobs = {digest: blob for commit in commits for digest, blob in commit.blobs.items()}
    states = {key: state for commit in commits for key, state in commit.states.items()}
    given = {
        "moments": list(moments),
        "days": list({day_of(one) for one in moments}),
        "hashes": list(blobs),
        "blobs": list(blobs.values()),
        "clusters": [key.cluster for key in states],
        "groups": [key.group for key in states],
        "states": [one.state for one in states.values()],
        "due": [one.due_ms for one in states.values()],
        "batch": commits[-1].batch_id,
    }
    with connection.transaction():
        for statement in _WRITE.split(";"):
            connection.execute(statement.encode(), given)


def size(connection: Connection) -> int:
    """Bytes of its tables with their indexes."""
    row = connection.execute(_SIZE).fetchone()
    assert row is not None
    return int(row[0])
