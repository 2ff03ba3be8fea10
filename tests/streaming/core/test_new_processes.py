"""A worker that was restarted is another process: it remembers nothing, and may run another release.

Seen on a real cluster that was upgraded from 2.6.3 to 4.3.1 worker by worker.
"""

from dataclasses import replace

from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.streaming.core.connect.leader import hypotheses
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, STATUSES, Story, generations, incidents
from tests.streaming.core.rules.edits import drop

KNOWN = ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES, max_delay_ms=300_000)
ANOTHER = "the leader runs another release than those before it"


def upgraded(known: ConnectSettings | None = None) -> Story:
    """Three workers of 2.6.3, restarted one by one with 4.3.1; then work for the new leader."""
    story = Story(era="A3a", known=known)
    story.configure("c1", 7)
    story.join("w1", "w2", "w3")
    story.rebalance()
    for name in ("w2", "w3", "w1"):
        story.leave(name)
        if name == "w1":  # the last leader of the old release
            story.era = ERAS["A5"]
        story.rebalance()
        story.join(name)
        story.rebalance()
        story.rebalance()
        story.rebalance(after_ms=300_000)
        story.rebalance()
    story.configure("c2", 5)
    story.rebalance()
    return story


def test_the_first_leader_of_another_release_is_explained_and_then_known() -> None:
    story = upgraded()
    results = story.fold()
    verdicts = [one.verdict for one in generations(results)]
    assert [one.why for one in verdicts if one.grade is not Grade.MATCH] == [ANOTHER]
    assert "A5" in verdicts[-1].eras
    assert "A3a" not in verdicts[-1].eras
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_a_first_leader_that_answers_like_the_old_release_may_still_be_of_another() -> None:
    story = Story(era="A3b")
    story.configure("c1", 6)
    story.configure("c2", 1)
    story.join("w1", "w2")
    story.rebalance()
    story.join("w3")
    story.rebalance()
    story.rebalance()
    story.leave("w1")
    story.era = ERAS["A5"]
    story.rebalance()
    story.rebalance()
    story.join("w4")
    story.rebalance()
    story.join("w5")
    story.rebalance()
    story.rebalance(after_ms=10)
    verdicts = [one.verdict for one in generations(story.fold())]
    assert {one.grade for one in verdicts} == {Grade.MATCH}
    assert "A5" in verdicts[-1].eras


def test_a_mistake_of_the_first_leader_of_another_release_is_still_one() -> None:
    story = Story(era="A3a")
    story.configure("c1", 7)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.leave("w1")
    story.era = ERAS["A5"]
    story.rebalance(drop("w2", "c1-0"))
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED


def test_the_configured_release_is_named_when_a_leader_runs_another_one() -> None:
    verdicts = [one.verdict for one in generations(upgraded(replace(KNOWN, release="2.6.3")).fold())]
    reasons = [one.why for one in verdicts if one.grade is not Grade.MATCH]
    assert reasons == ["the leader runs another release than the configured 2.6.3"]


def test_what_is_configured_wins_over_what_a_group_has_shown() -> None:
    assert hypotheses.eras_of(("A3a",), ConnectSettings(release="4.3.1")) == ("A5",)
    assert hypotheses.eras_of(("A3a",), ConnectSettings()) == ("A3a",)
    assert hypotheses.eras_of((), ConnectSettings()) == hypotheses.all_eras()


def test_a_worker_that_was_restarted_as_a_follower_leads_without_memory() -> None:
    story = Story(known=replace(KNOWN, release="4.3.1"))
    story.configure("c1", 6)
    story.join("w1", "w2")
    story.rebalance()
    story.join("w3")
    story.rebalance()  # w1 revokes for balance, and would remember that
    story.restart("w1")
    story.rebalance(leader="w2")
    story.rebalance(leader="w2")
    story.rebalance(leader="w2", after_ms=300_000)
    story.leave("w2")
    story.rebalance(leader="w1")
    story.rebalance(leader="w1")
    results = story.fold()
    assert {one.verdict.grade for one in generations(results)} == {Grade.MATCH}
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]
