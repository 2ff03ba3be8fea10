"""CONNECT-K18: no worker is left, and connectors should run."""

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS
from tests.streaming.core.rules.cases_clocks import CLOCKS, stamped_by_another

CODE = "CONNECT-K18"


def rest(story: Story, name: str, state: str | None = "PAUSED") -> None:
    """Set the target state of a connector."""
    story.config(f"target-state-{name}", None if state is None else {"state": state}, story.snapshots[-1])


def two_workers() -> Story:
    """w1 and w2 run c1 and c2 with a task each."""
    story = Story.begun({"c1": 1, "c2": 1}, "w1", "w2")
    story.wait(10_000)
    return story


def left(story: Story) -> Story:
    story.wait(1_000)
    story.empty()
    return story


def all_workers_went_away() -> Story:
    return left(two_workers()).until(20 * MINUTE_MS)


def the_group_was_deleted_too() -> Story:
    story = left(two_workers())
    story.wait(2 * MINUTE_MS)
    story.tombstone()
    return story.until(20 * MINUTE_MS)


def one_of_two_connectors_rests() -> Story:
    story = two_workers()
    rest(story, "c1")
    return left(story).until(20 * MINUTE_MS)


def all_restarted_at_once() -> Story:
    story = left(two_workers())
    story.join("w1", "w2")
    story.rebalance(after_ms=DELAY_MS - 1_000)
    return story.until(MINUTE_MS)


def scaled_to_zero_with_connectors_at_rest() -> Story:
    story = two_workers()
    rest(story, "c1")
    rest(story, "c2", "STOPPED")
    return left(story).until(24 * 60 * MINUTE_MS)


def scaled_to_zero_without_connectors() -> Story:
    story = two_workers()
    story.delete("c1")
    story.delete("c2")
    return left(story).until(24 * 60 * MINUTE_MS)


def it_was_another_clusters_group() -> Story:
    """The leader hands out a connector that the watched topic does not have, at an offset it has not reached."""
    story = two_workers()
    foreign = Story()
    for name in ("x1", "x2", "x3", "x4"):
        foreign.configure(name, 3)
    foreign.generation, foreign.now_ms = story.generation, story.now_ms
    foreign.offsets = story.offsets
    foreign.join("w8", "w9")
    foreign.rebalance()
    foreign.wait(1_000)
    foreign.empty()
    groups = [row for row in foreign.rows if row.topic == "__consumer_offsets"]
    story.rows.extend(groups)
    story.now_ms = foreign.now_ms
    return story.until(20 * MINUTE_MS)


def joined_again_under_another_clock() -> Story:
    story = left(two_workers())
    story.join("w1", "w2")
    story.rebalance(after_ms=20_000)
    return stamped_by_another(story, 20 * MINUTE_MS)


CASES: tuple[Case, ...] = (
    Broken(code=CODE, story=all_workers_went_away, subjects=("group g",), severity=Severity.CRITICAL, says="c1, c2"),
    Broken(code=CODE, story=the_group_was_deleted_too, subjects=("group g",), severity=Severity.CRITICAL),
    Broken(code=CODE, story=one_of_two_connectors_rests, subjects=("group g",), severity=Severity.CRITICAL, says="c2"),
    NearMiss(code=CODE, exception="a worker joins before the patience is over", story=all_restarted_at_once),
    NearMiss(code=CODE, exception="all connectors are paused or stopped", story=scaled_to_zero_with_connectors_at_rest),
    NearMiss(code=CODE, exception="all connectors were deleted", story=scaled_to_zero_without_connectors),
    NearMiss(code=CODE, exception="the last leader read another config topic", story=it_was_another_clusters_group),
    NearMiss(code=CODE, exception=CLOCKS, story=joined_again_under_another_clock, at_most=Severity.INFO),
)
