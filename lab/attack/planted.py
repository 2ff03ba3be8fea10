"""Lives in which a job really runs twice, planted on purpose: what must still be found when clocks are off.

wrong leader         it hands a job to two workers (an error of the leader: two answers name the job)
returned worker      frozen past the delay, it comes back and runs beside the new owner until it is told to stop
ignored revocation   it runs on with what was taken from it, and its task writes RUNNING once more
"""

from collections.abc import Callable
from functools import cache

from lab.attack.life import Life, of_cluster
from lab.simulated.cluster import Cluster, Shape
from lab.simulated.worker import WorkerSettings
from lab.simulated_group.faults import LeaderFault

SEEDS = (1, 2)


def _begin(seed: int) -> Cluster:
    cluster = Cluster(seed, Shape(worker=WorkerSettings(max_delay_ms=20_000)))
    for _ in range(3):
        cluster.add()
    cluster.run(10_000)
    cluster.create("orders", 7)
    cluster.create("clicks", 4)
    cluster.run(60_000)
    return cluster


def _wrong_leader(cluster: Cluster) -> None:
    cluster.arm(LeaderFault.DUPLICATE)
    cluster.create("mail", 4)
    cluster.run(90_000)


def _returned(cluster: Cluster) -> None:
    cluster.freeze(next(one for one in cluster.workers if not one.leads), 50_000)
    cluster.run(120_000)


def _ignored_revocation(cluster: Cluster) -> None:
    for worker in cluster.workers:
        cluster.disobey(worker)
    cluster.add()
    cluster.run(30_000)
    for worker in cluster.workers:
        worker.jobs.say_again()
    cluster.run(90_000)


KINDS: dict[str, Callable[[Cluster], None]] = {
    "wrong leader": _wrong_leader,
    "returned worker": _returned,
    "ignored revocation": _ignored_revocation,
}


@cache
def planted() -> tuple[Life, ...]:
    """Two lives of each kind."""
    return tuple(_life(kind, seed) for kind in KINDS for seed in SEEDS)


def _life(kind: str, seed: int) -> Life:
    cluster = _begin(seed)
    KINDS[kind](cluster)
    return of_cluster(f"{kind} {seed}", cluster)


def kind_of(name: str) -> str | None:
    """What was planted in the life of this name, if anything."""
    return next((kind for kind in KINDS if name.startswith(kind)), None)
