"""Groups that rebalance often, with and without a reason: seen on real clusters of 2.4.1 and 4.3.1."""

from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, STATUSES, Story, incidents


def created_in_bulk(known: ConnectSettings | None = None) -> Story:
    story = Story(known=known)
    story.join("w1", "w2", "w3")
    story.rebalance()
    for number in range(12):
        story.configure(f"c{number}", 2)
        story.rebalance(after_ms=300)
        story.rebalance(after_ms=300)
    return story


def test_connectors_made_in_bulk_are_no_storm_though_the_config_topic_may_not_be_read() -> None:
    known = ConnectSettings(config_topic=None, status_topic=STATUSES, max_delay_ms=300_000)
    results = created_in_bulk(known).fold()
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_connectors_changed_in_bulk_are_no_storm_though_the_changes_were_compacted_away() -> None:
    story = Story.begun({"c1": 2, "c2": 2}, "w1", "w2", "w3")
    for _ in range(8):
        story.configure("c1", 2)
        story.rebalance(after_ms=300)
        story.rebalance(after_ms=300)
    newest = {repr(row.body): row for row in story.rows if row.topic == CONFIGS}.values()
    story.rows = [row for row in story.rows if row.topic != CONFIGS or row in newest]
    assert not incidents(story.fold(), "CONNECT-K10")


def test_a_storm_is_one_though_the_config_topic_may_not_be_read() -> None:
    known = ConnectSettings(config_topic=None, status_topic=STATUSES, max_delay_ms=300_000)
    story = Story(known=known)
    story.configure("c1", 2)
    story.join("w1", "w2", "w3")
    for _ in range(12):
        story.rebalance(after_ms=300)
    assert incidents(story.fold(), "CONNECT-K10")


def test_a_worker_that_never_catches_up_is_told_though_it_leaves_and_rejoins() -> None:
    """It follows another config topic: after each try to catch up it leaves, and joins anew with what it was given."""
    story = Story.begun({"c1": 4}, "w1")
    story.join("w2")
    story.workers["w2"].reads_until = 0
    story.rebalance()
    story.rebalance()
    for _ in range(3):
        story.back(story.leave("w2"))
        story.rebalance(after_ms=7_500)
    (told,) = {one.subjects for one in incidents(story.fold(), "CONNECT-K11")}
    assert [one.id for one in told] == ["w2:8083"]
