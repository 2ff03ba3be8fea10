"""Every SQL that the dashboards ask runs on the schema that the migrations make, over a capture and planted states,
with Grafana's macros filled in as Grafana does."""

from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.results import Cause, Change, Grade, Subject, Verdict
from rebalance_monitor.streaming.store.maintenance import Windows, add
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import GROUP as STATE_OF
from tests.streaming.builders import commit, generation, incident, state

pytest.importorskip("grafana_foundation_sdk")

from rebalance_monitor.dashboards.tables import TABLES_SQL
from tests.dashboards.asked import Asked, sql
from tests.dashboards.planted import CLUSTER, GROUP, folded, now_ms, planted, window

pytestmark = pytest.mark.postgres
EMPTY: dict[str, str] = {}
"""Queries that find nothing in this run, each with the event that would fill it; at most one in twenty."""

PLANTED = f"id-1/3/{10_000}"


def as_grafana_sends(text: str, group: str = "connect-1", rebalance: str = PLANTED) -> str:
    filled = text.replace("$__unixEpochFrom()", "0").replace("$__unixEpochTo()", "4000000000")
    filled = filled.replace("${cluster:sqlstring}", f"'{CLUSTER}'").replace("${group:sqlstring}", f"'{group}'")
    filled = filled.replace("${rebalance:sqlstring}", f"'{rebalance}'")
    assert "$" not in filled
    return filled


def select(store: PostgresStore, text: str) -> list[dict[str, Any]]:
    with store.database.session() as connection:
        cursor = connection.execute(text.encode())
        assert cursor.description
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@pytest.fixture(scope="module")
def full(server: str) -> Any:
    database = "dashboards"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create database {database}".encode())
    at_ms = now_ms()
    store = PostgresStore(server.replace("/postgres?", f"/{database}?"), "c", undecodable_kept=3, windows=Windows())
    store.migrate()
    with store.database.session() as connection:
        add(connection, window(at_ms), "somebody")
    results = [*folded(), *planted(at_ms)]
    store.commit(commit(store.claim(), 0, 90_000, *results, states={STATE_OF: state()}))
    yield store
    store.close()
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"drop database {database} with (force)".encode())


@pytest.fixture(scope="module")
def keys(full: PostgresStore) -> list[str]:
    text = as_grafana_sends(next(one.text for one in sql() if one.where == "rebalance.json: $rebalance"), GROUP)
    return [row["__value"] for row in select(full, text)]


class TestEveryState:
    """A folded capture, and what it lacks."""

    @pytest.mark.parametrize("asked", list(sql()), ids=lambda asked: asked.where)
    def test_runs_and_finds_something(self, full: PostgresStore, keys: list[str], asked: Asked) -> None:
        chosen = keys if "${rebalance" in asked.text else [PLANTED]
        found = [row for key in chosen for row in select(full, as_grafana_sends(asked.text, asked.group, key))]
        assert bool(found) == (asked.where not in EMPTY)

    def test_nothing_chosen_is_no_error(self, full: PostgresStore) -> None:
        for asked in sql():
            if "${rebalance" in asked.text:
                assert select(full, as_grafana_sends(asked.text, GROUP, "")) == []

    def test_rebalances_are_found_by_the_name_their_address_gives(self, full: PostgresStore, keys: list[str]) -> None:
        rows = select(full, as_grafana_sends(TABLES_SQL["generations"], GROUP))
        assert {row["rebalance"] for row in rows} == set(keys)

    def test_marks_join_what_is_one_event(self, full: PostgresStore) -> None:
        marks = select(full, as_grafana_sends(TABLES_SQL["annotations_group"], GROUP))
        rows = select(full, as_grafana_sends(TABLES_SQL["generations"], GROUP))
        assert 1 < len(marks) < len(rows)
        assert all(mark["time"] <= mark["timeend"] for mark in marks)
        assert any(" to " in mark["text"] for mark in marks)

    def test_at_most_one_query_in_twenty_is_empty_and_each_says_why(self) -> None:
        asked = {one.where for one in sql()}
        assert set(EMPTY) <= asked
        assert len(EMPTY) * 20 <= len(asked)

    def test_matrix_tells_the_job_astray_and_who_is_idle(self, full: PostgresStore) -> None:
        cells = {
            (row["id"], row["worker"]): row["cell"]
            for row in select(full, as_grafana_sends(TABLES_SQL["matrix"], GROUP))
        }
        assert cells["a-0", "w1:8083"] == "held"
        assert cells["a-0", "w2:8083"] == "runs unheld"
        assert cells["a-1", "w1:8083"] == "expected here"
        assert cells[" (in the group)", "w2:8083"] == "member"


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
                verdict=Verdict(
                    grade=Grade.UNEXPLAINED,
                    assignor="connect-incremental",
                    reason=Reason(ReasonKind.OTHER_ANSWER, "differs"),
                ),
                delay_ms=300_000,
                unassigned=("b-0",),
            ),
            incident("fired", "i1"),
            incident("resolved", "i2"),
        )
    )
    return store


def test_shows_the_open_incident_only(filled: PostgresStore) -> None:
    rows = select(filled, as_grafana_sends(TABLES_SQL["open_incidents"]))
    assert [(row["message"], row["alert"], row["notified"]) for row in rows] == [
        ("task my-sink-0 runs twice", "critical", True)
    ]


def test_shows_cause_members_and_moves(filled: PostgresStore) -> None:
    (row,) = select(filled, as_grafana_sends(TABLES_SQL["generations"]))
    assert (row["generation"], row["cause"], row["delay"], row["unassigned"]) == (7, "worker_joined", 300_000, 1)
    members = select(filled, as_grafana_sends(TABLES_SQL["members"]))
    assert [member["member"] for member in members] == ["w1:8083", "w2:8083"]
    (moved,) = select(filled, as_grafana_sends(TABLES_SQL["diff"]))
    assert (moved["member"], moved["gained"], moved["lost"]) == ("w1:8083", ["a-0"], [])


def test_the_last_record_is_the_latest_generation_whatever_its_time(filled: PostgresStore) -> None:
    """Another broker coordinates the group, whose clock is a minute behind."""
    before = generation(5)
    later = generation(6, generation=8, at_ms=before.at_ms - 60_000, members=before.members[:1])
    filled.commit(commit(filled.claim(), 10, 20, later))
    members = select(filled, as_grafana_sends(TABLES_SQL["members"]))
    assert [member["member"] for member in members] == ["w1:8083"]
