"""What `make advised` compares, and what it measures for that."""

from pathlib import Path

import pytest

from lab.advised.compared import Compared, agree, table
from lab.advised.played import IdleTime, idle
from rebalance_monitor.streaming.cli.group_sources import capture_of

CAPTURE = Path(__file__).parents[1] / "vectors" / "captures" / "sessioned-4.3.1"
OTHERS = (4, 4, 4, 4, 4, 4, 4, 4)


def figure(measured: int, *, tolerance: int = 0, left_out: int = 0) -> Compared:
    return Compared(
        experiment="range-to-static", figure="moved", least=3, most=5, measured=measured, tolerance=tolerance,
        left_out=left_out,
    )  # fmt: skip


@pytest.mark.parametrize(("measured", "within"), [(2, False), (3, True), (5, True), (7, True), (8, False)])
def test_only_above_the_interval_is_there_a_tolerance(measured: int, within: bool) -> None:
    assert figure(measured, tolerance=2).within is within


def test_figures_of_other_rebalances_do_not_compare() -> None:
    assert not figure(4, left_out=1).within
    assert "no: 1 rebalances left out" in "\n".join(table([figure(4, left_out=1)]))


def test_nine_of_ten_are_enough_and_none_is_not() -> None:
    assert agree([figure(one) for one in (*OTHERS, 4, 6)])
    assert not agree([figure(one) for one in (*OTHERS, 6, 6)])
    assert not agree([])


@pytest.mark.parametrize(("measured_ms", "within"), [(19_400, False), (19_600, True), (24_400, True), (24_600, False)])
def test_a_record_is_a_moment_later_than_the_leader(measured_ms: int, within: bool) -> None:
    one = Compared(
        experiment="a-to-b", figure="idle_ms", least=20_000, most=20_000, measured=measured_ms, tolerance=4_000
    )
    assert one.within is within


def test_times_are_shown_in_seconds() -> None:
    one = Compared(experiment="a-to-b", figure="idle_ms", least=20_000, most=20_000, measured=21_500, tolerance=4_000)
    heading, line, last = table([one])
    assert line.split() == ["a-to-b", "idle_ms", "20.0", "s", "+4.0", "s", "21.5", "s", "yes"]
    assert line.index("yes") == heading.index("within")
    assert last == "1 of 1 figures are within"


def test_idle_times_of_a_capture_are_more_than_its_delays() -> None:
    """In this capture six connectors and tasks waited for eight seconds, later four. Between a revocation and the
    rebalance after it lay three seconds or less. Records are some milliseconds later than the leader's clock."""
    generations = list(capture_of(str(CAPTURE)).generations(("sessioned-4.3.1", "connect-main")))
    assert idle(generations) == IdleTime(total_ms=112_183, rebalancing_ms=32_195)
