"""Lag on the page and in the API: of groups, of generations, and what incidents leave unread."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import MemberLag, Subject
from rebalance_monitor.streaming.stories.lag_text import held_up_text, lag_text
from rebalance_monitor.streaming.web.incident_lag import incident_lag
from tests.streaming import builders
from tests.waiting import PATIENCE_S
from tests.web.conftest import database, dsn_of, served
from tests.web.filled import put


def of(*subjects: Subject, **lag: Any) -> dict[str, Any]:
    return incident_lag(as_object(builders.incident(subjects=subjects)), as_object(builders.lag(**lag)))


def test_an_incident_says_the_lag_of_what_it_names() -> None:
    answered_ms = 1_700_000_000_200
    whole = {"records": 40, "lag_ms": 8_000, "at_least": False, "answered_ms": answered_ms}
    assert of(Subject("partition", "orders-0"), Subject("member", "m1")) == {"of": "partitions", **whole}
    assert of(Subject("partition", "orders-1")) == {"of": "partitions", **whole, "records": 0, "lag_ms": 0}
    assert of(Subject("member", "m1")) == {"of": "members", **whole}
    assert of(Subject("topic", "orders")) == {"of": "group", **whole}
    assert of(Subject("member", "who left")) == {"of": "group", **whole}


def test_what_is_not_known_of_it_is_null() -> None:
    assert of(Subject("partition", "orders-0"), Subject("partition", "other-3"))["records"] is None
    (known, other) = builders.lag().partitions
    some = (known, replace(other, committed=None, lag=None, lag_ms=None))
    both = of(Subject("partition", known.partition), Subject("partition", other.partition), partitions=some)
    assert both["records"] is None, "40 is the lag of one of them"
    assert of(lag=None, lag_ms=None)["records"] is None
    nothing = MemberLag(member="m1", partitions=2, advancing=0, caught_up=0, standing=0, unknown=2, lag=0)
    assert of(Subject("member", "m1"), members=(nothing,))["records"] is None


@pytest.mark.parametrize(
    ("lag", "lag_ms", "at_least", "text"),
    [
        (None, None, False, "not known"),
        (0, 0, False, "0"),
        (5_800, None, False, "5,800"),
        (5_800, 30_000, False, "5,800, 30 s"),
        (40, 7_200_000, True, "40, at least 2.0 h"),
    ],
)
def test_lag_as_people_read_it(lag: int | None, lag_ms: int | None, at_least: bool, text: str) -> None:
    assert lag_text(lag, lag_ms, at_least) == text


@pytest.mark.parametrize(
    ("held", "text"),
    [
        ({}, "It held up 4,000 records above the lag of 40 before; no more lag than before after 60 s"),
        (
            {"records": 0, "rebalances": 3},
            "It held up no records that a sample shows; no more lag than before after 60 s, "
            "3 rebalances without a sample between them",
        ),
        (
            {"records": None, "caught_up_ms": None, "why": "not known: no sample in the two minutes before"},
            "What it held up is not known: no sample in the two minutes before",
        ),
        (
            {"caught_up_ms": None, "why": "it has not caught up within an hour"},
            "It held up 4,000 records above the lag of 40 before; it has not caught up within an hour",
        ),
        (
            {"caught_up_ms": None, "final": False},
            "It held up 4,000 records above the lag of 40 before; not caught up yet",
        ),
        ({"records": None, "caught_up_ms": None, "final": False}, "What it held up is not known yet"),
    ],
)
def test_what_a_rebalance_held_up_as_people_read_it(held: dict[str, Any], text: str) -> None:
    assert held_up_text(as_object(builders.cost(**held).held_up)) == text
    assert held_up_text(None) == ""


@pytest.mark.postgres
def test_lag_stands_on_the_page_and_in_the_api(server: str, tmp_path: Path) -> None:
    with database(server) as store:
        for offset, group in enumerate(("readers", "other")):
            put(store, builders.generation(offset=offset, cluster="c", group=group), batch_id=offset)
        with served(tmp_path, dsn_of(store)) as url, httpx.Client(base_url=url, timeout=PATIENCE_S) as client:

            def answer(path: str, **asked: str) -> httpx.Response:
                return client.get(path, params={"cluster": "c", **asked})

            put(store, builders.incident(group="readers", subjects=(Subject("member", "m1"),)), batch_id=7)
            put(store, builders.lag("readers", without_members=True, never_committed=3, unknown=5), batch_id=8)
            source = builders.generation(offset=0, cluster="c", group="readers").source
            held = replace(builders.cost("readers"), source=source)
            put(store, held, batch_id=9)

            listed = {one["group"]: one["lag"] for one in answer("/api/v1/groups").json()["items"]}
            assert listed["other"] is None
            assert listed["readers"] == {
                "records": 40, "lag_ms": 8_000, "at_least": False, "trend": "steady", "answered_ms": 1_700_000_000_200,
            }  # fmt: skip
            whole = answer("/api/v1/group", group="readers").json()
            assert whole["progress"]["topics"][0]["lag"] == 40
            assert whole["incidents"][0]["lag"]["of"] == "members"
            assert whole["generation"]["held_up"] == as_object(held.held_up)
            text = answer("/group", group="readers").text
            assert "40, 8.0 s" in text
            assert "Nobody is in the group, and it has yet to read 40 records." in text
            assert "Members hold 3 partitions of which brokers tell no committed offset" in text
            assert "Of 2 more partitions the lag is not known" in text
            assert "It held up 4,000 records above the lag of 40 before" in text
            assert "Lag of these members: 40, 8.0 s" in text
            assert 'id="lag"' not in answer("/group", group="other").text
            fleet = answer("/").text
            assert "40, 8.0 s" in fleet
            old = '40 <span class="dim"><time datetime="2023-11-14T22:13:20'
            assert old in fleet, "a lag of long ago says when it was"
            put(store, builders.lag("readers", answered_ms=time.time_ns() // 1_000_000), batch_id=10)
            assert '<td class="n" data-name="lag">40</td>' in answer("/").text
