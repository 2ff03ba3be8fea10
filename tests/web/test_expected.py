"""What owners expect of a group, on the page, in the API and as `status` says it."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Expectations, Owner, expectations
from rebalance_monitor.streaming.stories.expected_text import expected_text
from rebalance_monitor.streaming.web import fleet
from rebalance_monitor.streaming.web.attention import Attention
from tests.streaming import builders
from tests.waiting import PATIENCE_S
from tests.web.conftest import database, dsn_of, served
from tests.web.filled import put
from tests.web.test_views import NOW, incident, row

ALL = Expectations(members_at_least=3, lag_s=60, rebalances_per_hour=4)
MEMBERS, LAG, REBALANCES = "GROUP-E1", "GROUP-E2", "GROUP-E3"


def said(expects: Expectations, *codes: str, **of_row: Any) -> str:
    """The text for a group of two members with open incidents of these codes."""
    told = [Attention([], NOW).of(incident(code=code, opened_at_ms=NOW)) for code in codes]
    return expected_text(fleet.group_object(fleet.group_state(row(**of_row), told, "", NOW, expects)))


@pytest.mark.parametrize(
    ("expects", "codes", "of_row", "text"),
    [
        (Expectations(), (), {}, ""),
        (Expectations(members_at_least=2), (), {}, "at least 2 members (has 2)"),
        (ALL, (), {"lag_ms": 5_900}, "at least 3 members (has 2); no unread record older than 60 s (has 5 s); "
         "at most 4 rebalances within an hour (met)"),
        (ALL, (MEMBERS, LAG, REBALANCES), {"lag_ms": 90_000},
         "at least 3 members (has 2 since 1970-01-01 02:46:40 UTC); "
         "no unread record older than 60 s (has 90 s since 1970-01-01 02:46:40 UTC); "
         "at most 4 rebalances within an hour (has more since 1970-01-01 02:46:40 UTC)"),
        (Expectations(members_at_least=1), (), {"status": "Empty"}, "at least 1 member (has 0)"),
        (Expectations(lag_s=60), (), {}, "no unread record older than 60 s (nobody can tell)"),
        (Expectations(lag_s=60), (), {"lag_ms": 5_000, "at_least": True}, "no unread record older than 60 s "
         "(nobody can tell)"),
        (Expectations(lag_s=60), (), {"lag_ms": 5_000, "sampled_ms": NOW - 300_000}, "no unread record older than 60 s "
         "(has 5 s)"),
        (Expectations(lag_s=60), (), {"lag_ms": 5_000, "sampled_ms": NOW - 300_001}, "no unread record older than 60 s "
         "(nobody can tell)"),
        (Expectations(lag_s=60), (), {"lag_ms": 90_000, "sampled_ms": NOW - 300_001}, "no unread record older than "
         "60 s (nobody can tell)"),
        (Expectations(lag_s=60), (LAG,), {"lag_ms": 90_000, "sampled_ms": NOW - 300_001}, "no unread record older than "
         "60 s (has more since 1970-01-01 02:46:40 UTC)"),
    ],
)  # fmt: skip
def test_whether_it_is_met(expects: Expectations, codes: tuple[str, ...], of_row: dict[str, Any], text: str) -> None:
    assert said(expects, *codes, **of_row) == text


def test_of_a_group_without_a_record_nobody_can_tell_until_it_is_missed() -> None:
    never = row()._replace(generation=None, members=0, grade=None)
    expects, told = Expectations(members_at_least=1), [Attention([], NOW).of(incident(code=MEMBERS))]
    found = [fleet.group_state(never, some, "", NOW, expects).expected[0] for some in ((), told)]
    assert [(one.has, one.met) for one in found] == [(None, None), (0, False)]


def test_rebalances_are_not_expected_where_they_are_not_counted() -> None:
    owners = (Owner(groups="*", team="t", expects=ALL),)
    of = expectations({name: ClusterSettings(name=name, polled=name == "b", owners=owners) for name in "ab"})
    assert [of(name, "g").rebalances_per_hour for name in "abc"] == [4, None, None]


@pytest.mark.postgres
def test_it_stands_on_the_page_and_in_the_api(server: str, tmp_path: Path) -> None:
    clusters = [{"name": "c", "bootstrap_servers": "127.0.0.1:9"}]
    entries = [{"team": "t", "match": "orders", "members_at_least": 9}]
    with database(server) as store:
        for offset, group in enumerate(("orders", "other")):
            put(store, builders.generation(offset=offset, cluster="c", group=group), batch_id=offset)
        short = builders.incident(cluster="c", group="orders", code=MEMBERS, opened_at_ms=NOW)
        put(store, short, batch_id=7)
        told: dict[str, Any] = {"clusters": clusters, "groups": entries}
        with served(tmp_path, dsn_of(store), **told) as url, httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
            listed = {one["group"]: one for one in client.get("/api/v1/groups").json()["items"]}
            (expected,) = listed["orders"]["expected"]
            assert expected == {
                "what": "members_at_least", "limit": 9, "has": listed["orders"]["members"], "met": False,
                "since_ms": NOW,
            }  # fmt: skip
            assert listed["other"]["expected"] == []
            text = client.get("/group", params={"cluster": "c", "group": "orders"}).text
            assert f"Expected: at least 9 members (has {expected['has']} since 1970-01-01 02:46:40 UTC)" in text
            assert "Expected:" not in client.get("/group", params={"cluster": "c", "group": "other"}).text
