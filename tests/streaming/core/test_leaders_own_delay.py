"""Each worker has a maximum delay of its own, and the leader's counts: one that differs from the configured one is
another setting, not a mistake."""

import pytest

from streaming.core.results import Grade
from streaming.core.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, STATUSES, Story, generations, incidents
from tests.streaming.core.rules.edits import drop
from tests.streaming.core.rules.processes import JAVA

REASON = "the leader's scheduled.rebalance.max.delay.ms is not the configured 60000"


def lost_a_worker(max_delay_ms: int) -> Story:
    topics = ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES, max_delay_ms=60_000, java_version=JAVA)
    story = Story(max_delay_ms=max_delay_ms, known=topics)
    story.configure("c1", 4)
    story.configure("c2", 3)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.configure("c4", 3)
    story.rebalance()
    story.leave("w3")
    return story


@pytest.mark.parametrize("max_delay_ms", [0, 8_000, 300_000])
def test_another_delay_explains_the_answer_and_is_known_from_then_on(max_delay_ms: int) -> None:
    story = lost_a_worker(max_delay_ms)
    story.rebalance()
    story.rebalance(after_ms=2_000)
    story.rebalance(after_ms=300_000)
    results = story.fold()
    verdicts = [one.verdict for one in generations(results)]
    assert [one.grade for one in verdicts[2:]] == [Grade.EXPLAINABLE, Grade.MATCH, Grade.MATCH]
    assert verdicts[2].reason == REASON
    assert not incidents(results, "CONNECT-I13")


@pytest.mark.parametrize("max_delay_ms", [8_000, 60_000, 300_000])
def test_it_excuses_no_mistake(max_delay_ms: int) -> None:
    story = lost_a_worker(max_delay_ms)
    story.rebalance()
    story.rebalance(after_ms=2_000)
    story.configure("c3", 3)
    story.rebalance(drop("w1", "c3-1"), after_ms=300_000)
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED
