"""Share groups of Kafka's own clients on a real broker: every target is judged and right, and nothing is found."""

from collections import Counter
from pathlib import Path

import pytest

from lab.share.__main__ import take
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay
from tests.integration.watched import own_lab

pytestmark = pytest.mark.integration


def test_every_target_of_real_share_groups_matches(tmp_path: Path) -> None:
    with own_lab("share-groups") as lab:
        take(lab, tmp_path, steps=8, seed=3)
    objects = replay(records_of(tmp_path), settings_of(tmp_path), knowledge=knowledge_of(tmp_path)).objects
    assert {one["kind"] for one in objects} == {"generation", "summary"}
    targets = [one for one in objects if one["kind"] == "generation"]
    assert Counter(one["verdict"]["grade"] for one in targets) == {"match": len(targets)}
    assert {one["group"] for one in targets} == {"share-equal", "share-mixed"}
    causes = {cause["kind"] for one in targets for cause in one["cause"]}
    assert {"member_joined", "partitions_initialized"} <= causes
    assert "unknown" not in causes
