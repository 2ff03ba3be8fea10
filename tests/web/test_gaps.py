"""The group's page shows what was gone before it could be read, of the topics that the group is judged from alone."""

from pathlib import Path

import httpx
import pytest

from streaming.core.results import GapRecord
from streaming.sinks import gaps
from tests.streaming.sinks import builders
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
            httpx.Client(base_url=url, timeout=20) as client,
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
