"""Connectors and tasks in a real database: a row each. The last word completes a document once."""

import pytest

from rebalance_monitor.streaming.core.model.details import Burst
from rebalance_monitor.streaming.core.model.results import Aftermath, Cause, JobState, Subject
from rebalance_monitor.streaming.store import last_words, tables
from rebalance_monitor.streaming.store.contents import contents
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import generation

pytestmark = pytest.mark.postgres


def job(agreement: str, worker: str) -> JobState:
    return JobState(
        cluster="c", group="g", job=Subject("task", "a-1"), incarnation=0, generation=7, assigned=(worker,),
        expected=worker, judged=True, state="RUNNING", running=worker, running_generation=7, running_at_ms=5,
        since_ms=4, agreement=agreement,
    )  # fmt: skip


def test_a_connector_or_task_has_one_row_that_moves_along(store: PostgresStore) -> None:
    with store.database.transaction() as connection:
        for batch_id, results in enumerate(([job("not_started", "w1:1")], [job("ok", "w2:1"), job("ok", "w2:1")]), 1):
            rows = contents(results, batch_id, lambda *_: "t1").connectors_and_tasks
            tables.CONNECTORS_AND_TASKS.write(connection, rows)
        stored = connection.execute(
            "select id, running, agreement, batch_id from rebalance_monitor.connectors_and_tasks"
        ).fetchall()
    assert stored == [("a-1", "w2:1", "ok", 2)]


def test_the_last_word_completes_the_document(store: PostgresStore) -> None:
    published = generation(5)
    burst = Burst(kind="config_mismatch", first_generation=3, last_generation=9, first_at_ms=1, last_at_ms=2, count=7)
    last = Aftermath(
        cluster=published.cluster, group=published.group, generation=published.generation, source=published.source,
        cause=(Cause(kind="worker_lost"),), burst=burst,
    )  # fmt: skip
    rows = contents([published, last], 1, lambda *_: "t1")
    with store.database.transaction() as connection:
        tables.STORED_GENERATIONS.write(connection, rows.generations)
        tables.STORED_CONTENTS.write(connection, [(*key, text) for key, text in rows.contents.items()])
        last_words.complete(connection, rows.aftermaths)
        last_words.complete(connection, rows.aftermaths)
        (document,) = connection.execute("select document from rebalance_monitor.generations").fetchall()[0]
        seen = connection.execute(
            "select kind, first_generation, last_generation, count from rebalance_monitor.bursts"
        ).fetchall()
    assert document["settled"]
    assert [cause["kind"] for cause in document["cause"]] == ["worker_lost"]
    assert document["verdict"]["grade"] == published.verdict.grade.value
    assert seen == [("config_mismatch", 3, 9, 7)]
