"""For each harm that advice would end by moving work: a group that suffers it, and how to see that it is over.

Each group is at rest: without a step nothing happens any more, so whatever changes is the step's effect. The harm of
some rules is a fault of the leader or of a worker; then the group is made as that fault leaves it behind.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rebalance_monitor.assignors.connect.eras import Era
from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, job_kind
from .cluster import ADDED, FIRST_OFFSET, Cluster, Worker, cluster_of

ORDERS, STOCK = "orders", "stock"
HEAVY = "w2"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A group that suffers a harm (None where the era's algorithm does not let it happen), how great the harm is (0: it
    is over), the worker that the incident names, and what somebody would declare where the step is about declarations.
    """

    broken: Callable[[Era, int], Cluster | None]
    harm: Callable[[Cluster], int]
    named: str = HEAVY
    declares: Jobs | None = None


def balanced(era: Era, max_delay_ms: int, protocol: str = "compatible") -> Cluster:
    """Three workers that hold two connectors with nine tasks, evenly; the first one leads."""
    hands = {
        "w1": Jobs((ORDERS,), _tasks(ORDERS, 0, 3)),
        HEAVY: Jobs((STOCK,), _tasks(ORDERS, 3, 5) + _tasks(STOCK, 0, 1)),
        "w3": Jobs((), _tasks(STOCK, 1, 4)),
    }
    return cluster_of(era, max_delay_ms, hands, {ORDERS: 5, STOCK: 4}, protocol)


def _tasks(connector: str, since: int, until: int) -> tuple[tuple[str, int], ...]:
    return tuple((connector, number) for number in range(since, until))


def _without(worker: Worker, job: ConnectorOrTask) -> None:
    worker.held = Jobs(
        tuple(one for one in worker.held.connectors if one != job),
        tuple(one for one in worker.held.tasks if one != job),
    )


def _reported_twice(era: Era, max_delay_ms: int) -> Cluster:
    cluster = balanced(era, max_delay_ms)
    heavy = cluster.workers[HEAVY]
    heavy.held = replace(heavy.held, tasks=(*heavy.held.tasks, (ORDERS, 0)))
    return cluster


def _runs_in_secret(era: Era, max_delay_ms: int) -> Cluster:
    cluster = balanced(era, max_delay_ms)
    cluster.workers[HEAVY].stray = frozenset({(ORDERS, 0)})
    return cluster


def _twice(cluster: Cluster) -> int:
    return sum(len(cluster.holders(job)) > 1 for job in cluster.configured)


def _forgotten(era: Era, max_delay_ms: int) -> Cluster:
    """The leader believes that the heavy worker holds a task which that worker does not report."""
    cluster = balanced(era, max_delay_ms)
    _without(cluster.workers[HEAVY], (STOCK, 0))
    return cluster


def _left_lying(cluster: Cluster) -> int:
    return len(cluster.unheld())


def _gone(era: Era, max_delay_ms: int) -> Cluster:
    cluster = balanced(era, max_delay_ms)
    for name in list(cluster.workers):
        cluster.stop(name)
    return cluster


def _delay_over(era: Era, max_delay_ms: int) -> Cluster | None:
    """The delay for a lost worker has ended, and the rebalance that it was announced for did not come."""
    cluster = balanced(era, max_delay_ms)
    cluster.stop("w3")
    if not cluster.delay_ms:
        return None
    cluster.now_ms += cluster.delay_ms + 1
    assert cluster.last is not None
    cluster.last = replace(cluster.last, delay_ms=0)
    return cluster


def _revoked_only(era: Era, max_delay_ms: int) -> Cluster:
    """A worker joined, others had to stop tasks for it, and the rebalance after that did not come."""
    hands = {"w1": Jobs((ORDERS,), _tasks(ORDERS, 0, 5)), HEAVY: Jobs((STOCK,), _tasks(STOCK, 0, 4))}
    cluster = cluster_of(era, max_delay_ms, hands, {ORDERS: 5, STOCK: 4})
    cluster.workers["w3"] = Worker(era=era)
    cluster.round()
    return cluster


