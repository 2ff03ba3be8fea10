"""The fleet as a table: what it is sorted and filtered by, and what a thousand groups cost."""

import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.web import fleet, pages
from rebalance_monitor.streaming.web.api import PageSource
from rebalance_monitor.streaming.web.fleet_table import (
    COLUMNS,
    GROUPS_ON_A_PAGE,
    KINDS,
    FleetQuery,
    fleet_query,
    fleet_table,
    kind_of_group,
)
from rebalance_monitor.streaming.web.parameters import BadRequest
from rebalance_monitor.streaming.web.reader import Reader
from rebalance_monitor.streaming.web.rows import GroupRow
from rebalance_monitor.streaming.web.scope import EVERYTHING
from rebalance_monitor.streaming.web.statements import Unavailable
from rebalance_monitor.streaming.web.upstream import StreamingJob
from tests.web import filled
from tests.web.conftest import database

NOW = 1_795_000_000_000


def group(name: str = "g", **more: Any) -> fleet.GroupState:
    told: dict[str, Any] = {
        "cluster": "c", "incarnation": 0, "generation": 1, "protocol_type": "connect", "protocol": "sessioned",
        "members": 1, "unassigned": 0, "delay_ms": None, "grade": "match", "at_ms": 1, "version": "1",
        "lifecycle": "classic", **more,
    }  # fmt: skip
    team = told.pop("team", "")
    return fleet.group_state(GroupRow(group=name, **told), (), team, NOW)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({}, "connect"),
        ({"protocol_type": "consumer", "protocol": "range"}, "consumer"),
        ({"protocol_type": "consumer", "protocol": "stream"}, "streams"),
        ({"protocol_type": "sr", "protocol": "v0"}, "other"),
        ({"protocol_type": "consumer", "protocol": "uniform", "lifecycle": "consumer"}, "consumer_kip848"),
        ({"protocol_type": "streams", "lifecycle": "streams"}, "streams_kip1071"),
        ({"protocol_type": "share", "lifecycle": "share"}, "share"),
        ({"generation": None, "lifecycle": None, "protocol_type": ""}, "unknown"),
    ],
)
def test_the_kind_of_a_group(told: dict[str, Any], kind: str) -> None:
    assert kind_of_group(group(**told).row) == kind in KINDS


def names(query: FleetQuery, *groups: fleet.GroupState, **rebalances: int) -> list[str]:
    table = fleet_table(groups, {("c", name): count for name, count in rebalances.items()}, query)
    return [line.one.row.group for line in table.lines]


def test_numbers_are_sorted_from_the_largest_and_what_is_not_known_comes_last() -> None:
    some = group("a", lag=5), group("b", lag=None), group("c", lag=70), group("d", lag=5)
    assert names(FleetQuery(sort="lag"), *some) == ["c", "a", "d", "b"]
    assert names(FleetQuery(sort="-lag"), *some) == ["a", "d", "c", "b"]
    assert names(FleetQuery(sort="group"), *reversed(some)) == ["a", "b", "c", "d"]
    assert names(FleetQuery(sort="rebalances"), *some, b=3, d=1) == ["b", "d", "a", "c"]
    assert names(FleetQuery(), *some) == ["a", "b", "c", "d"]


def test_a_group_that_falls_behind_is_first_by_trend() -> None:
    some = (group(trend, trend=trend) for trend in ("steady", "catching_up", "falling_behind"))
    assert names(FleetQuery(sort="trend"), *some) == ["falling_behind", "steady", "catching_up"]


def test_filters_hold_together_and_offer_what_there_is() -> None:
    some = (
        group("pay-in", cluster="x", team="money"),
        group("pay-out", cluster="y", protocol_type="consumer"),
        group("other", cluster="x"),
    )
    assert names(FleetQuery(q="PAY"), *some) == ["pay-in", "pay-out"]
    assert names(FleetQuery(q="pay", cluster="x"), *some) == ["pay-in"]
    assert names(FleetQuery(kind="consumer"), *some) == ["pay-out"]
    assert names(FleetQuery(team="money"), *some) == ["pay-in"]
    table = fleet_table(some, {}, FleetQuery(q="nothing"))
    assert (table.found, table.clusters, table.kinds, table.teams) == (
        0, ("x", "y"), ("connect", "consumer"), ("money",),
    )  # fmt: skip


