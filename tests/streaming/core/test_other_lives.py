"""A group id has several lives; the processes behind it have one, and so has what their leaders remember."""

from assignors.connect_model import Jobs
from streaming.core.results import Grade
from tests.streaming.core.rules.builders import Story, generations, incidents


def gone_quiet() -> Story:
    """Two workers cut off for so long that the group is emptied and its id deleted; both have given up their jobs."""
    story = Story()
    story.configure("c1", 2)
    story.join("w1", "w2")
    story.rebalance()
    story.rebalance()
    workers = list(story.workers.values())
    story.empty()
    story.tombstone()
    story.generation = 0
    for worker in workers:
        worker.header, worker.held = None, Jobs()
        story.back(worker)
    return story


def test_a_leader_that_outlives_its_group_remembers() -> None:
    story = gone_quiet()
    story.rebalance()  # everything counts as lost, and waits (KAFKA-15676)
    story.rebalance(after_ms=301_000)
    results = story.fold()
    told = generations(results)
    assert [one.delay_ms for one in told] == [0, 0, 300_000, 0]
    assert [one.incarnation for one in told] == [0, 0, 1, 1]
    assert all(one.verdict.grade is Grade.MATCH for one in told)
    assert not incidents(results, "CONNECT-I13")


def test_a_leader_that_was_started_anew_with_its_group_is_right_too() -> None:
    story = gone_quiet()
    story.restart("w1")
    story.rebalance(leader="w1")
    assert [one.verdict.grade for one in generations(story.fold())] == [Grade.MATCH] * 3


def test_a_life_whose_beginning_was_not_seen_may_hold_any_memory() -> None:
    """The number is lower than before and not the first: records of this life are missing."""
    story = Story()
    story.configure("c1", 3)
    story.join("w1", "w2")
    for _ in range(9):
        story.rebalance()
    story.empty()
    story.tombstone()
    story.generation = 0
    story.join("w3", "w4", "w5")
    hidden = len(story.rows) - 2  # the empty record, the tombstone and the first two generations are not seen
    story.rebalance(leader="w4")
    story.leave("w5")
    story.rebalance()
    first_seen = len(story.rows)
    story.rebalance(after_ms=60_000)
    del story.rows[hidden:first_seen]
    told = generations(story.fold())
    assert [(one.incarnation, one.generation) for one in told][-1] == (1, 3)
    assert told[-1].delay_ms > 0
    assert told[-1].verdict.grade is Grade.EXPLAINABLE


def test_a_life_whose_first_generation_left_no_record() -> None:
    """The leader opened a delay in generation 1, which was restarted before it was written; 2 has the rest of it."""
    story = gone_quiet()
    story.rebalance(recorded=False)
    story.rebalance(after_ms=30_000)
    story.rebalance()
    told = generations(story.fold())
    assert [(one.incarnation, one.generation, one.delay_ms) for one in told][-2:] == [(1, 2, 270_000), (1, 3, 269_000)]
    assert [one.verdict.grade for one in told][-2:] == [Grade.EXPLAINABLE, Grade.MATCH]
