"""The release before says jobs and told. It reads and writes the migrated tables; this release reads what it wrote."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.core.model.effects import DelayWait, DowntimeSum, JobDowntime, Move
from rebalance_monitor.streaming.core.model.objects import as_object
from rebalance_monitor.streaming.core.model.results import JobState, Subject
from rebalance_monitor.streaming.store import tables
from rebalance_monitor.streaming.store.connectors_and_tasks import CONNECTORS_AND_TASKS, row_of
from rebalance_monitor.streaming.store.contents import contents, outbox_rows
from rebalance_monitor.streaming.store.migrations import known
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.stored import incident_of
from rebalance_monitor.streaming.store.tables import Table
from rebalance_monitor.streaming.store.text import json_text
from rebalance_monitor.streaming.web.rows import present
from tests.streaming.builders import generation, incident

pytestmark = pytest.mark.postgres
MIGRATION = next(one.number for one in known() if one.name == "connectors_and_tasks")
TASK = Subject("task", "a-1")
DOWN = JobDowntime(
    job=TASK, kind="moved", before="w1:1", after="w2:1", until_ms=9, lowest_ms=1, highest_ms=3, best_ms=2
)
JUDGED = generation(
    moves=(Move(job=TASK, kind="moved_at_once", before="w1:1", after="w2:1"),),
    wait=DelayWait(jobs=(TASK,), since_ms=1, until_ms=2, because=("w1:1",)),
    downtime=(DowntimeSum(kind="moved", jobs=1, total_ms=2, longest_ms=2),),
    interrupted=(DOWN,),
)
STANDS = JobState(
    cluster="c", group="g", job=TASK, incarnation=0, generation=7, assigned=("w2:1",), expected="w2:1", judged=True,
    state="RUNNING", running="w2:1", running_generation=7, running_at_ms=5, since_ms=4, agreement="ok",
)  # fmt: skip
FORMER_TABLE = replace(
    CONNECTORS_AND_TASKS,
    name="jobs",
    columns=tuple(("job" if name == "id" else name, kind) for name, kind in CONNECTORS_AND_TASKS.columns),
)

Connection = psycopg.Connection[Any]


def former(document: dict[str, Any]) -> dict[str, Any]:
    """A new object of this release as the release before writes it."""
    match document["kind"]:
        case "generation":
            for move in (*document["moves"], *document["interrupted"]):
                move["job"] = move.pop("subject")
            for move in document["downtime"]:
                move["jobs"] = move.pop("count")
            document["wait"]["jobs"] = document["wait"].pop("subjects")
        case "connector_or_task":
            document |= {"kind": "job", "job": document.pop("subject")}
        case kind:
            assert kind == "violation"
            document["times_told"] = document.pop("times_notified")
    return document


def former_row(table: Table, row: tuple[Any, ...], document: dict[str, Any]) -> tuple[Any, ...]:
    at = [name for name, _ in table.columns].index("document")
    return (*row[:at], json_text(former(document)), *row[at + 1 :])


def write_as_before(connection: Connection, task_table: Table) -> None:
    """A batch of the release before."""
    rows = contents([JUDGED, incident()], 1, lambda *_: "t1")
    (judged,), (harm,) = rows.generations, rows.incidents
    (notified,) = outbox_rows([incident()], {}, 1)
    tables.GENERATIONS.write(connection, [former_row(tables.GENERATIONS, judged, as_object(JUDGED))])
    task_table.write(connection, [former_row(task_table, row_of(STANDS, 1), as_object(STANDS))])
    tables.INCIDENTS.write(connection, [former_row(tables.INCIDENTS, harm, as_object(incident()))])
    tables.OUTBOX.write(connection, [former_row(tables.OUTBOX, notified, as_object(incident()))])


def documents(connection: Connection, table: str) -> list[dict[str, Any]]:
    found = connection.execute(f"select document from rebalance_monitor.{table}".encode()).fetchall()
    return [document for (document,) in found]


def reads_all(connection: Connection) -> None:
    """This release finds what it would have written itself."""
    assert documents(connection, "generations") == [as_object(JUDGED)]
    assert [present(one) for one in documents(connection, "connectors_and_tasks")] == [as_object(STANDS)]
    assert documents(connection, "incidents") == documents(connection, "outbox") == [as_object(incident())]
    assert [incident_of(one, "fired") for one in documents(connection, "incidents")] == [incident()]


def test_rows_from_before_the_migration(dsn: str) -> None:
    store = PostgresStore(dsn)
    with store.database.session() as connection:
        connection.execute("create schema rebalance_monitor")
        connection.execute(
            "create table rebalance_monitor.migrations ("
            " number integer primary key, name text not null, applied_at timestamptz not null default now())"
        )
        for migration in known()[: MIGRATION - 1]:
            connection.execute(migration.sql.encode())
            connection.execute(
                "insert into rebalance_monitor.migrations values (%s, %s)", (migration.number, migration.name)
            )
        write_as_before(connection, FORMER_TABLE)
    store.migrate()
    with store.database.session() as connection:
        reads_all(connection)
    store.close()


def test_rows_that_the_release_before_writes_after_the_migration(store: PostgresStore) -> None:
    with store.database.transaction() as connection:
        write_as_before(connection, FORMER_TABLE)
        write_as_before(connection, FORMER_TABLE)
        reads_all(connection)


def test_the_release_before_reads_what_this_one_writes(store: PostgresStore) -> None:
    with store.database.transaction() as connection:
        for _ in range(2):
            CONNECTORS_AND_TASKS.write(connection, [row_of(STANDS, 1)])
        (stands,) = documents(connection, "jobs")
        columns = connection.execute("select type, job, xmin::text::bigint > 0 from rebalance_monitor.jobs").fetchall()
    assert columns == [("task", "a-1", True)]
    assert stands["job"] == {"type": "task", "id": "a-1"}


def test_writing_again_changes_no_row(store: PostgresStore) -> None:
    """Documents are compared with both names in them: a batch that is repeated updates nothing."""
    last = replace(JUDGED, settled=True)
    rows = contents([last], 1, lambda *_: "t1")
    with store.database.transaction() as connection:
        versions = []
        for _ in range(2):
            tables.GENERATIONS.write(connection, rows.generations)
            CONNECTORS_AND_TASKS.write(connection, [row_of(STANDS, 1)])
            versions.append(
                connection.execute(
                    "select g.ctid::text, t.ctid::text"
                    " from rebalance_monitor.generations g, rebalance_monitor.connectors_and_tasks t"
                ).fetchall()
            )
    assert versions[0] == versions[1]
