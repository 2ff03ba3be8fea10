"""A wrong answer is unexplained in a capture of any number of partitions of the coordinator's log."""

import pytest

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge, knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.connect.whole_inputs import Stamps
from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import OFFSETS, Story, generations
from tests.streaming.core.rules.consumers import record, shares

HOUR_MS = 3_600_000
RIGHT, WRONG = shares(m1="a-0 a-1", m2="a-2 a-3"), shares(m1="a-0 a-2", m2="a-1 a-3")


def sampled(*samples: tuple[int, int]) -> Knowledge:
    """Brokers told at these times how many partitions the topic has."""
    return knowledge_of([TopicMetadata(at_ms, {"a": (frozenset[str](),) * count}) for at_ms, count in samples])


def story_of(others: int, *, quiet_ms: int) -> Story:
    """A right answer and a wrong one, with commits in so many other partitions, the last ones so long before them."""
    story = Story()
    story.knowledge = sampled((story.now_ms, 4), (story.now_ms + 2 * HOUR_MS, 4))
    for partition in range(1, others + 1):
        story.commit_offsets(partition)
    story.wait(quiet_ms)
    for members in (RIGHT, WRONG):
        record(story, "range", *members)
    return story


@pytest.mark.parametrize("quiet_ms", [1_000, HOUR_MS])
@pytest.mark.parametrize("others", range(5))
def test_a_wrong_answer_is_unexplained(others: int, quiet_ms: int) -> None:
    right, wrong = generations(story_of(others, quiet_ms=quiet_ms).replayed())
    assert (right.verdict.grade, wrong.verdict.grade) == (Grade.MATCH, Grade.UNEXPLAINED)


def test_the_end_of_a_capture_is_no_time_at_which_a_record_was_read() -> None:
    """A topic that the leader could not know yet, at the end of the capture, explains nothing."""
    story = story_of(0, quiet_ms=1_000)
    story.knowledge = sampled((story.now_ms, 4), (story.now_ms + 2 * HOUR_MS, 4), (story.now_ms + 3 * HOUR_MS, 3))
    record(story, "range", *shares(m1="a-0 a-1", m2="a-2"))
    story.wait(4 * HOUR_MS)
    story.commit_offsets()
    assert generations(story.replayed())[-1].verdict.grade is Grade.UNEXPLAINED


def stamped(*newest_ms: int) -> Stamps:
    """An input whose partitions have come so far, the group's first."""
    stamps = Stamps()
    for partition, at_ms in enumerate(newest_ms):
        stamps.logged(OFFSETS, partition, 0, at_ms, exact=True)
    return stamps


@pytest.mark.parametrize(
    ("newest_ms", "end_ms"),
    [
        ([HOUR_MS], HOUR_MS),
        ([HOUR_MS, HOUR_MS + 5_000], HOUR_MS),
        ([HOUR_MS + 9_000, HOUR_MS + 5_000], HOUR_MS + 5_000),
        ([HOUR_MS, 5_000], HOUR_MS),
        ([HOUR_MS, 5_000, HOUR_MS + 5_000], HOUR_MS),
        ([HOUR_MS, HOUR_MS + 9_000, HOUR_MS + 5_000], HOUR_MS + 5_000),
    ],
)
def test_an_input_ends_no_earlier_than_the_groups_last_record(newest_ms: list[int], end_ms: int) -> None:
    assert stamped(*newest_ms).end_ms((OFFSETS, 0), HOUR_MS, {}) == end_ms
