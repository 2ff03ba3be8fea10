"""A random life of a cluster, made from a seed: what it is made of, and what happens to it in which order.

Every life begins with an empty group, so a monitor that reads it all has seen everything. `Weights` says how often each
kind of trouble comes; the presets leave out what a question must not depend on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from lab.simulated.cluster import Cluster, Shape
from lab.simulated.config import PAUSED, STARTED, STOPPED
from lab.simulated.worker import Worker, WorkerSettings
from lab.simulated_group.protocol import Mode
from rebalance_monitor.assignors.connect.model import Jobs

RELEASES = ("2.3.1", "2.4.1", "2.6.1", "2.8.2", "3.3.2", "3.4.1", "3.9.1", "4.3.1")
"""One of each era; the newest are the most likely."""
NAMES = ("orders", "clicks", "invoices", "stock-1", "überwachung", "mail", "geo", "audit-log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How often an action is chosen, against the others."""

    join: int = 8
    leave: int = 5
    bounce: int = 10
    kill: int = 6
    kill_and_return: int = 8
    freeze: int = 8
    stuck: int = 1
    outage: int = 6
    lost_sync: int = 4
    create: int = 6
    delete: int = 3
    resize: int = 6
    aim: int = 5
    fail: int = 3
    together: int = 3


CALM = Weights(freeze=0, stuck=0, outage=0, lost_sync=0)
"""Joins, departures and configuration alone."""
USUAL = Weights()


def shape_of(seed: int, *, release: str | None = None, mode: Mode | None = None) -> Shape:
    """What the cluster of this seed is made of."""
    random = Random(f"shape {seed}")
    release = release or random.choice(RELEASES + ("3.9.1", "4.3.1") * 4)
    mode = mode or random.choices([Mode.SESSIONED, Mode.COMPATIBLE, Mode.EAGER], [10, 2, 1])[0]
    if release == "2.3.1" and mode is Mode.SESSIONED:
        mode = Mode.COMPATIBLE
    heartbeat_ms = random.choice((1_000, 3_000, 3_000))
    return Shape(
        worker=WorkerSettings(
            release=release,
            java_version=random.choice((11, 17, 17, 21)),
            mode=mode,
            max_delay_ms=random.choice((0, 10_000, 20_000, 30_000, 60_000, 60_000, 300_000)),
            session_ms=10_000,
            heartbeat_ms=heartbeat_ms,
            rebalance_ms=random.choice((20_000, 60_000)),
        ),
        transactional=random.random() < 0.15,
        new_coordinator=random.random() < 0.8,
    )


def varied_shape(seed: int) -> Shape:
    """A cluster whose workers differ: an upgrade or a change of the protocol under way, or static workers."""
    random = Random(f"varied {seed}")
    shape = shape_of(seed, release=random.choice(("2.8.2", "3.4.1", "3.9.1", "4.3.1")), mode=Mode.SESSIONED)
    worker = shape.worker
    kind = ("releases", "protocols", "static", "static")[seed % 4]
    if kind == "releases":
        return replace(shape, others=(replace(worker, release=random.choice(("2.6.1", "3.3.2", "3.9.1", "4.3.1"))),))
    if kind == "protocols":
        return replace(shape, others=(replace(worker, mode=random.choice((Mode.EAGER, Mode.COMPATIBLE))),))
    lists = tuple(
        Jobs(
            tuple(sorted(random.sample(NAMES, random.choice((0, 1))))),
            tuple(sorted((name, random.randrange(4)) for name in random.sample(NAMES, 2))),
        )
        for _ in range(2)
    )
    wildcard = replace(worker, release="4.3.1", mode=Mode.STATIC)
    return replace(shape, worker=wildcard, others=(wildcard, *(replace(wildcard, static=one) for one in lists)))


def live(
    seed: int, *, actions: int = 40, weights: Weights = USUAL, shape: Shape | None = None, workers: int | None = None
) -> Cluster:
    """A whole life: it begins empty, and ends in peace long after the last action."""
    cluster = Cluster(seed, shape or shape_of(seed))
    life = _Life(cluster, Random(f"life {seed}"), weights)
    life.begin(workers)
    for _ in range(actions):
        life.act()
    life.end()
    return cluster


