"""The ranking and the events, from stored generations: what is read is bounded, and is what a capture gives."""

from dataclasses import replace

import httpx
import pytest

from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.store.database import DatabaseUnreachable
from rebalance_monitor.streaming.stories import why
from rebalance_monitor.streaming.web import pages
from rebalance_monitor.streaming.web.api import PageSource
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.scope import EVERYTHING
from rebalance_monitor.streaming.web.upstream import StreamingJob
from rebalance_monitor.streaming.web.why import at_once_object, why_object
from tests.streaming.stories.fleets import THEN_MS, fleet
from tests.web.conftest import database
from tests.web.filled import put

pytestmark = pytest.mark.postgres
LATE_MS = 2**53


def test_events_are_found_in_stored_generations_of_the_groups_that_may_be_seen(server: str) -> None:
    with database(server) as store:
        put(store, *fleet(12, 30))
        reader = Reader([store.database], DatabaseUnreachable)
        told = at_once_object(reader, None, THEN_MS, LATE_MS)
        (event,) = told["events"]
        (shared,) = event["shared"]
        assert (told["all"], len(event["groups"])) == (True, 12)
        assert (shared["what"], shared["groups"], shared["others"], shared["others_have"]) == ("host", 12, 30, 0)
        some = [("k", f"group-{number:03}") for number in range(6, 42)]
        (seen,) = at_once_object(reader, some, THEN_MS, LATE_MS)["events"]
        assert seen["groups"] == [group for _, group in some[:6]]
        assert at_once_object(reader, [("k", "group-001")], THEN_MS, LATE_MS)["events"] == []
        assert at_once_object(reader, None, THEN_MS, LATE_MS, "another")["events"] == []
        # The generations before are looked at for who was there, and are no part of what is asked.
        lost = why_object(reader, ("k", "group-003"), THEN_MS, LATE_MS)
        assert (lost["rebalances"], lost["all"], lost["first_ms"]) == (1, True, THEN_MS + 900)
        job = StreamingJob("http://127.0.0.1:9")
        source = PageSource(reader, job, lambda *_: "", clock_ms=lambda: THEN_MS + 60_000)
        listed = pages.fleet_page(source, EVERYTHING)
        assert "12 of 12 groups that rebalanced within 3.3 s: a member on host 10.0.3.4 came or went" in listed
        assert "Rebalanced at once" not in pages.fleet_page(replace(source, clock_ms=lambda: LATE_MS), EVERYTHING)
        assert "2 of 2: cannot tell; no record shows a cause" in pages.group_page(source, EVERYTHING, "k", "group-003")
        job.close()


def test_the_group_page_has_the_ranking(page: httpx.Client) -> None:
    told = page.get("/group?cluster=alpha&group=zombies").text
    assert "Why it rebalances" in told
    assert "connectors were created: idle-a" in told


def test_the_ranking_is_that_of_all_generations_read_page_by_page(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fleet(1, 0)
    documents = [as_object(one) for one in made]
    with database(server) as store:
        put(store, *made)
        reader = Reader([store.database], DatabaseUnreachable)
        monkeypatch.setattr("rebalance_monitor.streaming.web.why.A_READ", 1)
        expected = why.ranking_object("k", "group-000", 0, why.ranking(documents, 0))
        assert why_object(reader, ("k", "group-000"), 0, LATE_MS) == expected
        monkeypatch.setattr(why, "MOST_REBALANCES", 1)
        newest = why_object(reader, ("k", "group-000"), 0, LATE_MS)
        assert (newest["rebalances"], newest["all"], newest["first_ms"]) == (1, False, THEN_MS)
