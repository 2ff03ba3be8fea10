"""What rounds that were played moved and stopped, and how tasks are spread."""

from collections.abc import Mapping

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.advice.cluster import Cluster, PlayedRound
from rebalance_monitor.streaming.core.connect.observed import EAGER, ConnectorOrTask
from .history import HistoryFigures

WorkerHolds = Mapping[str, frozenset[ConnectorOrTask]]
"""What each worker has, by its member id."""


def held_by(cluster: Cluster) -> WorkerHolds:
    """What each worker holds now."""
    return {name: one.jobs for name, one in cluster.workers.items()}


def figures_of(cluster: Cluster, before: WorkerHolds, *, from_eager: bool = False) -> HistoryFigures:
    """`before`: what the workers had before its first round, when nobody waited. `from_eager`: the protocol was eager
    until then, so everybody stops everything for that round."""
    total = HistoryFigures(rebalances=len(cluster.rounds), idle_ms=sum(cluster.waited_ms.values()))
    total += spread_of(before)
    for one in cluster.rounds:
        after, stopped = _share_out(one, before, eager=cluster.protocol == EAGER)
        if from_eager and one is cluster.rounds[0]:
            stopped = sum(len(held) for name, held in before.items() if name in after)
        moved = sum(len(held - before.get(name, frozenset())) for name, held in after.items())
        total += HistoryFigures(moved=moved, stopped=stopped)
        if _at_rest(one):
            spread = spread_of(after)
            total += replace(spread, imbalanced=(spread.most_held or 0) - (spread.least_held or 0) > 1)
        before = after
    return total


def _share_out(one: PlayedRound, before: WorkerHolds, *, eager: bool) -> tuple[WorkerHolds, int]:
    """What everybody has then, and how much those that stayed had to stop for it."""
    after: dict[str, frozenset[ConnectorOrTask]] = {}
    stopped = 0
    for name, share in one.result.shares.items():
        had = before.get(name, frozenset())
        stop = had if eager else had & {*share.revoked.connectors, *share.revoked.tasks}
        after[name] = had - stop | {*share.assigned.connectors, *share.assigned.tasks}
        stopped += len(stop)
    return after, stopped


def _at_rest(one: PlayedRound) -> bool:
    return not one.result.delay_ms and not any(share.revoked for share in one.result.shares.values())


def spread_of(holds: WorkerHolds) -> HistoryFigures:
    """The most and the least tasks of one worker."""
    loads = [sum(isinstance(job, tuple) for job in held) for held in holds.values()]
    return HistoryFigures(most_held=max(loads, default=None), least_held=min(loads, default=None))