def _deleted(era: Era, max_delay_ms: int) -> Cluster:
    """The leader that took over after the deletion has never known the connector."""
    cluster = balanced(era, max_delay_ms)
    del cluster.connectors[STOCK]
    cluster.workers.pop("w1")
    cluster.round()
    return cluster


def _runs_deleted(cluster: Cluster) -> int:
    return sum(len(worker.runs - cluster.configured) for worker in cluster.workers.values())


def _heavy(era: Era, max_delay_ms: int) -> Cluster | None:
    """Seven tasks on one worker and two on each of the others, with nothing pending."""
    hands = {
        "w1": Jobs((ORDERS,), _tasks(STOCK, 0, 2)),
        HEAVY: Jobs((STOCK,), _tasks(ORDERS, 0, 7)),
        "w3": Jobs((), _tasks(STOCK, 2, 4)),
    }
    cluster = cluster_of(era, max_delay_ms, hands, {ORDERS: 7, STOCK: 4})
    cluster.settle()
    return cluster if lopsided(cluster) else None


def lopsided(cluster: Cluster) -> int:
    """By how much more than one two workers differ in connectors or in tasks."""
    return max(0, *(spread(cluster, kind) - 1 for kind in ("connector", "task")))


def spread(cluster: Cluster, kind: str) -> int:
    """The most that a worker holds less the least."""
    counts = [sum(job_kind(job) == kind for job in worker.jobs) for worker in cluster.workers.values()]
    return max(counts, default=0) - min(counts, default=0)


def _leader_behind(era: Era, max_delay_ms: int) -> Cluster:
    """The leader has read less of the config topic than the others: it answers every round with a mismatch."""
    cluster = balanced(era, max_delay_ms)
    cluster.connectors[STOCK] += 1
    cluster.newest_offset = FIRST_OFFSET + 5
    for name, worker in cluster.workers.items():
        worker.config_offset = FIRST_OFFSET if name == "w1" else cluster.newest_offset
    cluster.round()
    return cluster


def _mismatch(cluster: Cluster) -> int:
    return len(cluster.unheld()) + (0 if cluster.last is None else cluster.last.error)


def _two_headers(era: Era, max_delay_ms: int) -> Cluster:
    cluster = balanced(era, max_delay_ms)
    cluster.workers["w3"].shown_leader = "w3"
    return cluster


def _shown_differently(cluster: Cluster) -> int:
    return len({worker.shown_leader for worker in cluster.workers.values()}) - 1


def _frozen(era: Era, max_delay_ms: int) -> Cluster:
    cluster = balanced(era, max_delay_ms)
    cluster.workers[HEAVY].frozen = True
    return cluster


def _static(era: Era, max_delay_ms: int) -> Cluster | None:
    """Protocol static: the first worker declares a task that runs on the third, which declares nothing."""
    if not era.balances_fully:
        return None
    cluster = balanced(era, max_delay_ms, "static")
    cluster.settle()
    cluster.workers["w1"].static = Jobs((), ((STOCK, 3),))
    holder = cluster.holders((STOCK, 3))[0]
    if holder != HEAVY:
        moved = cluster.workers[HEAVY].held
        cluster.workers[HEAVY].held = replace(moved, tasks=(*moved.tasks, (STOCK, 3)))
        _without(cluster.workers[holder], (STOCK, 3))
    return cluster


def _misplaced(cluster: Cluster) -> int:
    owned: dict[str, set[ConnectorOrTask]] = {
        name: {*one.static.connectors, *one.static.tasks} for name, one in cluster.workers.items()
    }
    declared = {job for own in owned.values() for job in own}
    wrong = len(cluster.unheld() & declared)
    for name, worker in cluster.workers.items():
        wrong += len(worker.jobs - owned[name]) if owned[name] else len(worker.jobs & declared)
    return wrong


def _static_unheld(era: Era, max_delay_ms: int) -> Cluster | None:
    cluster = _static(era, max_delay_ms)
    if cluster is not None:
        _without(cluster.workers[HEAVY], (STOCK, 3))
    return cluster


