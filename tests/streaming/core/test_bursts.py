"""Generations of one kind close behind each other are one event; slower or other ones are not."""

from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.settling import burst_of, with_record
from rebalance_monitor.streaming.core.model.details import Burst
from rebalance_monitor.streaming.core.model.results import Source


def told(*records: tuple[int, int]) -> tuple[Burst, ...]:
    """Records as (time, error), generation by generation."""
    bursts: tuple[Burst, ...] = ()
    for number, (at_ms, error) in enumerate(records, 1):
        source = Source("__consumer_offsets", 0, number)
        step = RecordStep(source=source, incarnation=0, generation=number, at_ms=at_ms, state_ms=at_ms, error=error)
        bursts = with_record(bursts, step)
    return bursts


def test_hundreds_of_mismatches_are_one_event() -> None:
    bursts = told((0, 0), *((1_000 + 5 * one, 1) for one in range(270)), (2_400, 0))
    burst = burst_of(bursts, 100)
    assert burst is not None
    assert (burst.kind, burst.count) == ("config_mismatch", 270)
    assert (burst.first_generation, burst.last_generation) == (2, 271)
    assert (burst.first_at_ms, burst.last_at_ms) == (1_000, 1_000 + 5 * 269)
    assert burst_of(bursts, 1) is None
    assert burst_of(bursts, 272) is None


def test_two_are_no_burst_nor_are_slow_ones() -> None:
    assert burst_of(told((0, 1), (10, 1)), 2) is None
    assert burst_of(told((0, 1), (10_000, 1), (20_000, 1)), 2) is None
