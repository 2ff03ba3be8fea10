"""A database that the release before filled goes on: no incident opens again, no notification is written twice."""

import gzip
import json
from typing import Any

import pytest

from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.store.migrations import known
from rebalance_monitor.streaming.store.outbox import waiting
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.carried import database
from tests.streaming.carried.live import LONG_MS, arrives_ms, held, story
from tests.streaming.states import envelope_of

pytestmark = pytest.mark.postgres
MIGRATED = 4
"""Migrations of the release whose tables are kept."""


def keys(store: PostgresStore, url: str) -> list[str]:
    with store.database.session() as connection:
        return [one.key for one in waiting(connection, url)]


def query(store: PostgresStore, text: str) -> list[tuple[Any, ...]]:
    with store.database.session() as connection:
        return connection.execute(text.encode()).fetchall()


def test_a_database_of_the_release_before_goes_on(dsn: str) -> None:
    kept = json.loads(gzip.decompress(database.FILE.read_bytes()))
    store = PostgresStore(dsn, version="now")
    with store.database.session() as connection:
        connection.execute("create schema rebalance_monitor")
        connection.execute(
            "create table rebalance_monitor.migrations ("
            " number integer primary key, name text not null, applied_at timestamptz not null default now())"
        )
        for migration in known()[:MIGRATED]:
            connection.execute(migration.sql.encode())
            connection.execute(
                "insert into rebalance_monitor.migrations values (%s, %s)", (migration.number, migration.name)
            )
        database.restore(connection, kept["tables"])
    store.migrate()
    first, second = kept["receivers"]
    assert keys(store, second) == kept["told"]
    assert keys(store, first) == kept["told"][kept["sent"] :]
    open_before = {one for (one,) in query(store, "select incident_id from rebalance_monitor.incidents where firing")}
    assert open_before
    of_each = query(store, "select count(*) from rebalance_monitor.incident_parts group by incident_id")
    assert of_each == [(1,)] * query(store, "select count(*) from rebalance_monitor.incidents")[0][0]
    settings, _, rows = story(kept["capture"])
    run = database.Run(store, settings)
    run.go_on(rows[kept["cut"] :])
    run.batch([], arrives_ms(rows[-1]) + LONG_MS)
    told = query(store, "select incident_id, transition, key from rebalance_monitor.outbox order by sequence")
    steps = [(one, transition) for one, transition, _ in told if transition != "updated"]
    assert len(set(steps)) == len(steps)
    assert keys(store, second)[: len(kept["told"])] == kept["told"]
    new = [key for *_, key in told if key not in kept["told"]]
    assert keys(store, first) == [*kept["told"][kept["sent"] :], *new]
    ((state,),) = query(store, "select state from rebalance_monitor.states where cluster <> ''")
    still = {one.incident_id for one in held(envelope_of(Saved(bytes(state))))}
    ended = {one for (one,) in query(store, "select incident_id from rebalance_monitor.incidents where not firing")}
    assert open_before <= still | ended
    assert {
        one for one, transition, _ in told if one in open_before and transition == "resolved"
    } == open_before - still
    left = query(
        store,
        "select part from rebalance_monitor.incident_parts p join rebalance_monitor.incidents i using (incident_id)"
        " where (p.resolved_at_ms is null) <> (i.resolved_at_ms is null) and i.resolved_at_ms is not null",
    )
    assert left == []
    store.close()
