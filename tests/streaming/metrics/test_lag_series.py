"""Series of lag: of groups, and as far as their budget goes of topics and partitions."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.config.metrics import MetricsSection
from rebalance_monitor.streaming.core.lag_metrics import LAG_METRICS
from rebalance_monitor.streaming.core.metric import PREFIX
from tests.streaming.builders import cost, lag
from tests.streaming.metrics.test_cardinality import NO_SAMPLE, World

OF_GROUP = 7
OF_TOPIC = 2
OF_PARTITION = 4


def count(world: World) -> int:
    """Series of lag that are shown."""
    world.series.sweep(int(world.now_s * 1000))
    shown = (world.families.made[metric.name].collect() for metric in LAG_METRICS)
    return sum(len(family.samples) for metric in shown for family in metric if "hidden" not in family.name)


@pytest.mark.parametrize(
    ("level", "series"),
    [
        ("off", 0),
        ("group", OF_GROUP),
        ("topic", OF_GROUP + OF_TOPIC),
        ("partition", OF_GROUP + OF_TOPIC + 2 * OF_PARTITION),
    ],
)
def test_what_has_series_the_configuration_says(level: str, series: int) -> None:
    world = World(lag=level)
    world.rebalance("g")
    world.series.observe([lag()])
    assert count(world) == series


def test_values_are_seconds_and_what_is_not_known_has_no_series() -> None:
    world = World(lag="partition")
    world.rebalance("g")
    world.series.observe([lag()])
    assert world.value(f"{PREFIX}lag_records", group="g") == 40
    assert world.value(f"{PREFIX}lag_seconds", group="g") == 8
    assert world.value(f"{PREFIX}lag_trend", group="g") == 0
    place = {"group": "g", "topic": "orders", "partition": "0"}
    assert world.value(f"{PREFIX}partition_end_offset", **place) == 100
    told = lag(lag=None, lag_ms=None, trend=None, unknown=2, changed_ms=None, answered_ms=1_700_000_030_000)
    lost = tuple(replace(one, end=None, lag=None, lag_ms=None) for one in told.partitions[:1])
    world.series.observe([replace(told, partitions=lost)])
    for name in ("lag_records", "lag_seconds", "lag_trend", "commit_changed_timestamp_seconds"):
        assert world.value(f"{PREFIX}{name}", group="g") == NO_SAMPLE
    assert world.value(f"{PREFIX}lag_unknown_partitions", group="g") == 2
    assert world.value(f"{PREFIX}partition_committed_offset", **place) == 60
    assert world.value(f"{PREFIX}partition_lag_records", **place) == NO_SAMPLE
    assert world.value(f"{PREFIX}partition_lag_records", **{**place, "partition": "1"}) == NO_SAMPLE


def test_a_group_has_all_its_partitions_or_none_and_keeps_its_place() -> None:
    world = World(lag="partition", max_lags=3)
    for group in ("a", "b", "c"):
        world.rebalance(group)
    world.series.observe([lag("a"), lag("b"), lag("c")])
    assert count(world) == 3 * OF_GROUP + OF_TOPIC + 2 * OF_PARTITION
    assert world.value(f"{PREFIX}hidden_lags") == 4
    world.series.observe([lag("c", answered_ms=1_700_000_030_000), lag("a", answered_ms=1_700_000_030_000)])
    assert world.value(f"{PREFIX}partition_lag_records", group="a", topic="orders", partition="0") == 40
    world.series.observe([lag("a", answered_ms=1_700_000_060_000, more_partitions=9)])
    assert world.value(f"{PREFIX}hidden_lags") == 4 + 9


def test_only_groups_that_fit_have_topics() -> None:
    world = World(lag="topic", lag_groups=("a*",))
    for group in ("a", "b"):
        world.rebalance(group)
    world.series.observe([lag("a"), lag("b")])
    assert count(world) == 2 * OF_GROUP + OF_TOPIC
    assert world.value(f"{PREFIX}hidden_lags") == 0


def test_a_group_without_series_of_its_own_has_none_of_lag() -> None:
    world = World(max_groups=1)
    world.rebalance("g")
    world.series.observe([lag(), lag("h"), cost("h")])
    assert world.value(f"{PREFIX}lag_records", group="h") == NO_SAMPLE
    assert world.value(f"{PREFIX}rebalance_held_up_records_total", group="") == 4_000


def test_a_group_that_is_gone_has_no_lag() -> None:
    world = World()
    world.rebalance("g")
    world.series.observe([lag(), world.standing("g", "Dead")])
    assert count(world) == OF_GROUP
    world.now_s += 4_000
    assert count(world) == count(world) == 0


def test_what_rebalances_held_up_is_counted() -> None:
    world = World()
    world.rebalance("g")
    unknown = cost(before=None, records=None, caught_up_ms=None, why="not known: no sample in the two minutes before")
    open_end = cost(records=100, caught_up_ms=None, rebalances=2, why="it has not caught up within an hour")
    world.series.observe([cost(), unknown, open_end])
    measured = f"{PREFIX}rebalances_measured_total"
    outcomes = {"caught_up": 1, "not_known": 1, "not_caught_up": 2}
    assert {one: world.value(measured, group="g", outcome=one) for one in outcomes} == outcomes
    assert world.value(f"{PREFIX}rebalance_held_up_records_total", group="g") == 4_100
    assert world.value(f"{PREFIX}rebalance_held_up_seconds_total", group="g") == 60
    assert world.value(f"{PREFIX}rebalance_caught_up_timestamp_seconds", group="g") == NO_SAMPLE
    world.series.observe([cost()])
    assert world.value(f"{PREFIX}rebalance_caught_up_timestamp_seconds", group="g") == 1_700_000_060


def test_counters_of_what_is_held_up_begin_at_0() -> None:
    """`rate` does not see the sample that creates a series; what is open is told before it is settled."""
    world = World()
    world.rebalance("g")
    world.series.observe([lag()])
    records = f"{PREFIX}rebalance_held_up_records_total"
    assert world.value(records, group="g") == NO_SAMPLE
    world.series.observe([lag(held_up=replace(cost().held_up, final=False, caught_up_ms=None))])
    assert world.value(records, group="g") == 0
    assert world.value(f"{PREFIX}rebalance_held_up_seconds_total", group="g") == 0
    outcomes = ("caught_up", "not_caught_up", "not_known")
    measured = [world.value(f"{PREFIX}rebalances_measured_total", group="g", outcome=one) for one in outcomes]
    assert measured == [0, 0, 0]


def test_what_several_rebalances_held_up_together_is_counted_once() -> None:
    """The records of the last one are held against the lag before the first one."""
    world = World()
    world.rebalance("g")
    first = cost(records=3_000, caught_up_ms=None, followed=4, why="generation 4 came before that")
    world.series.observe([first, cost(generation=4)])
    assert world.value(f"{PREFIX}rebalance_held_up_records_total", group="g") == 4_000
    assert world.value(f"{PREFIX}rebalances_measured_total", group="g", outcome="not_caught_up") == 1


def test_the_defaults_are_those_of_the_configuration() -> None:
    section = MetricsSection()
    assert (section.lag, section.lag_groups, section.max_lags) == ("group", ("*",), 10_000)
