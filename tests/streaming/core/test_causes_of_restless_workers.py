"""What makes workers rebalance that are not done with the round before: seen with Connect 2.6.3, 3.9.1 and 4.3.1."""

from rebalance_monitor.streaming.core.model.results import Certainty, Subject
from tests.streaming.core.rules.builders import Story, generations


def test_a_new_configuration_read_during_a_delay_is_the_cause_of_the_rebalance_it_forces() -> None:
    story = Story.begun({"c1": 4}, "w1", "w2", "w3")
    story.leave("w3")
    story.rebalance()
    story.configure("c1")
    story.rebalance()
    (cause,) = generations(story.fold())[-1].cause
    assert cause.kind == "connector_reconfigured"
    assert cause.subjects == (Subject("connector", "c1"),)
    assert cause.certainty is Certainty.LIKELY


def test_a_rebalance_without_any_sign_stays_unknown() -> None:
    story = Story.begun({"c1": 4}, "w1", "w2", rebalances=2)
    assert [one.kind for one in generations(story.fold())[-1].cause] == ["unknown"]
