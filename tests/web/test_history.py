"""What was cut is said: on the page of a group, in the list of its generations, and what is left of it."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.core.columns import DAY_MS, date_of, day_of
from rebalance_monitor.streaming.store.retention import Kept, Retention
from tests.streaming import builders
from tests.waiting import PATIENCE_S
from tests.web.conftest import database, dsn_of, served
from tests.web.filled import put

pytestmark = pytest.mark.postgres
NOW_MS = time.time_ns() // 1_000_000
TODAY = day_of(NOW_MS)
KEPT = Kept(days=30, max_bytes=10**12, summary_days=730)


def test_page_and_api_say_before_when_only_summaries_are_left(server: str, tmp_path: Path) -> None:
    with database(server) as store:
        for offset, day in enumerate((TODAY - 40, TODAY - 39, TODAY)):
            put(store, builders.generation(offset, cluster="c", group="g", at_ms=day * DAY_MS), batch_id=offset)
        cluster = {"name": "c", "bootstrap_servers": "k:9092"}
        with (
            served(tmp_path, dsn_of(store), clusters=[cluster]) as url,
            httpx.Client(base_url=url, timeout=PATIENCE_S) as client,
        ):

            def listed(path: str) -> dict[str, Any]:
                return dict(client.get(f"/api/v1/{path}", params={"group": "g"}).json())

            def shown() -> str:
                return client.get("/group", params={"cluster": "c", "group": "g"}).text

            assert "cut_before_ms" not in listed("generations")
            assert "daily summaries" not in shown()
            assert Retention(store.database, KEPT).cut(NOW_MS).cut == (TODAY - 40, TODAY - 39)
            told = listed("generations")
            assert told["cut_before_ms"] == (TODAY - 38) * DAY_MS
            assert [one["source"]["offset"] for one in told["items"]] == [2]
            assert "daily summaries</a> are left" in shown()
            (first, *others) = listed("summaries")["items"]
            assert (first["day"], first["count"]) == (date_of(TODAY - 39), 1)
            assert len(others) == 3
