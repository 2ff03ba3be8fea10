"""Made-up lives of groups whose members come and go: deployments, autoscaling, crash loops, storms, runs by hand.

Only who is there and when is told; `Pods` writes the records of a classic group, `Epochs848` those of a KIP-848
group. Assignments are Kafka's own `roundrobin`, so no other rule has anything to say.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from rebalance_monitor.streaming.core.model.results import Incident
from tests.streaming.core.rules.builders import Story, incidents
from tests.streaming.core.rules.consumers import Consumer, record
from tests.streaming.core.rules.epochs import Epochs

ROUNDROBIN = "roundrobin"
SECOND_MS, MINUTE_MS = 1_000, 60_000
PARTITIONS = 40
LOOP, STORM = "GROUP-G5", "GROUP-G6"


@dataclass(frozen=True, slots=True)
class Process:
    """What of a member outlives its restart."""

    client_id: str
    host: str
    instance: str | None = None


@dataclass(slots=True)
class Pods:
    """A classic group that reads one topic; each change is a generation of its own."""

    seed: int = 0
    protocol: str = ROUNDROBIN
    topic: str = "a"
    story: Story = field(default_factory=Story)
    there: dict[str, Process] = field(default_factory=dict)
    made: int = 0
    dice: Random = field(default_factory=Random)

    def __post_init__(self) -> None:
        self.dice = Random(self.seed)

    def pod(self, number: int, *, static: bool = False) -> Process:
        return Process(f"pod-{number}", f"/10.0.0.{number}", f"i{number}" if static else None)

    def new_pod(self) -> Process:
        """One with a name and an address that nobody had before."""
        self.made += 1
        return Process(f"orders-{self.dice.getrandbits(40):010x}", f"/10.1.{self.made // 250}.{self.made % 250}")

    def come(self, *processes: Process, after_ms: int = 5 * SECOND_MS) -> list[str]:
        ids = [f"{one.client_id}-{self.dice.getrandbits(64):016x}" for one in processes]
        self.there |= dict(zip(ids, processes, strict=True))
        self.rebalance(after_ms=after_ms)
        return ids

    def go(self, *ids: str, after_ms: int = 5 * SECOND_MS) -> None:
        for one in ids:
            del self.there[one]
        self.rebalance(after_ms=after_ms)

    def go_of(self, process: Process, after_ms: int = 5 * SECOND_MS) -> None:
        self.go(*(name for name, one in self.there.items() if one == process), after_ms=after_ms)

    def replaced(self, process: Process, after_ms: int = 5 * SECOND_MS, *, again: bool = False) -> None:
        """The process was restarted: its old member is removed in the generation in which the new one comes. `again`:
        a static member takes its place back, and the generation is written once more."""
        gone = [name for name, one in self.there.items() if one == process]
        for name in gone:
            del self.there[name]
        self.there[f"{process.client_id}-{self.dice.getrandbits(64):016x}"] = process
        self.rebalance(after_ms=after_ms, again=again)

    def rebalance(self, after_ms: int = 5 * SECOND_MS, *, again: bool = False) -> None:
        """A record of who is there now."""
        order = sorted(
            self.there, key=lambda name: (self.there[name].instance is None, self.there[name].instance or name)
        )
        members = [
            Consumer(
                id=name,
                topics=self.topic,
                given=" ".join(f"{self.topic}-{number}" for number in range(at, PARTITIONS, len(order))),
                client_id=self.there[name].client_id,
                host=self.there[name].host,
                instance=self.there[name].instance,
            )
            for at, name in enumerate(order)
        ]
        if members:
            record(self.story, self.protocol, *members, after_ms=after_ms, again=again)
            return
        self.story.now_ms += after_ms
        self.story.generation += 1
        self.story.group_record((), protocol_type="consumer")

    def wait(self, ms: int) -> "Pods":
        self.story.now_ms += ms
        return self


def found(story: Story) -> list[Incident]:
    """What the two rules opened."""
    told = story.fold()
    return [one for code in (LOOP, STORM) for one in incidents(told, code) if one.transition == "opened"]


def twenty(*, static: bool = False, seed: int = 0, make: Callable[[Pods, int], Process] | None = None) -> Pods:
    """Twenty members that have been there for a while."""
    pods = Pods(seed)
    pods.come(*(pods.pod(number, static=static) if make is None else make(pods, number) for number in range(20)))
    return pods.wait(30 * MINUTE_MS)


def crash_loop(
    pods: Pods,
    process: Process,
    *,
    times: int,
    stays_ms: int = 55 * SECOND_MS,
    away_ms: int = 65 * SECOND_MS,
) -> Pods:
    """The process comes and is removed, again and again."""
    for _ in range(times):
        pods.come(process, after_ms=away_ms)
        pods.go_of(process, after_ms=stays_ms)
    return pods


def rolled(pods: Pods, processes: Iterable[Process], *, each_ms: int = 20 * SECOND_MS) -> Pods:
    """Each is stopped and started again, one after the other."""
    for one in processes:
        pods.go_of(one, after_ms=each_ms)
        pods.come(one, after_ms=8 * SECOND_MS)
    return pods


def rolled_to_new_pods(pods: Pods, *, each_ms: int = 20 * SECOND_MS) -> Pods:
    """Each is replaced by one of another name, which comes first."""
    for name in list(pods.there):
        pods.come(pods.new_pod(), after_ms=each_ms)
        pods.go(name, after_ms=8 * SECOND_MS)
    return pods


def scaled(
    pods: Pods,
    minutes: int,
    next_pod: Callable[[Pods], Process],
    *,
    least: int = 5,
    most: int = 30,
    newest: bool = False,
) -> Pods:
    """Every minute one more or one less, up and down between two bounds and by chance in between; who goes is drawn, or
    is the newest."""
    up = True
    for _ in range(minutes):
        if len(pods.there) <= least or len(pods.there) >= most:
            up = len(pods.there) <= least
        elif pods.dice.random() < 0.2:
            up = not up
        if up:
            pods.come(next_pod(pods), after_ms=MINUTE_MS)
        else:
            names = list(pods.there)
            pods.go(names[-1] if newest else pods.dice.choice(names), after_ms=MINUTE_MS)
    return pods


def of_a_pool(size: int) -> Callable[[Pods], Process]:
    """One of so many hosts that is free; all members have one client id."""

    def free(pods: Pods) -> Process:
        used = {one.host for one in pods.there.values()}
        hosts = [f"/10.0.2.{number}" for number in range(size)]
        return Process("orders", pods.dice.choice([host for host in hosts if host not in used]))

    return free


class Epochs848(Epochs):
    """A KIP-848 group of which only the members matter: each change is one target."""

    def __init__(self) -> None:
        super().__init__(PARTITIONS)
        self.names: list[str] = []
        self.number = 0

    def comes(self, name: str, after_ms: int, *, instance: str | None = None) -> None:
        self.after(after_ms)
        self.member(name, instance=instance)
        self.names.append(name)
        self.targets()

    def goes(self, name: str, after_ms: int) -> None:
        self.after(after_ms)
        for type_ in (8, 7, 5):
            self.write(type_, None, name)
        self.names.remove(name)
        self.targets()

    def targets(self) -> None:
        self.number += 1
        self.epoch(self.number)
        if not self.names:
            return
        shares = {
            name: " ".join(str(number) for number in range(at, PARTITIONS, len(self.names)))
            for at, name in enumerate(self.names)
        }
        self.target(self.number, **shares)
