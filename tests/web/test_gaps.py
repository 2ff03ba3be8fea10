"""The group's page and the API show what was gone before it could be read, of the topics that the group is judged from
alone."""

import time
from operator import itemgetter
from pathlib import Path
from typing import Any

import httpx
import pytest

from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import GapRecord
from rebalance_monitor.streaming.store import gaps
from tests.streaming import builders
from tests.waiting import PATIENCE_S
from tests.web.conftest import database, dsn_of, served
from tests.web.filled import put

pytestmark = pytest.mark.postgres


def test_gaps_stand_on_the_page_of_the_groups_they_concern(server: str, tmp_path: Path) -> None:
    lost = GapRecord(
        cluster="c", topic="sinks-status", partition=9, from_offset=6, to_offset=11, reason="deleted_before_read"
    )
    anew = GapRecord(
        cluster="c", topic="sinks-configs", partition=9, from_offset=8, to_offset=8, reason="topic_made_anew"
    )
    topics = {"config_topic": "sinks-configs", "status_topic": "sinks-status"}
    cluster = {"name": "c", "bootstrap_servers": "k:9092", "connect": {"sinks": topics}}
    with database(server) as store:
        for offset, group in enumerate(("sinks", "other")):
            put(store, builders.generation(offset=offset, cluster="c", group=group), batch_id=offset)
        with (
            served(tmp_path, dsn_of(store), clusters=[cluster]) as url,
            httpx.Client(base_url=url, timeout=PATIENCE_S) as client,
        ):

            def shown(group: str) -> str:
                return client.get("/group", params={"cluster": "c", "group": group}).text

            assert 'id="gaps"' not in shown("sinks")
            put(store, lost, anew, batch_id=8)
            text = shown("sinks")
            assert "offsets 6 to 10, deleted before read" in text
            assert "from offset 8 on, topic made anew" in text
            assert "acknowledged" not in text
            assert 'id="gaps"' not in shown("other")
            with store.database.session() as connection:
                gaps.acknowledge(connection, "jane")
            assert shown("sinks").count(", acknowledged") == 2


def test_the_api_lists_gaps_and_who_took_note(server: str, tmp_path: Path) -> None:
    def lost(topic: str, partition: int) -> GapRecord:
        return GapRecord(
            cluster="c", topic=topic, partition=partition, from_offset=6, to_offset=11, reason="deleted_before_read"
        )

    cluster = {"name": "c", "bootstrap_servers": "k:9092", "connect": {"sinks": {"status_topic": "told"}}}
    with database(server) as store:
        generation = builders.generation(cluster="c", group="sinks")
        put(store, generation)
        partition = generation.source.partition
        own, other, of_status = lost(builders.TOPIC, partition), lost(builders.TOPIC, partition + 1), lost("told", 0)
        before_ms = int(time.time() * 1000)
        put(store, own, other, of_status, batch_id=8)
        with (
            served(tmp_path, dsn_of(store), clusters=[cluster]) as url,
            httpx.Client(base_url=url, timeout=PATIENCE_S) as client,
        ):

            def shown(**parameters: str) -> list[dict[str, Any]]:
                items: list[dict[str, Any]] = client.get("/api/v1/gaps", params=parameters).json()["items"]
                return items

            def objects(**parameters: str) -> list[Any]:
                return [one["gap"] for one in shown(**parameters)]

            def same(found: list[Any], *expected: GapRecord) -> bool:
                key = itemgetter("topic", "partition")
                return sorted(found, key=key) == sorted((as_object(one) for one in expected), key=key)

            assert same(objects(), own, other, of_status)
            assert same(objects(group="sinks"), own, of_status)
            assert same(objects(topic="told"), of_status)
            assert objects(group="nobody") == objects(cluster="d") == objects(state="acknowledged") == []
            assert all(before_ms <= one["found_at_ms"] <= time.time() * 1000 for one in shown())
            assert all(one["acknowledged"] is None for one in shown())
            with store.database.session() as connection:
                gaps.acknowledge(connection, "jane", topic="told")
            assert same(objects(), own, other)
            assert same(objects(state="all"), own, other, of_status)
            (noted,) = [one["acknowledged"] for one in shown(state="acknowledged")]
            assert before_ms <= noted["at_ms"] <= time.time() * 1000
            assert (noted["by"], noted["operator"]) == (connection.info.user, "jane")
