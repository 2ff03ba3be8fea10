"""Random Streams applications: what a leader might find, from freshly started to long running and damaged.

Process ids come from both halves of the signed order; names collide in hash tables; members report tasks that no longer
exist, more than there is, or what several others report too; lags lie around what is acceptable.
"""

from random import Random
from typing import Any
from uuid import UUID

RUNNING, OLD_STANDBY = -2, -3
ACCEPTABLE = (0, 100, 10_000, (1 << 63) - 1)
RACKS = ("r0", "r1", "r2", "r3")
TAGS = {"zone": "abc", "cluster": "kl", "stray": "xy"}
FIRST_WITH_TAGS, FIRST_WITH_RACKS, FIRST_WITH_BALANCE = (3, 2), (3, 6), (3, 7)


def random_application(dice: Random, release: tuple[int, ...]) -> dict[str, Any]:
    """The `input` of a `streams-assign` case of one of Kafka's inner assignors."""
    tasks = _tasks(dice)
    racks = release >= FIRST_WITH_RACKS and dice.random() < 0.3
    config = _config(dice, release, racks=racks)
    clients = [_client(dice, number, racks=racks) for number in range(dice.choice((1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 20)))]
    if dice.random() < 0.85:
        _run(dice, clients, tasks, config)
    dice.shuffle(tasks)
    given: dict[str, Any] = {
        "assignor": dice.choice(("ha", "ha", "ha", "legacy_sticky", "fallback")),
        "config": config,
        "tasks": tasks,
        "clients": clients,
    }
    if racks:
        given["racks"] = {
            partition: dice.sample(RACKS, dice.randint(1, 3))
            for task in tasks
            for partition in task["partitions"] + task["changelogs"]
        }
    return given


def _config(dice: Random, release: tuple[int, ...], *, racks: bool) -> dict[str, Any]:
    tags = [tag for tag in ("zone", "cluster") if dice.random() < 0.6] if dice.random() < 0.3 else []
    strategies = ["min_traffic"] + ["balance_subtopology"] * (release >= FIRST_WITH_BALANCE)
    return {
        "acceptable.recovery.lag": dice.choice(ACCEPTABLE),
        "max.warmup.replicas": dice.choice((1, 1, 2, 2, 5, 20)),
        "num.standby.replicas": dice.choice((0, 0, 1, 1, 2, 3)),
        "probing.rebalance.interval.ms": 600_000,
        "rack.aware.assignment.tags": tags if release >= FIRST_WITH_TAGS else [],
        "rack.aware.assignment.strategy": dice.choice(strategies) if racks else "none",
        "rack.aware.assignment.traffic_cost": dice.choice((None, None, 0, 1, 10, 100)) if racks else None,
        "rack.aware.assignment.non_overlap_cost": dice.choice((None, None, 0, 1, 10)) if racks else None,
    }


def _tasks(dice: Random) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    widest = dice.choice((1, 2, 4, 7, 12, 40))
    for subtopology in range(dice.choice((1, 1, 2, 3, 4, 6))):
        stateful, wide = dice.random() < 0.65, dice.randint(1, widest)
        for partition in range(wide):
            sources = [f"src{subtopology}a-{partition}"]
            if subtopology % 2 and partition < wide - 1:
                sources.append(f"src{subtopology}b-{partition}")
            task: dict[str, Any] = {"id": f"{subtopology}_{partition}", "stateful": stateful, "partitions": sources}
            task["changelogs"] = [f"log{subtopology}-{partition}"] if stateful else []
            if stateful:
                task["endOffsetSum"] = dice.choice((0, 50, 1000, 1000, 20_000, 10**9))
            made.append(task)
    return made


def _client(dice: Random, number: int, *, racks: bool) -> dict[str, Any]:
    # Near ids meet in one bucket of a hash table; far ones come from both halves of the signed order.
    near = dice.random() < 0.3
    high = dice.getrandbits(4) << 60 if near else dice.getrandbits(64)
    low = dice.getrandbits(8) if near else dice.getrandbits(64)
    rack = dice.choice(RACKS) if racks else None
    return {
        "processId": str(UUID(int=high << 64 | low << 16 | number)),
        "tags": {tag: dice.choice(values) for tag, values in TAGS.items() if dice.random() < 0.7},
        "consumers": [
            {"id": f"{dice.choice('abé')}{number:02}-{thread}", "rack": rack, "owned": [], "offsetSums": {}}
            for thread in range(dice.choice((1, 1, 1, 2, 2, 3, 4)))
        ],
    }


def _run(dice: Random, clients: list[dict[str, Any]], tasks: list[dict[str, Any]], config: dict[str, Any]) -> None:
    """Let the threads own partitions and report sums, as after some time."""
    threads = [thread for client in clients for thread in client["consumers"]]
    idle = dice.choice((0.0, 0.0, 0.3, 0.6))
    running = [thread for thread in threads if dice.random() >= idle] or threads[:1]
    for task in tasks:
        owner = dice.choice(running)
        if dice.random() < 0.9:
            owner["owned"] += task["partitions"]
        if not task["stateful"]:
            continue
        if dice.random() < 0.9:
            owner["offsetSums"][task["id"]] = RUNNING
        for thread in dice.sample(threads, min(len(threads), dice.choice((0, 0, 1, 1, 2, 3)))):
            thread["offsetSums"].setdefault(task["id"], _sum(dice, task["endOffsetSum"], config))
    if dice.random() < 0.2:
        dice.choice(threads)["offsetSums"][f"{dice.randint(7, 9)}_{dice.randint(0, 3)}"] = dice.choice((0, 5, RUNNING))


def _sum(dice: Random, end: int, config: dict[str, Any]) -> int:
    acceptable: int = config["acceptable.recovery.lag"]
    edge = end - acceptable
    known = [0, end, end, max(end - 1, 0), end + 7, dice.randint(0, end)]
    return dice.choice(known + [max(edge - 1, 0), max(edge, 0), OLD_STANDBY] * (dice.random() < 0.7))