class _Life:
    def __init__(self, cluster: Cluster, random: Random, weights: Weights) -> None:
        self.cluster, self.random, self.weights = cluster, random, weights
        self.delay_ms = cluster.shape.worker.max_delay_ms

    def begin(self, workers: int | None) -> None:
        for _ in range(workers or self.random.choice((2, 3, 3, 4, 5))):
            self.cluster.add()
            self.cluster.run(self.random.uniform(0, 1_500))
        self.cluster.run(self.random.uniform(5_000, 12_000))
        for name in self.random.sample(NAMES, self.random.choice((1, 2, 2, 3))):
            self.cluster.create(name, self._tasks())
            self.cluster.run(self.random.uniform(100, 6_000))
        self.cluster.run(self.random.uniform(8_000, 15_000))

    def end(self) -> None:
        self.cluster.run(2 * self.delay_ms + 90_000)

    def act(self) -> None:
        kinds = [name for name in self.weights.__slots__ if getattr(self.weights, name)]
        chances = [getattr(self.weights, name) for name in kinds]
        action: Callable[[], None] = getattr(self, self.random.choices(kinds, chances)[0])
        action()
        gap = self.random.choice(("short", "short", "usual", "usual", "long"))
        low, high = {"short": (200, 4_000), "usual": (4_000, 25_000), "long": (25_000, 60_000)}[gap]
        if self.random.random() < 0.15:
            high += int(self.delay_ms * 1.2)
        self.cluster.run(self.random.uniform(low, high))

    # -- the actions ---------------------------------------------------------------------------------------------

    def join(self) -> None:
        if len(self.cluster.workers) < 7:
            self.cluster.add()

    def leave(self) -> None:
        worker = self._somebody(least=2)
        if worker is not None:
            worker.stop()

    def bounce(self) -> None:
        worker = self._somebody()
        if worker is not None:
            self.cluster.bounce(worker, self._away())

    def kill(self) -> None:
        worker = self._somebody(least=2)
        if worker is not None:
            worker.kill()

    def kill_and_return(self) -> None:
        worker = self._somebody()
        if worker is not None:
            self.cluster.bounce(worker, self._away(), kill=True)

    def freeze(self) -> None:
        worker = self._somebody()
        if worker is not None:
            short, past = self.random.uniform(1_000, 9_000), 14_000 + self.delay_ms * self.random.uniform(0.2, 1.3)
            self.cluster.freeze(worker, self.random.choice((short, self.random.uniform(11_000, 16_000), past)))

    def stuck(self) -> None:
        worker = self._somebody()
        if worker is not None:
            self.cluster.occupy(worker, worker.settings.rebalance_ms + self.random.uniform(5_000, 60_000))

    def outage(self) -> None:
        away_ms = self.random.choice((self.random.uniform(200, 2_500), self.random.uniform(3_500, 30_000)))
        self.cluster.outage(away_ms, other_broker=self.random.random() < 0.6)

    def lost_sync(self) -> None:
        worker = self._somebody()
        if worker is not None:
            self.cluster.lose_next_sync(worker)
            if self.random.random() < 0.7:
                self.join() if self.random.random() < 0.5 else self.resize()

    def create(self) -> None:
        free = [name for name in NAMES if name not in self.cluster.connectors()]
        if free and len(free) > 3:
            self.cluster.create(self.random.choice(free), self._tasks())

    def delete(self) -> None:
        names = sorted(self.cluster.connectors())
        if len(names) > 1:
            name = self.random.choice(names)
            self.cluster.delete(name)
            if self.random.random() < 0.3:
                self.cluster.run(self.random.uniform(500, 10_000))
                self.cluster.create(name, self._tasks())

    def resize(self) -> None:
        names = sorted(self.cluster.connectors())
        if names:
            self.cluster.create(self.random.choice(names), self._tasks())

    def aim(self) -> None:
        names = sorted(self.cluster.connectors())
        if names:
            self.cluster.aim(self.random.choice(names), self.random.choice((PAUSED, STARTED, STARTED, STOPPED)))

    def fail(self) -> None:
        running = [(one, job) for one in self._awake() for job in one.jobs.running]
        if running:
            worker, job = self.random.choice(running)
            self.cluster.fail(worker, job, self.random.choice((None, self.random.uniform(500, 20_000))))

    def together(self) -> None:
        for _ in range(self.random.choice((2, 3))):
            self.random.choice((self.join, self.leave, self.kill_and_return, self.resize, self.bounce))()
            self.cluster.run(self.random.uniform(0, 300))

    # -- chance --------------------------------------------------------------------------------------------------

    def _awake(self) -> list[Worker]:
        return [one for one in self.cluster.workers if not one.frozen and not one.leaving]

    def _somebody(self, least: int = 1) -> Worker | None:
        awake = self._awake()
        return self.random.choice(awake) if len(awake) >= least else None

    def _away(self) -> float:
        quick, late = self.random.uniform(1_000, 9_000), 5_000 + self.delay_ms * self.random.uniform(0.8, 1.5)
        return self.random.choice((quick, quick, late))

    def _tasks(self) -> int:
        return self.random.choice((0, 1, 2, 3, 4, 5, 6, 8, 12))


def told_of(shape: Shape, **changed: object) -> Shape:
    """The same shape with other worker settings."""
    return replace(shape, worker=replace(shape.worker, **changed))  # type: ignore[arg-type]