def test_a_title_sorts_and_sorts_back() -> None:
    query = FleetQuery(q="a b", sort="lag", page=3)
    lag = next(one for one in query.headings() if one.column.name == "lag")
    assert (lag.sorted, lag.href) == ("descending", "./?q=a%20b&sort=-lag")
    back = next(one for one in FleetQuery(sort="-lag").headings() if one.column.name == "lag")
    assert (back.sorted, back.href) == ("ascending", "./?sort=lag")
    assert {one.sorted for one in FleetQuery().headings()} == {""}


@pytest.mark.parametrize("given", [{"sort": "size"}, {"sort": "--lag"}, {"kind": "big"}])
def test_what_is_no_column_and_no_kind_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(BadRequest, match=r"is (sorted by )?one of .*; correct `(sort|kind)` in the address"):
        fleet_query(given)


TEXTS = st.text("ab&=#/ ä", max_size=5)


@given(
    st.builds(
        FleetQuery,
        q=TEXTS,
        cluster=TEXTS,
        team=TEXTS,
        kind=st.sampled_from(["", *KINDS]),
        sort=st.sampled_from(["", *(one.name for one in COLUMNS), *(f"-{one.name}" for one in COLUMNS)]),
        page=st.integers(1, 9),
    )
)
def test_an_address_asks_for_what_it_was_made_of(query: FleetQuery) -> None:
    asked = parse_qs(urlsplit(query.address(page=query.page)).query, keep_blank_values=True)
    assert fleet_query({name: value for name, (value,) in asked.items()}) == query


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 5), st.integers(0, 3)), max_size=12),
    st.sampled_from([f"{sign}{one.name}" for one in COLUMNS for sign in ("", "-")]),
)
def test_sorting_loses_and_adds_no_group(some: list[tuple[int | None, int]], sort: str) -> None:
    groups = [group(f"g{at}", lag=lag, at_ms=lag, members=size) for at, (lag, size) in enumerate(some)]
    assert sorted(names(FleetQuery(sort=sort), *groups)) == sorted(one.row.group for one in groups)


def test_the_page_is_sorted_and_filtered_by_its_address(page: httpx.Client) -> None:
    text = page.get("/", params={"sort": "group", "cluster": "epsilon", "kind": "consumer"}).text
    shown = [line.partition("</bdi>")[0] for line in text.split('<th scope="row">')[1:]]
    listed = [one.rpartition(">")[2] for one in shown]
    assert listed == sorted(listed)
    assert {"j-range", "j-sticky"} <= {*listed}
    assert '<th scope="col" aria-sort="ascending">' in text
    assert '<option value="consumer" selected>consumer, classic</option>' in text
    assert "6 groups of " in text
    assert "No group fits" in page.get("/", params={"cluster": "nowhere"}).text
    assert page.get("/", params={"sort": "nothing"}).status_code == 400


def test_a_thousand_groups_cost_less_than_ten_times_a_hundred(server: str) -> None:
    """Whatever a page of 100 costs, most of it is the page: a thousand groups are read, sorted and counted."""
    took: dict[int, list[float]] = {}
    for count in (100, 1_000):
        with database(server) as store:
            filled.put(store, *filled.many("c", count, int(time.time() * 1000)))
            with store.database.session() as connection:
                connection.execute("analyze")
            source = PageSource(
                Reader([store.database], Unavailable), StreamingJob("http://127.0.0.1:9"), lambda *_: ""
            )
            text, took[count] = "", []
            for _ in range(5):
                begun = time.perf_counter()
                text = pages.fleet_page(source, EVERYTHING, FleetQuery(sort="rebalances"))
                took[count].append(time.perf_counter() - begun)
            assert text.count('<tr class="') == GROUPS_ON_A_PAGE
            assert ("1 of 10" in text) == (count == 1_000)
    few, many = min(took[100]), min(took[1_000])
    print(f"the fleet's page: {few * 1000:.0f} ms with 100 groups, {many * 1000:.0f} ms with 1,000")
    assert many < 10 * few
