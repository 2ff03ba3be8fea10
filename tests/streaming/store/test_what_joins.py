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


REPORT = replace(ONE, alert=AlertSeverity.INFO, severity=Severity.LOW)
LOUDER = replace(ONE, transition="updated")
QUIET = replace(REPORT, transition="updated")


def test_a_report_that_becomes_louder_fires(store: PostgresStore) -> None:
    worse = replace(LOUDER, severity=Severity.HIGH)
    over = replace(ONE, transition="resolved", firing=False, resolved_at_ms=9_000)
    assert told(store, REPORT, LOUDER, worse, over) == ["fired", "updated", "resolved"]


def test_what_was_notified_is_updated_however_quiet_it_was_meanwhile(store: PostgresStore) -> None:
    assert told(store, ONE, QUIET, LOUDER) == ["fired", "updated", "updated"]


def test_what_fires_again_as_a_report_fires_again_when_it_becomes_louder(store: PostgresStore) -> None:
    ended = replace(ONE, transition="ended", firing=False)
    again = [replace(one, times_told=2) for one in (REPORT, LOUDER)]
    assert told(store, ONE, ended, *again) == ["fired", "ended", "fired"]
