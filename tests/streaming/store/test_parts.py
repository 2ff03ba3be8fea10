"""Every finding of an incident stays readable in the database, whatever the incident and the state still name."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_monitor.streaming.core.model.results import Severity, Subject
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, incident, part

pytestmark = pytest.mark.postgres

ONE, TWO = (part(incident(), subjects=(Subject("task", f"my-sink-{number}"),)) for number in range(2))


def parts(store: PostgresStore) -> list[tuple[Any, ...]]:
    with store.database.session() as connection:
        return connection.execute(
            "select part, severity, resolved_at_ms, message, document->'resolved_at_ms'"
            " from rebalance_monitor.incident_parts order by part"
        ).fetchall()


def test_a_part_is_kept_from_its_beginning_to_its_end(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, incident(), ONE, TWO))
    key, said = "CONNECT-I1|task=my-sink-", ONE.message
    assert parts(store) == [(f"{key}0", "critical", None, said, None), (f"{key}1", "critical", None, said, None)]
    better = replace(ONE, severity=Severity.INFO, message="perhaps")
    store.commit(commit(epoch, 10, 20, incident("updated"), better, replace(TWO, resolved_at_ms=7)))
    assert parts(store) == [(f"{key}0", "info", None, "perhaps", None), (f"{key}1", "critical", 7, said, 7)]


def test_the_end_of_a_part_without_texts_leaves_those_that_are_stored(store: PostgresStore) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, incident(), ONE))
    store.commit(commit(epoch, 10, 20, incident("updated"), replace(ONE, message="", evidence=(), resolved_at_ms=7)))
    assert parts(store) == [("CONNECT-I1|task=my-sink-0", "critical", 7, ONE.message, 7)]


def test_a_part_that_ends_and_comes_back_in_one_batch_is_open(store: PostgresStore) -> None:
    epoch = store.claim()
    bare = replace(ONE, message="", evidence=(), resolved_at_ms=7)
    store.commit(commit(epoch, 0, 10, incident(), ONE, bare, ONE))
    assert [row[2] for row in parts(store)] == [None]
    store.commit(commit(epoch, 10, 20, bare, ONE, bare))
    assert [row[2] for row in parts(store)] == [7]


def test_what_an_incident_leaves_open_ends_with_it(store: PostgresStore) -> None:
    """The parts of a state that was lost are not known one by one."""
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, incident(), ONE, TWO))
    store.commit(commit(epoch, 10, 20, incident("resolved")))
    assert [row[2] for row in parts(store)] == [9_000, 9_000]


def test_the_same_batch_twice_changes_nothing(store: PostgresStore) -> None:
    epoch = store.claim()
    batch = (incident(), ONE, replace(TWO, resolved_at_ms=7))
    store.commit(commit(epoch, 0, 10, *batch))
    once = parts(store)
    store.commit(commit(epoch, 0, 10, *batch))
    assert parts(store) == once