def _only_static(era: Era, max_delay_ms: int) -> Cluster | None:
    """Protocol static: every worker declares something, and nobody may run the rest."""
    if not era.balances_fully:
        return None
    cluster = Cluster(connectors={ORDERS: 2, STOCK: 1}, era=era, max_delay_ms=max_delay_ms, protocol="static")
    cluster.start("w1", static=Jobs((ORDERS,), _tasks(ORDERS, 0, 2)))
    cluster.settle()
    return cluster


def _declarer_away(era: Era, max_delay_ms: int) -> Cluster | None:
    """Protocol static: the worker that declares a task is away, so it runs on one that declares nothing."""
    if not era.balances_fully:
        return None
    cluster = Cluster(connectors={ORDERS: 2}, era=era, max_delay_ms=max_delay_ms, protocol="static")
    cluster.start("w1")
    cluster.settle()
    return cluster


def _not_on_its_own(cluster: Cluster) -> int:
    return int(cluster.holders((ORDERS, 1)) != [ADDED])


def _single(cluster: Cluster) -> int:
    return int(sum((ORDERS, 0) in worker.static.tasks for worker in cluster.workers.values()) < 2)


def _idle(era: Era, max_delay_ms: int) -> Cluster | None:
    if not era.balances_fully:
        return None
    cluster = balanced(era, max_delay_ms, "static")
    cluster.settle()
    cluster.restart(HEAVY, 0, static=Jobs((), (("missing", 0),)))
    cluster.settle()
    return cluster


def _works_not(cluster: Cluster) -> int:
    return int(HEAVY not in cluster.workers or not cluster.workers[HEAVY].jobs)


_TWICE = Scenario(_reported_twice, _twice)
_SECRET = Scenario(_runs_in_secret, _twice)
_LYING = Scenario(_forgotten, _left_lying)
_BEHIND = Scenario(_leader_behind, _mismatch, named="w1")
_STATIC = Scenario(_static, _misplaced, named=HEAVY)
_STATIC_LYING = Scenario(_static_unheld, _misplaced, named="w1")
SCENARIOS: Mapping[str, Scenario] = {
    "CONNECT-I1": _TWICE,
    "CONNECT-I2": _TWICE,
    "CONNECT-I3": _TWICE,
    "CONNECT-I4": _LYING,
    "CONNECT-I5": Scenario(_deleted, _runs_deleted),
    "CONNECT-I6": _TWICE,
    "CONNECT-I8": Scenario(_heavy, lopsided),
    "CONNECT-I9": Scenario(_two_headers, _shown_differently),
    "CONNECT-I10": _BEHIND,
    "CONNECT-K1": _LYING,
    "CONNECT-K2": _SECRET,
    "CONNECT-K3": _SECRET,
    "CONNECT-K4": Scenario(_frozen, _left_lying),
    "CONNECT-K5": _LYING,
    "CONNECT-K6": Scenario(_delay_over, _left_lying),
    "CONNECT-K11": _BEHIND,
    "CONNECT-K12": _BEHIND,
    "CONNECT-K14": Scenario(_revoked_only, _left_lying),
    "CONNECT-K15": _LYING,
    "CONNECT-K18": Scenario(_gone, _left_lying, named=""),
    "CONNECT-S1": _STATIC,
    "CONNECT-S2": _STATIC,
    "CONNECT-S3": _STATIC,
    "CONNECT-S4": _STATIC,
    "CONNECT-S5": _STATIC_LYING,
    "CONNECT-S6": _STATIC_LYING,
    "CONNECT-S8": _STATIC,
    "CONNECT-S10": _STATIC_LYING,
    "CONNECT-S11": _STATIC,
    "CONNECT-P2": Scenario(_idle, _works_not),
    "CONNECT-P3": Scenario(_only_static, _single, declares=Jobs((ORDERS,), _tasks(ORDERS, 0, 2))),
    "CONNECT-P4": Scenario(_declarer_away, _not_on_its_own, declares=Jobs((), ((ORDERS, 1),))),
    "CONNECT-P5": Scenario(_only_static, _left_lying),
}
"""By a rule's code."""
