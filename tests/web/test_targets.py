"""What the page tells of targets of KIP-848 groups."""

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.stories.story import Story, story
from rebalance_monitor.streaming.web.rows import GenerationRow
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "kip848-a"


def stories() -> list[Story]:
    objects = replay(records_of(CAPTURE), settings_of(CAPTURE), knowledge=knowledge_of(CAPTURE)).objects
    documents = [one for one in objects if one["kind"] == "generation" and one["lifecycle"] == "consumer"]
    return [story(GenerationRow(one, "k", one["group"], "0")) for one in documents]


def test_every_target_is_told_with_its_end() -> None:
    told = stories()
    assert len(told) > 200
    assert all(one.leader == "" and one.causes and one.target for one in told)
    assert any(one.target == "every member held its target 1.8 s after a new one was needed" for one in told)
    assert any(one.target == "epoch 7 came before every member held its target" for one in told)
