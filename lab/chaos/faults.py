"""What is done to the world: each fault once at a random moment of the load."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from lab.chaos import isolated
from lab.chaos.killing_job import AFTER, BEFORE, INSIDE
from lab.chaos.world import World
from lab.cluster import postgres
from lab.sessions import end_session, signal_session

SHORT_S, AWAY_S = 3.0, 6.0
LONG_S = 20.0
"""Longer than a lease, and than a connection lasts whose other end says nothing."""
_CUT = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rebalance-monitor'"


@dataclass(frozen=True, slots=True)
class Fault:
    """`changes`: of the holder, at most. `isolated`: only where the world has a network and disks of its own.
    `on_spark`: in a world with a standalone cluster of Spark."""

    name: str
    strike: Callable[[World], None]
    changes: int = 1
    isolated: bool = False
    on_spark: bool = False


def _signal(number: signal.Signals, *pids: int) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


def _job(world: World) -> None:
    child = world.holder().child
    assert child is not None
    child.process.kill()
    end_session(child.pid)


def _driver(world: World) -> None:
    child = world.holder().child
    assert child is not None
    child.process.kill()


def _of_holder(*words: str) -> Callable[[World], None]:
    return lambda world: _signal(signal.SIGKILL, *world.holder().processes(*words))


def _point(name: str) -> Callable[[World], None]:
    """The next bundle that has results kills its processes there."""

    def strike(world: World) -> None:
        (world.points / name).touch()
        world.wait(f"a bundle comes to the point {name}", lambda: not (world.points / name).exists())

    return strike


def _ends(world: World) -> None:
    child = world.holder().child
    assert child is not None
    child.process.terminate()


def _stands_still(world: World) -> None:
    """Longer than its lease: the other job takes over, and this one goes on afterwards."""
    holder = world.holder()
    assert holder.child is not None
    signal_session(holder.child.pid, signal.SIGSTOP)
    world.wait("another holder", lambda: world.holder() is not holder)
    signal_session(holder.child.pid, signal.SIGCONT)


def _pauses(world: World) -> None:
    holder = world.holder().child
    assert holder is not None
    signal_session(holder.pid, signal.SIGSTOP)
    time.sleep(SHORT_S)
    signal_session(holder.pid, signal.SIGCONT)


def _broker_pauses(world: World) -> None:
    os.kill(world.broker.child.pid, signal.SIGSTOP)
    time.sleep(AWAY_S)
    os.kill(world.broker.child.pid, signal.SIGCONT)


def _postgres_pauses(world: World) -> None:
    pids = postgres.processes(world.postgres)
    _signal(signal.SIGSTOP, *pids)
    time.sleep(LONG_S)
    _signal(signal.SIGCONT, *pids)


def _postgres_cut(world: World) -> None:
    assert world.postgres.port is not None
    isolated.cut(world.postgres.port, LONG_S)


def _broker_cut(world: World) -> None:
    isolated.cut(world.broker.port, LONG_S)


def _postgres_full(world: World) -> None:
    with isolated.full(world.postgres.data):
        time.sleep(AWAY_S)
    if not postgres.runs(world.postgres):
        postgres.start_again(world.postgres)


def _job_full(world: World) -> None:
    with isolated.full(world.holder().disk):
        time.sleep(AWAY_S)


def _worker_killed(world: World) -> None:
    """Its group notices, goes on without it, and has it back."""
    world.group.kill_a_worker()
    world.wait("a generation without the Connect worker", lambda: not world.group.whole())
    world.group.start_it_again()
    world.wait("all Connect workers", world.group.whole)


def _worker_stands_still(world: World) -> None:
    """Longer than its session: its tasks go to the others, while it still runs them."""
    world.group.signal_a_worker(signal.SIGSTOP)
    world.wait("a generation without the Connect worker", lambda: not world.group.whole())
    world.group.signal_a_worker(signal.SIGCONT)
    world.wait("all Connect workers", world.group.whole)


def _receiver_killed(world: World) -> None:
    world.receiver.kill()
    time.sleep(AWAY_S)
    world.receiver.start()


def _receiver_away(world: World) -> None:
    world.receiver.hold()
    time.sleep(AWAY_S)
    world.receiver.release()


def _executor_killed(world: World) -> None:
    """One of the two that the holder has; the other one may fold meanwhile."""
    assert world.spark is not None
    _signal(signal.SIGKILL, world.spark.executors(world.holder().executor_option)[0])


def _spark_worker_killed(world: World) -> None:
    """With its executors, those of the standby, too."""
    assert world.spark is not None
    world.spark.restart_worker(0)


def _connections_cut(world: World) -> None:
    world.rows(_CUT)


FAULTS = (
    Fault("job killed, all its processes", _job),
    Fault("driver killed alone", _driver),
    Fault("Java process killed", _of_holder("java", "SparkSubmit")),
    Fault("source process killed", _of_holder("python_streaming_source_runner"), changes=0),
    Fault("folding processes killed", _of_holder("daemon", "pyspark.worker"), changes=0),
    Fault("killed before a bundle's transaction", _point(BEFORE)),
    Fault("killed inside a bundle's transaction", _point(INSIDE)),
    Fault("killed after a bundle's transaction", _point(AFTER)),
    Fault("job ended (SIGTERM)", _ends),
    Fault("job stands still past its lease", _stands_still),
    Fault("job stands still for a moment", _pauses, changes=0),
    Fault("PostgreSQL crashed", World.crash_postgres),
    Fault("connections to PostgreSQL cut", _connections_cut, changes=0),
    Fault("PostgreSQL stands still past the lease", _postgres_pauses),
    Fault("no packet from or to PostgreSQL", _postgres_cut, isolated=True),
    Fault("PostgreSQL's disk is full", _postgres_full, isolated=True),
    Fault("broker killed", World.kill_broker, changes=0),
    Fault("broker stands still", _broker_pauses, changes=0),
    Fault("no packet from or to the broker", _broker_cut, changes=0, isolated=True),
    Fault("the job's disk is full", _job_full, isolated=True),
    Fault("Connect worker killed", _worker_killed, changes=0),
    Fault("Connect worker stands still past its session", _worker_stands_still, changes=0),
    Fault("receiver killed", _receiver_killed, changes=0),
    Fault("receiver does not answer", _receiver_away, changes=0),
    Fault("executor killed", _executor_killed, changes=0, on_spark=True),
    Fault("executor killed before a bundle's transaction", _point(BEFORE), changes=0, on_spark=True),
    Fault("executor killed inside a bundle's transaction", _point(INSIDE), changes=0, on_spark=True),
    Fault("executor killed after a bundle's transaction", _point(AFTER), changes=0, on_spark=True),
    Fault("Spark worker killed, with its executors", _spark_worker_killed, changes=0, on_spark=True),
    Fault("driver killed, its executors left", _driver, on_spark=True),
)
