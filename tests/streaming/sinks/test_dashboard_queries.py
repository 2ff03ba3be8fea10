"""The dashboards' SQL runs on the schema that the migrations make, with Grafana's macros filled in as Grafana does."""

from typing import Any

import pytest

from dashboards.tables import TABLES_SQL
from streaming.core.results import Cause, Change, Grade, Subject, Verdict
from streaming.sinks.postgres import PostgresStore
from tests.streaming.sinks.builders import commit, generation, incident

pytestmark = pytest.mark.postgres


def as_grafana_sends(sql: str) -> str:
    filled = sql.replace("$__unixEpochFrom()", "0").replace("$__unixEpochTo()", "2000000000")
    return filled.replace("${cluster:sqlstring}", "'c'").replace("${group:sqlstring}", "'connect-1'")


@pytest.fixture
def filled(store: PostgresStore) -> PostgresStore:
    store.commit(
        commit(
            store.claim(),
            0,
            10,
            generation(
                5,
                diff={"w1:8083": Change(gained=("a-0",), lost=())},
                cause=(Cause(kind="worker_joined", subjects=(Subject("worker", "w1:8083"),)),),
                verdict=Verdict(grade=Grade.UNEXPLAINED, assignor="connect-incremental", reason="differs"),
                delay_ms=300_000,
                unassigned=("b-0",),
            ),
            incident("fired", "i1"),
            incident("resolved", "i2"),
        )
    )
    return store


def select(store: PostgresStore, name: str) -> list[dict[str, Any]]:
    with store.database.session() as connection:
        cursor = connection.execute(as_grafana_sends(TABLES_SQL[name]).encode())
        assert cursor.description
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@pytest.mark.parametrize("name", sorted(TABLES_SQL))
def test_runs_and_finds_what_was_committed(filled: PostgresStore, name: str) -> None:
    assert "$" not in as_grafana_sends(TABLES_SQL[name])
    assert select(filled, name)


def test_shows_the_open_incident_only(filled: PostgresStore) -> None:
    assert [row["message"] for row in select(filled, "open_incidents")] == ["task my-sink-0 runs twice"]


def test_shows_cause_members_and_moves(filled: PostgresStore) -> None:
    (row,) = select(filled, "generations")
    assert (row["generation"], row["cause"], row["delay"], row["unassigned"]) == (7, "worker_joined", 300_000, 1)
    assert [row["member"] for row in select(filled, "members")] == ["w1:8083", "w2:8083"]
    (moved,) = select(filled, "diff")
    assert (moved["member"], moved["gained"], moved["lost"]) == ("w1:8083", ["a-0"], [])
