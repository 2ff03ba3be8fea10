"""What somebody does to a group's workers, played on a group in memory."""

from typing import assert_never

from rebalance_monitor.assignors.connect.eras import NEWEST
from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.streaming.core.connect.advice.cluster import Cluster
from rebalance_monitor.streaming.core.incidents.step import WorkerMove

RESTART_MS = 30_000
"""How long a worker is away while it restarts: shorter than the default delay of five minutes."""
ADDED = "added"


def play(move: WorkerMove, cluster: Cluster, named: str, *, declares: Jobs | None = None) -> None:
    """Does it, and lets the group come to rest. `named`: the worker that the incident names; `declares`: what the new
    or corrected worker declares (protocol `static`).
    """
    match move:
        case WorkerMove.RESTART_LEADER:
            cluster.restart(cluster.leader, RESTART_MS)
        case WorkerMove.RESTART_NAMED:
            cluster.restart(named, RESTART_MS)
        case WorkerMove.RESTART_ANOTHER:
            cluster.restart(_another(cluster, named), RESTART_MS)
        case WorkerMove.KEEP_NAMED_AWAY:
            cluster.restart(named, cluster.max_delay_ms + RESTART_MS)
        case WorkerMove.STOP_NAMED:
            cluster.stop(named)
        case WorkerMove.START_WORKER:
            cluster.start(ADDED, static=declares)
        case WorkerMove.REDECLARE:
            cluster.restart(named, RESTART_MS, static=declares or Jobs())
        case WorkerMove.UPGRADE:
            for name in list(cluster.workers):
                cluster.restart(name, RESTART_MS, era=NEWEST)
                cluster.settle()
        case _:
            assert_never(move)
    cluster.settle()


def _another(cluster: Cluster, named: str) -> str:
    """A worker that neither leads nor is named, if there is one."""
    others = [name for name in cluster.workers if name not in (cluster.leader, named)]
    return others[0] if others else cluster.leader
