"""A config topic that was compacted before it was read proves no family: what fits without it may fit by chance."""

from collections import Counter
from collections.abc import Iterator

import pytest

from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, replay
from tests.vector_files import CAPTURES

CAPTURE = CAPTURES / "sessioned-4.3.1"


def compacted(records: list[RawRecord], until_ms: int) -> Iterator[RawRecord]:
    """Of the config records before `until_ms` only the newest of each key."""
    old = [one for one in records if one.topic.endswith("-configs") and one.timestamp_ms < until_ms]
    kept = {one.key: one for one in old}
    for record in records:
        if record not in old or kept[record.key] is record:
            yield record


@pytest.mark.parametrize("part", [0.3, 0.5, 0.7])
def test_no_leader_is_accused_because_the_config_topic_was_compacted(part: float) -> None:
    records = list(records_of(CAPTURE))
    rounds = [one for one in records if one.topic == OFFSETS_TOPIC]
    until_ms = rounds[int(len(rounds) * part)].timestamp_ms
    told = replay(compacted(records, until_ms), ClusterSettings(name="cluster")).objects
    generations = [one for one in told if one["kind"] == "generation" and one["members"]]
    grades = Counter(one["verdict"]["grade"] for one in generations)
    assert len(generations) > 30
    assert not grades["unexplained"]
    assert grades["match"] > 10
    assert not [one for one in told if one["kind"] == "violation" and one["code"] == "CONNECT-I13"]
