"""What joins an incident that people are notified of: they hear of it only if the incident becomes more severe."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_monitor.streaming.core.model.results import AlertSeverity, Certainty, Incident, Severity, Subject
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, incident

pytestmark = pytest.mark.postgres

WARNED = {"severity": Severity.MEDIUM, "certainty": Certainty.POSSIBLE, "alert": AlertSeverity.WARNING}
ONE = incident(**WARNED)
TWO = replace(
    ONE, transition="updated", subjects=(*ONE.subjects, Subject("task", "my-sink-1")), parts=2, common=ONE.subjects
)
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "equal": ({}, []),
    "less severe": ({"severity": Severity.LOW}, []),
    "more certain": ({"certainty": Certainty.CERTAIN}, []),
    "more severe": ({"severity": Severity.HIGH}, ["updated"]),
    "of another worker": ({"common": ()}, ["updated"]),  # the labels of the alert no longer hold
}


def told(store: PostgresStore, *batches: Incident) -> list[str]:
    epoch = store.claim()
    for number, batch in enumerate(batches):
        store.commit(commit(epoch, number, number + 1, batch))
    with store.database.session() as connection:
        rows = connection.execute("select transition from rebalance_monitor.outbox order by sequence").fetchall()
    return [transition for (transition,) in rows]


@pytest.mark.parametrize(("more", "news"), CASES.values(), ids=CASES)
def test_what_joins_is_notified_only_if_it_is_more_severe(
    store: PostgresStore, more: dict[str, Any], news: list[str]
) -> None:
    assert told(store, ONE, replace(TWO, **more)) == ["fired", *news]


def test_what_was_known_becomes_certain(store: PostgresStore) -> None:
    assert told(store, ONE, replace(ONE, transition="updated", certainty=Certainty.CERTAIN)) == ["fired", "updated"]


def test_what_leaves_is_no_news(store: PostgresStore) -> None:
    back = replace(ONE, transition="updated")
    assert told(store, ONE, TWO, back) == ["fired"]
