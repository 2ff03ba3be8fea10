"""A leader without any delay, of which nobody was told: what it did in an unseen round must not make it a liar."""

from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, STATUSES, Story, generations
from tests.streaming.core.rules.edits import drop


def after_an_unseen_round() -> Story:
    """Before 3.5.2 with a maximum delay of 0: lost jobs are handed out a round late, and no delay is ever shown."""
    story = Story(era="A4", max_delay_ms=0, known=ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES))
    story.configure("c1", 4)
    story.configure("c2", 3)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.rebalance()
    story.configure("c3", 5)
    story.rebalance(recorded=False)
    story.leave("w3")
    return story


def test_the_missing_generation_explains_the_answer() -> None:
    story = after_an_unseen_round()
    for _ in range(3):
        story.rebalance()
    verdicts = [one.verdict for one in generations(story.fold())]
    assert [one.grade for one in verdicts] == [
        Grade.MATCH,
        Grade.MATCH,
        Grade.EXPLAINABLE,
        Grade.MATCH,
        Grade.MATCH,
    ]
    assert "A4" in verdicts[-1].eras
    assert "A5" not in verdicts[-1].eras


def test_a_job_dropped_afterwards_is_still_seen() -> None:
    story = after_an_unseen_round()
    story.rebalance()
    story.rebalance()
    story.configure("c4", 4)
    story.rebalance(drop("w1", "c4-0"))
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED
