"""A group id has several lives; the processes behind it have one, and so has what their leaders remember."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.streaming.core.incidents.of_every_group import GENERATION_BACK
from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import OFFSETS, Story, generations, incidents
from tests.streaming.core.rules.test_no_alarm import LIVES, WORLDS
from tests.streaming.core.test_clock_steps import Punctual, alarms, taken_over


def gone_quiet() -> Story:
    """Two workers cut off for so long that the group is emptied and its id deleted; both have given up their jobs."""
    story = Story.begun({"c1": 2}, "w1", "w2", rebalances=2)
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
    assert [one.connect.delay_ms for one in told] == [0, 0, 300_000, 0]
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
    assert (told[-1].connect.delay_ms or 0) > 0
    assert told[-1].verdict.grade is Grade.EXPLAINABLE


def test_a_life_whose_first_generation_left_no_record() -> None:
    """The leader opened a delay in generation 1, which was restarted before it was written; 2 has the rest of it."""
    story = gone_quiet()
    story.rebalance(recorded=False)
    story.rebalance(after_ms=30_000)
    story.rebalance()
    told = generations(story.fold())
    assert [(one.incarnation, one.generation, one.connect.delay_ms) for one in told][-2:] == [
        (1, 2, 270_000),
        (1, 3, 269_000),
    ]
    assert [one.verdict.grade for one in told][-2:] == [Grade.EXPLAINABLE, Grade.MATCH]


class Reborn(Punctual):
    """A punctual group whose id is reused, and whose numbers another coordinator hands out again."""

    def settle(self) -> None:
        super().settle()
        workers = list(self.story.workers.values())
        match self.dice.choice(
            ["nothing", "copied", "lost", "replaced", "recreated", "outlived", "emptied", "unclean"]
        ):
            case "copied":  # the leader's request was repeated
                last = [row for row in self.story.rows if row.topic == OFFSETS][-1]
                self.story.rows.append(replace(last, offset=self.story.offsets[OFFSETS]))
                self.story.offsets[OFFSETS] += 1
                return
            case "lost":  # the next coordinator knows one record less
                self.story.generation -= 1
            case "replaced":
                self.story.generation -= 1
                for worker in workers:
                    self.story.restart(worker.name)
            case "recreated":
                self.reborn()
                self.join()
            case "outlived":
                self.reborn()
                for worker in workers:
                    worker.header, worker.held = None, Jobs()
                    self.story.back(worker)
            case "emptied":
                self.story.empty()
                self.join()
            case "unclean":  # a replica that is far behind becomes the leader of the partition
                self.story.generation = max(0, self.story.generation - 3)
            case _:
                return
        self.round()
        while self.revoked or self.delay_ms:
            self.round(300 if self.revoked else self.delay_ms + 50)

    def reborn(self) -> None:
        self.story.empty()
        self.story.tombstone()
        self.story.generation = 0


@pytest.mark.parametrize("world", ["A5", "A3b", "static"])
@settings(max_examples=LIVES)
@given(seed=st.integers(0, 2**32), max_delay_ms=st.sampled_from([0, 40, 60_000, 300_000]), steps=st.booleans())
def test_a_right_leader_raises_no_alarm_in_any_life(world: str, seed: int, max_delay_ms: int, steps: bool) -> None:
    protocol, era = WORLDS[world]
    story = Story(protocol, era=era, max_delay_ms=max_delay_ms)
    Reborn(story, seed).live(6)
    if steps:
        taken_over(story, random.Random(seed))
    # A log that lost records is told as that, and accuses no leader.
    assert set(alarms(story, story.fold())) <= {GENERATION_BACK.code}
