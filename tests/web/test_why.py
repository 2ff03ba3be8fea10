"""The ranking and the events, from stored generations: what is read is bounded, and is what a capture gives."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.store.database import DatabaseUnreachable
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.stories import why
from rebalance_monitor.streaming.stories.score import score_lines
from rebalance_monitor.streaming.web import pages
from rebalance_monitor.streaming.web.api import PageSource
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.rows import GroupName
from rebalance_monitor.streaming.web.scope import EVERYTHING, Scope
from rebalance_monitor.streaming.web.upstream import StreamingJob
from rebalance_monitor.streaming.web.why import KEPT_MS, at_once_object, why_object
from tests.streaming.stories.fleets import BEFORE_MS, THEN_MS, fleet, generation
from tests.web.conftest import database
from tests.web.filled import put

pytestmark = pytest.mark.postgres
LATE_MS = 2**53
LATER_MS = THEN_MS + 60_000


class CountedReader(Reader):
    """`looked`: moment and number of groups of each look at who has members; `asked`: looks for rebalances."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.looked: list[tuple[int, int]] = []
        self.asked = 0

    def newest_before(
        self, at_ms: int, cluster: str, only: Collection[GroupName] | None, *, empty: bool
    ) -> list[dict[str, Any]]:
        found = super().newest_before(at_ms, cluster, only, empty=empty)
        if not empty:
            self.looked.append((at_ms, len(found)))
        return found

    def moments(self, *given: Any) -> list[tuple[str, str, int]]:
        self.asked += 1
        return super().moments(*given)


def losing(host_of: dict[int, str], lost: list[tuple[int, int]], groups: int = 45) -> list[Generation]:
    """So many groups, some with a second member. `lost`: (group, moment) at which that member is gone."""
    at_ms = dict(lost)
    made = []
    for number in range(groups):
        name, own = f"group-{number:03}", {f"group-{number:03}-1": f"10.1.0.{number}"}
        hosts = own | ({f"{name}-2": host_of[number]} if number in host_of else {})
        where: dict[str, Any] = {"partition": number, "offset": 2 * number}
        made.append(generation(name, 1, BEFORE_MS + number, hosts, **where))
        if number in at_ms:
            made.append(generation(name, 2, at_ms[number], own, **where | {"offset": 2 * number + 1}))
    return made


TWO_EVENTS = losing(
    {number: "10.0.0.1" if number < 6 or number == 12 else "10.0.0.2" for number in range(13)},
    [*((number, THEN_MS + number) for number in range(6)), *((number, LATER_MS + number) for number in range(6, 13))],
)
"""Six groups lose a member on one host, a minute later six others on another; then one more loses its on the first."""


@pytest.fixture(scope="module")
def two_events(server: str) -> Iterator[PostgresStore]:
    with database(server) as store:
        put(store, *TWO_EVENTS)
        yield store


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


def test_the_group_page_and_the_api_score_what_was_predicted_by_stored_generations(page: httpx.Client) -> None:
    lines = [
        "end of a scheduled delay: 1 of 1 prediction true, at most 738 ms after; 4 overtaken",
        "members leave (whatif): 4 of 4 predictions true",
        "members join (whatif): 1 of 1 prediction true",
    ]
    shown = page.get("/group?cluster=alpha&group=zombies").text
    assert all(line in shown for line in lines)
    told = page.get("/api/v1/why?cluster=alpha&group=zombies&since_ms=0").json()
    assert score_lines(told["predictions"]) == lines


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


def test_who_has_members_is_read_once_and_then_of_groups_that_changed_since(
    two_events: PostgresStore,
) -> None:
    reader = CountedReader([two_events.database], DatabaseUnreachable)
    told = at_once_object(reader, None, THEN_MS, LATE_MS)
    later, first = told["events"]
    assert [(one["name"], one["groups"], one["others_have"]) for one in later["shared"]] == [("10.0.0.2", 6, 0)]
    # Another group had a member there at that time, which it lost a minute later.
    assert [(one["name"], one["groups"], one["others_have"]) for one in first["shared"]] == [("10.0.0.1", 6, 1)]
    assert told["all"] is True
    assert reader.looked == [(LATER_MS + 12 + 1, 45), (THEN_MS + 5 + 1, 7)]


def test_the_newest_times_are_looked_at_and_no_more_than_so_many(
    two_events: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = CountedReader([two_events.database], DatabaseUnreachable)
    monkeypatch.setattr("rebalance_monitor.streaming.web.why.MOST_RANGES", 1)
    told = at_once_object(reader, None, THEN_MS, LATE_MS)
    assert ([one["from_ms"] for one in told["events"]], told["all"]) == ([LATER_MS + 6], False)
    assert len(reader.looked) == 1


def test_pages_of_one_scope_show_what_was_found_within_a_minute(two_events: PostgresStore) -> None:
    reader, now_ms = CountedReader([two_events.database], DatabaseUnreachable), LATER_MS + 1_000
    source = PageSource(reader, StreamingJob("http://127.0.0.1:9"), lambda *_: "", clock_ms=lambda: now_ms)
    first = pages.fleet_page(source, EVERYTHING)
    assert "Rebalanced at once" in first
    now_ms += KEPT_MS - 1
    assert "Rebalanced at once" in pages.fleet_page(source, EVERYTHING)
    assert reader.asked == 1
    assert "Rebalanced at once" not in pages.fleet_page(source, Scope("others", clusters=("another",)))
    assert reader.asked == 2
    now_ms += 1
    pages.fleet_page(source, EVERYTHING)
    assert reader.asked == 3
    source.job.close()


def test_nobody_is_looked_at_where_groups_rebalanced_together_by_chance(server: str) -> None:
    apart_ms = 30_000
    made = losing(
        {number: f"10.0.0.{number}" for number in range(30)},
        [(number, THEN_MS + number // 3 * apart_ms + number) for number in range(30)],
    )
    with database(server) as store:
        put(store, *made)
        reader = CountedReader([store.database], DatabaseUnreachable)
        told = at_once_object(reader, None, THEN_MS, LATE_MS)
        assert (told["events"], told["all"], reader.looked) == ([], True, [])
