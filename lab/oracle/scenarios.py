"""Random lives of a Connect cluster, as inputs of rounds cases: what happens to it, and what its workers then report.

Processes join, vanish, come back with their jobs, miss a sync, lag behind the config topic, change member ids; the
leadership wanders; connectors come and go; the clock jumps past delays. Between rounds each process folds the answer
into its allocation as a worker does (new jobs in front of the kept ones), so the next round starts from lists that a
real cluster would report. The answers that drive the story are ours: an answer that differs from Kafka's shows in the
round where it was given.
"""

from base64 import b64encode
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rebalance_monitor.assignors.connect.eras import era_of
from rebalance_monitor.assignors.connect.model import Jobs, LeaderMemory, MemberShare
from rebalance_monitor.assignors.connect.round import CannotAssign
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState, encode_worker_state
from rebalance_monitor.streaming.calculator.connect import assign_round

EAGER = "default"
VERSIONS = {EAGER: 0, "compatible": 1, "sessioned": 2}
ALLOCATION_KEEPS_VERSION_SINCE = (3, 3)
MAX_DELAYS_MS = (0, 0, 1, 40, 1000, 60_000, 300_000, 300_000)
PAUSES_MS = (10, 500, 5_000, 100_000, 400_000)
ODD_NAMES = ("wé", "Ω", "😀", "\ue000", "日", "-", "worker", " ", "a-1", "ﬀ", "𝄞𝄞", "x" * 200)
STYLES = ("plain", "plain", "twins", "odd", "crowd")
"""What things are called: plain; in pairs of one hash; outside ASCII; so many of one hash that buckets grow trees."""
MEMBERS = (1, 2, 3, 4, 6, 12, 20, 32)
CONNECTORS = (4, 8, 16, 16, 40, 48)
FEW_TASKS, MANY_TASKS = (0, 9), (10, 60)
TWINS = ("Aa", "BB")


@dataclass(slots=True)
class Process:
    """One worker process; `held` is None until it has been given an assignment object."""

    name: str
    held: Jobs | None = None
    last_completed: int = -1
    lag: int = 0

    def apply(self, share: MemberShare, generation: int, *, eager: bool) -> None:
        """What the worker holds after a sync; an eager answer replaces everything."""
        held = self.held or Jobs()
        if eager:
            self.held = share.assigned
        else:
            connectors, tasks = set(share.revoked.connectors), set(share.revoked.tasks)
            self.held = Jobs(
                share.assigned.connectors + tuple(name for name in held.connectors if name not in connectors),
                share.assigned.tasks + tuple(task for task in held.tasks if task not in tasks),
            )
        self.last_completed = generation


@dataclass(slots=True)
class Cluster:
    """The members of one group, their processes, and the config topic."""

    random: Random
    member_style: str
    names: list[str]
    connectors: dict[str, int] = field(default_factory=dict)
    earlier: dict[str, int] = field(default_factory=dict)
    offset: int = 5
    members: dict[str, Process] = field(default_factory=dict)
    away: list[Process] = field(default_factory=list)
    born: int = 0

    def join(self, process: Process | None = None) -> None:
        """A new member id, for a new process or for one that was away."""
        self.born += 1
        self.members[self._member_id(self.born)] = process or Process(f"p{self.born}")

    def _member_id(self, number: int) -> str:
        match self.member_style:
            case "twins":
                pairs = "".join(self.random.choice(TWINS) for _ in range(self.random.choice((2, 3, 4))))
                return pairs + "x" * number
            case "crowd":
                return _of_one_hash(number, pairs=6)
            case "odd":
                return self.random.choice(ODD_NAMES) + str(number)
            case _:
                return f"connect-{number}-{self.random.getrandbits(128):032x}"

    def disturb(self) -> None:
        """One thing happens."""
        pick = self.random.choice(sorted(self.members))
        match self.random.choices(
            ("join", "vanish", "return", "configure", "delete", "lag", "forget", "repeat"), (5, 5, 4, 4, 3, 1, 1, 0.3)
        )[0]:
            case "join":
                self.join()
            case "vanish" if len(self.members) > 1:
                self.away.append(self.members.pop(pick))
            case "return" if self.away:
                self.join(self.away.pop(self.random.randrange(len(self.away))))
            case "configure":
                self.change(self.random.choice(self.names), self.some_tasks())
            case "delete" if self.connectors:
                self.change(self.random.choice(sorted(self.connectors)), None)
            case "lag":
                self.members[pick].lag = 1
            case "forget":
                self.members[pick].held = None
            case "vanish" | "return" | "delete":
                pass  # nobody is there for it
            case "repeat":
                held = self.members[pick].held
                if held is not None and held.tasks:
                    self.members[pick].held = Jobs(held.connectors, (*held.tasks, self.random.choice(held.tasks)))

    def some_tasks(self) -> int:
        """For one connector: a handful, now and then so many that they outweigh all others."""
        return self.random.randint(*(MANY_TASKS if self.random.random() < 0.06 else FEW_TASKS))

    def change(self, name: str, tasks: int | None) -> None:
        """One record in the config topic."""
        self.earlier = dict(self.connectors)
        self.offset += 1
        if tasks is None:
            self.connectors.pop(name, None)
        else:
            self.connectors[name] = tasks


