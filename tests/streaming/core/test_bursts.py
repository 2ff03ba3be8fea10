"""Generations of one kind close behind each other are one event; slower or other ones are not."""

from rebalance_monitor.streaming.core.connect.statuses import bursts
from rebalance_monitor.streaming.core.connect.statuses.memory import Timeline
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.session import Work
from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.streaming.states import opened


def told(*records: tuple[int, int]) -> Work:
    """Records as (time, error), generation by generation."""
    work = Work(opened(ClusterSettings(name="c"), "g", None), Timeline())
    for number, (at_ms, error) in enumerate(records, 1):
        source = Source("__consumer_offsets", 0, number)
        step = RecordStep(source=source, incarnation=0, generation=number, at_ms=at_ms, state_ms=at_ms, error=error)
        bursts.stepped(work, step)
    return work


def test_hundreds_of_mismatches_are_one_event() -> None:
    work = told((0, 0), *((1_000 + 5 * one, 1) for one in range(270)), (2_400, 0))
    burst = bursts.of(work, 100)
    assert burst is not None
    assert (burst.kind, burst.count) == ("config_mismatch", 270)
    assert (burst.first_generation, burst.last_generation) == (2, 271)
    assert (burst.first_at_ms, burst.last_at_ms) == (1_000, 1_000 + 5 * 269)
    assert bursts.of(work, 1) is None
    assert bursts.of(work, 272) is None


def test_two_are_no_burst_nor_are_slow_ones() -> None:
    assert bursts.of(told((0, 1), (10, 1)), 2) is None
    assert bursts.of(told((0, 1), (10_000, 1), (20_000, 1)), 2) is None
