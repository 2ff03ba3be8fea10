"""Whatever clock is off, and by how much: no alarm that is not there with right clocks, and none less.

Duplicates of the zombies are decided by what the records themselves say, so no clock makes them undecidable.
"""

import functools

import pytest

from tests.profile import size
from tests.streaming.core.clocks_apart import NAMES, Apart, harm

APART_MS = [sign * ms for ms in (50, 100, 200, 500, 1_000, 3_000, 30_000, 300_000, 3_600_000) for sign in (1, -1)]
WHO = ["worker-0", "worker-1", "workers", "coordinator", "failover-2", "failover-9", "failover-14"]
FAR_MS = [-3_600_000, -200, 3_000, 200_000]
LIVE = [("worker-1", -160), ("workers", -300_000), ("coordinator", -3_600_000), ("failover-9", 300_000)]


@functools.cache
def capture(name: str) -> Apart:
    return Apart(name)


@functools.cache
def with_right_clocks(name: str) -> set[tuple[str, tuple[str, ...]]]:
    captured = capture(name)
    told = harm(captured.replayed(captured.rows))
    # One capture has a connector that fails on purpose.
    true = {"zombie": {"CONNECT-I2", "CONNECT-K2"}, "sessioned-4.3.1": {"CONNECT-K19"}}
    assert {code for code, _ in told} == true.get(name, set())
    return told


@functools.cache
def read_along(name: str) -> set[tuple[str, tuple[str, ...]]]:
    """The same of a monitor that looks on after the last record: every worker was stopped, with connectors to run."""
    captured = capture(name)
    return with_right_clocks(name) | {("CONNECT-K18", (f"group {group}",)) for group in captured.known.connect}


@pytest.mark.parametrize("name", ["steady", "zombie"])
@pytest.mark.parametrize("who", WHO)
def test_a_replay_tells_the_same(name: str, who: str) -> None:
    captured = capture(name)
    if who.startswith("failover") and int(who.partition("-")[2]) >= 6 and name == "steady":
        who = "failover-4"
    for ms in APART_MS[:: size(5, 1)]:  # ahead and behind by turns
        assert harm(captured.replayed(captured.moved(who, ms))) == with_right_clocks(name), ms


@pytest.mark.parametrize("name", [one for one in NAMES if one not in ("steady", "zombie")])
@pytest.mark.parametrize("ms", FAR_MS)
def test_so_does_one_of_longer_captures(name: str, ms: int) -> None:
    captured = capture(name)
    for who in WHO[FAR_MS.index(ms) % size(2, 1) :: size(2, 1)]:
        told, true = harm(captured.replayed(captured.moved(who, ms))), with_right_clocks(name)
        assert told <= true, who
        # A connector that fails on purpose is started again within seconds: a clock far off may hide that.
        assert {code for code, _ in true - told} <= {"CONNECT-K19"}, who


@pytest.mark.parametrize("name", ["steady", "zombie"])
@pytest.mark.parametrize(("who", "ms"), LIVE)
def test_a_monitor_that_reads_along_tells_the_same(name: str, who: str, ms: int) -> None:
    captured = capture(name)
    who = "failover-4" if name == "steady" and who == "failover-9" else who
    assert harm(captured.watched(captured.moved(who, ms))) == read_along(name)


@pytest.mark.parametrize("name", ["steady", "zombie"])
@pytest.mark.parametrize("ms", [-3_600_000, 0, 300_000, 3_600_000])
def test_so_does_one_whose_own_clock_is_off(name: str, ms: int) -> None:
    captured = capture(name)
    assert harm(captured.watched(captured.rows, monitor_ms=ms)) == read_along(name)
