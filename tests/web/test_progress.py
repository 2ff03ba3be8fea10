"""The group's page and the API show how far each member has come, where brokers were asked for it."""

from pathlib import Path

import httpx
import pytest

from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import GroupProgress, MemberLag
from tests.streaming import builders
from tests.waiting import PATIENCE_S
from tests.web.conftest import database, dsn_of, served
from tests.web.filled import put

pytestmark = pytest.mark.postgres


def told(lag: int) -> GroupProgress:
    slow = MemberLag(member="slow-<1>", partitions=4, advancing=1, caught_up=1, standing=2, unknown=0, lag=lag)
    quick = MemberLag(member="quick-1", partitions=4, advancing=4, caught_up=0, standing=0, unknown=0, lag=7)
    return GroupProgress(
        cluster="c", group="readers", generation=3, asked_ms=1_000, answered_ms=1_050, members=(quick, slow)
    )


def test_progress_stands_on_the_page_and_in_the_api(server: str, tmp_path: Path) -> None:
    with database(server) as store:
        for offset, group in enumerate(("readers", "other")):
            put(store, builders.generation(offset=offset, cluster="c", group=group), batch_id=offset)
        with served(tmp_path, dsn_of(store)) as url, httpx.Client(base_url=url, timeout=PATIENCE_S) as client:

            def answer(path: str, group: str) -> httpx.Response:
                return client.get(path, params={"cluster": "c", "group": group})

            assert 'id="progress"' not in answer("/group", "readers").text
            assert answer("/api/v1/group", "readers").json()["progress"] is None
            put(store, told(50), batch_id=8)
            put(store, told(5_000), batch_id=9)
            text = answer("/group", "readers").text
            assert 'id="progress"' in text
            assert text.index("slow-&lt;1&gt;") < text.index("quick-1"), "the largest lag comes first"
            assert '<td class="n">5000</td>' in text
            assert answer("/api/v1/group", "readers").json()["progress"] == as_object(told(5_000))
            assert 'id="progress"' not in answer("/group", "other").text
