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


def test_the_same_results_twice_change_nothing(store: PostgresStore) -> None:
    epoch = store.claim()
    batch = (incident(), ONE, replace(TWO, resolved_at_ms=7))
    store.commit(commit(epoch, 0, 10, *batch))
    once = parts(store)
    store.commit(commit(epoch, 10, 20, *batch))
    assert parts(store) == once


def rows_of(store: PostgresStore) -> list[tuple[Any, ...]]:
    with store.database.session() as connection:
        return connection.execute(
            "select incident_id, severity, certainty, subjects, document->'open_parts', document->>'severity'"
            " from rebalance_monitor.incidents order by incident_id"
        ).fetchall()


WORSE = replace(TWO, incident_id="i1", severity=Severity.CRITICAL)
MILD = replace(ONE, incident_id="i1", severity=Severity.INFO)
LEFT = incident("updated", severity=Severity.INFO, subjects=MILD.subjects, fired_at_ms=None, firing=False)
OVER = replace(LEFT, transition="resolved", resolved_at_ms=9_000)
STORY = (
    (incident("opened", fired_at_ms=None, firing=False, parts=2), MILD, WORSE),
    (LEFT, replace(WORSE, resolved_at_ms=8_000)),
    (OVER, replace(MILD, resolved_at_ms=9_000)),
)


@pytest.mark.parametrize("cuts", [(1, 1, 1), (2, 1), (1, 2), (3,)])
def test_an_incident_that_is_over_says_all_its_parts_whatever_the_cuts_of_batches(
    store: PostgresStore, cuts: tuple[int, ...]
) -> None:
    """A report by severity counts it by its worst part, not by the one that was left last."""
    epoch, end, story = store.claim(), 0, list(STORY)
    for size in cuts:
        some = [one for step in story[:size] for one in step]
        del story[:size]
        store.commit(commit(epoch, end, end + 10, *some))
        end += 10
    subjects = [{"type": "task", "id": f"my-sink-{number}"} for number in (1, 0)]
    assert rows_of(store) == [("i1", "critical", "certain", subjects, 2, "critical")]


def test_the_row_of_a_notified_incident_keeps_what_its_alert_says_until_the_alert_is_over(
    store: PostgresStore,
) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, incident(), MILD, WORSE))
    last = replace(OVER, fired_at_ms=1_000)
    store.commit(commit(epoch, 10, 20, replace(last, firing=True), replace(MILD, resolved_at_ms=9_000)))
    assert [row[1] for row in rows_of(store)] == ["info"]
    store.commit(commit(epoch, 20, 30, replace(last, transition="ended", firing=False)))
    assert [row[1] for row in rows_of(store)] == ["critical"]
