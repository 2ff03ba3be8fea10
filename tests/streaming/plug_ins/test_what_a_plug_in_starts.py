"""What a plug-in starts is bounded while it runs, and ended with it, with its call and with the job."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from rebalance_monitor.streaming.core.streams.plug_ins import Assigned, FailureKind
from rebalance_monitor.streaming.plug_ins.descent import descendants
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
from rebalance_monitor.streaming.plug_ins.wire import MOST_PROCESSES
from tests.streaming.plug_ins.outside import SHORT_MS, lost, plug_in, state
from tests.waiting import until

ROOT = Path(__file__).parents[3]
LOOK_EVERY_S = 0.002
TWINS = 2
OVERSHOOT = 4
"""Times of the limit that a tree may have before it is seen and stopped."""


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def told_in(file: Path) -> list[int]:
    return list(map(int, file.read_text(encoding="utf-8").splitlines())) if file.exists() else []


@contextmanager
def counted() -> Iterator[list[int]]:
    """How many processes descend from this one, again and again."""
    found, over = [0], Event()

    def look() -> None:
        while not over.wait(LOOK_EVERY_S):
            found.append(sum(1 for _ in descendants()))

    looking = Thread(target=look)
    looking.start()
    try:
        yield found
    finally:
        over.set()
        looking.join()


@pytest.mark.parametrize("name", ["LeavesAChild", "DaemonizesAndLoops"])
def test_what_it_has_started_is_ended_with_it(host: PlugInHost, tmp_path: Path, name: str) -> None:
    told = tmp_path / "told"
    bad = plug_in(f"misbehaving:{name}", budget_ms=3 * SHORT_MS, configs={"told": str(told)})
    assert lost(host.assign(bad, state()))[0] is FailureKind.TIMED_OUT
    assert len(told_in(told)) == TWINS
    assert not any(map(alive, told_in(told)))


def test_what_has_left_its_session_is_ended_with_the_host(tmp_path: Path) -> None:
    told, host = tmp_path / "told", PlugInHost()
    assert isinstance(host.assign(plug_in("misbehaving:Daemonizes", configs={"told": str(told)}), state()), Assigned)
    until(lambda: len(told_in(told)) == TWINS, 20)
    assert all(map(alive, told_in(told)))
    host.close()
    assert not any(map(alive, told_in(told)))


@pytest.mark.parametrize("name", ["ForkBomb", "ShellBomb"])
def test_a_fork_bomb_stays_small_and_leaves_nothing(host: PlugInHost, name: str) -> None:
    before = set(descendants())
    with counted() as found:
        for _ in range(3):
            assert lost(host.assign(plug_in(f"misbehaving:{name}"), state()))[0] is FailureKind.TOO_MANY_PROCESSES
    assert max(found) - len(before) < TWINS * OVERSHOOT * MOST_PROCESSES, max(found)
    assert set(descendants()) <= before


JOB = """
import os
from tests.streaming.plug_ins.outside import plug_in, state
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
PlugInHost().assign(plug_in(os.environ["NAME"], configs={"told": os.environ["TOLD"]}), state())
"""


@pytest.mark.parametrize("name", ["LeavesAChild", "DaemonizesAndLoops"])
def test_it_ends_with_the_job(tmp_path: Path, name: str) -> None:
    """Even when the job is killed in the middle of a call."""
    told = tmp_path / "told"
    environment = {**os.environ, "TOLD": str(told), "NAME": f"misbehaving:{name}", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", JOB], env=environment) as job:
        until(lambda: len(told_in(told)) == TWINS, 20)
        job.send_signal(signal.SIGKILL)
    until(lambda: not any(map(alive, told_in(told))), 10)