def _of_one_hash(number: int, *, pairs: int) -> str:
    """The first 2 ** pairs of these names all have the same hash, and so have the next ones."""
    rest, bits = divmod(number, 1 << pairs)
    return "".join(TWINS[bits >> pair & 1] for pair in range(pairs)) + "x" * rest


def _names(random: Random, style: str, count: int) -> list[str]:
    match style:
        case "twins":
            ends = [f"{a}{b}{c}" for a in TWINS for b in TWINS for c in "xy"]
            return [f"{end}{number}" for number in range(count // len(ends) + 1) for end in ends]
        case "crowd":
            return [_of_one_hash(number, pairs=random.choice((4, 5))) for number in range(count)]
        case "odd":
            return [f"{random.choice(ODD_NAMES)}-{number}" for number in range(count)]
        case _:
            return [f"connector{number}" for number in range(count)]


def random_cluster(random: Random) -> Cluster:
    """A small or middling cluster, now and then a large one; members and connectors are called in one style each."""
    names = list(dict.fromkeys(_names(random, random.choice(STYLES), random.choice(CONNECTORS))))
    cluster = Cluster(random, random.choice(STYLES), names)
    for name in random.sample(names, random.randint(0, min(len(names), random.choice((6, 14, 48))))):
        cluster.change(name, cluster.some_tasks())
    for _ in range(random.choice(MEMBERS)):
        cluster.join()
    return cluster


def random_scenario(random: Random, release: str, java_version: int) -> dict[str, Any]:
    """The `input` of one rounds case for a leader of this release."""
    era = era_of(release)
    cluster = random_cluster(random)
    usual = "compatible" if not era.speaks_sessioned or random.random() < 0.25 else "sessioned"
    max_delay_ms = random.choice(MAX_DELAYS_MS)
    now_ms, generation, leader = 1_700_000_000_000, 0, ""
    memories: dict[str, LeaderMemory] = {}
    rounds: list[dict[str, Any]] = []
    for _ in range(random.randint(3, 14)):
        for _ in range(random.choice((0, 1, 1, 2, 3))):
            cluster.disturb()
        now_ms += random.choice(PAUSES_MS)
        generation += random.choice((1, 1, 1, 1, 2))
        if leader not in cluster.members or random.random() < 0.08:
            leader = random.choice(sorted(cluster.members))
        protocol = EAGER if random.random() < 0.04 else usual
        process = cluster.members[leader].name
        described = _described(cluster, release, protocol, leader, now_ms, generation)
        rounds.append(described)
        try:
            memory = memories.get(process, LeaderMemory())
            result, memories[process] = assign_round(memory, described, max_delay_ms, era, java_version)
        except CannotAssign:
            continue
        missed = random.choice(sorted(cluster.members)) if random.random() < 0.12 else None
        for member_id, worker in cluster.members.items():
            worker.lag = 0
            if member_id != missed:
                worker.apply(result.shares[member_id], generation, eager=protocol == EAGER and result.error == 0)
    return {"kafka_release": release, "java_version": java_version, "max_delay_ms": max_delay_ms, "rounds": rounds}


def _described(
    cluster: Cluster, release: str, protocol: str, leader: str, now_ms: int, generation: int
) -> dict[str, Any]:
    ids = list(cluster.members)
    if cluster.random.random() < 0.5:
        cluster.random.shuffle(ids)
    own = cluster.members[leader]
    now_known = {"offset": cluster.offset, "connectors": dict(cluster.connectors)}
    behind = {"offset": cluster.offset - 1, "connectors": dict(cluster.earlier)}
    described = {
        "now_ms": now_ms,
        "generation": generation,
        "last_completed_generation": own.last_completed,
        "protocol": protocol,
        "leader": leader,
        "leader_process": own.name,
        "config": behind if own.lag else now_known,
        "members": [
            {
                "id": one,
                "subscription": b64encode(_subscription(cluster, cluster.members[one], release, protocol)).decode(),
            }
            for one in ids
        ],
    }
    if own.lag:
        described["fresh_config"] = now_known if cluster.random.random() < 0.5 else behind
    return described


def _subscription(cluster: Cluster, process: Process, release: str, protocol: str) -> bytes:
    offset = cluster.offset - process.lag
    version = VERSIONS[protocol]
    keeps = tuple(int(part) for part in release.split(".")[:2]) >= ALLOCATION_KEEPS_VERSION_SINCE
    held = process.held
    state = WorkerState(
        version=version,
        url=f"http://{process.name}:8083/",
        config_offset=offset,
        allocation=None
        if held is None
        else ConnectAssignment(version=version, leader="l", leader_url="u", config_offset=offset),
    )
    entries = () if held is None else wire_entries_assigned(held.connectors, held.tasks, 17)
    return encode_worker_state(state, entries, allocation_version=version if keeps else 1)
