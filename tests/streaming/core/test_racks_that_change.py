"""Range with racks while brokers die and come back: a leader may know of it seconds before a sample shows it."""

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from rebalance_monitor.streaming.core.cluster.topics import history_of
from rebalance_monitor.streaming.core.model.results import Grade
from tests.profile import size
from tests.streaming.core.racked import Racked, all_alive, racked
from tests.streaming.core.test_consumer_captures import consumer_verdict, swapped

SEEDS = range(size(6, 60))


def grades(story: Racked) -> Counter[Grade]:
    return Counter(consumer_verdict(story.history, body, record.timestamp_ms) for record, body in story.generations)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_that_sees_a_dead_broker_before_the_sample_does_is_right(seed: int) -> None:
    found = grades(racked(seed))
    assert found[Grade.UNEXPLAINED] == 0
    assert found[Grade.MATCH] >= 20


def test_the_racks_decide_the_answers() -> None:
    """By the last sample before the record alone, many of these answers would be called wrong."""
    wrong = 0
    for seed in SEEDS:
        story = racked(seed)
        for record, body in story.generations:
            last = [one for one in story.metadata if one.at_ms <= record.timestamp_ms][-1:]
            wrong += consumer_verdict(history_of(last), body, record.timestamp_ms) is Grade.UNEXPLAINED
    assert wrong > 10 * len(SEEDS) // 6


def test_no_other_share_is_excused_by_racks() -> None:
    """A partition given to the wrong member is still seen, near a change of racks and away from one."""
    mutants: Counter[Grade] = Counter()
    for seed in SEEDS[:5]:
        story = racked(seed)
        for record, body in story.generations[seed % 4 :: 4]:
            for members in islice(swapped(body.members), seed % 7, None, 23):
                mutants[consumer_verdict(story.history, replace(body, members=members), record.timestamp_ms)] += 1
    assert mutants.total() > 80
    assert mutants[Grade.UNEXPLAINED] / mutants.total() >= 0.98


def test_a_broker_that_restarts_between_two_samples_excuses_the_answer() -> None:
    """A restart of seconds shows in no sample, but the leader's metadata of that moment lack the broker's rack."""
    found = Counter(consumer_verdict(all_alive(), body, record.timestamp_ms) for record, body in racked(0).generations)
    assert found[Grade.EXPLAINABLE] > 0
    assert found[Grade.UNEXPLAINED] == 0
