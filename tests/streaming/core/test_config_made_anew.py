"""The config topic was deleted and made anew before the monitor saw it; the group's older records are still there."""

from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from tests.streaming.core.rules.builders import CONFIGS, GROUP, Story, generations, incidents


def test_generations_older_than_the_config_topic_are_not_judged_by_it() -> None:
    story = Story.begun({"old1": 2, "old2": 1}, "w1", "w2", rebalances=2)
    for name in ("w1", "w2"):
        story.leave(name)
    story.rows = [row for row in story.rows if row.topic != CONFIGS]
    story.wait(24 * 3_600_000)
    story.snapshots = [{}]
    story.configure("new1", 3)
    story.configure("new2", 1)
    story.configure("new3", 1)
    story.join("w1", "w2")
    story.rebalance(leader="w1")
    story.rebalance()
    results = story.fold()
    verdicts = [one.verdict for one in generations(results) if one.verdict.pending_until_ms is None]
    assert [one.grade for one in verdicts[:2]] == [Grade.NOT_JUDGED] * 2
    assert {one.why for one in verdicts[:2]} == {
        "config topic g-configs is newer than this generation: what its leader had read is gone"
    }
    assert Grade.UNEXPLAINED not in {one.grade for one in verdicts}
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def soon_after() -> Story:
    """The topic is made anew within the minute, by the time of a group whose coordinator's clock is right."""
    story = Story.begun({"old1": 2, "old2": 1}, "w1", "w2", rebalances=2)
    for name in ("w1", "w2"):
        story.leave(name)
    story.rows = [row for row in story.rows if row.topic != CONFIGS]
    story.wait(20_000)
    story.snapshots = [{}]
    story.configure("new1", 1)
    story.wait(1_000)
    story.join("w1", "w2")
    story.rebalance(leader="w1")
    story.configure("new2", 3)
    story.configure("new3", 1)
    return story


def test_offsets_that_begin_anew_tell_a_new_topic_from_a_slow_clock() -> None:
    story = soon_after()
    for _ in range(3):
        story.rebalance()
    results = fold_group(story.settings, GROUP, None, story.rows, None, end_of_input=True).results
    verdicts = [one.verdict for one in generations(results) if one.verdict.pending_until_ms is None]
    assert {one.why for one in verdicts[:2]} == {
        "config topic g-configs is newer than this generation: what its leader had read is gone"
    }
    assert Grade.UNEXPLAINED not in {one.grade for one in verdicts}
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]
