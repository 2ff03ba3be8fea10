"""The random groups that `make oracle FAMILY=broker` plays: what they hold, and that a seed tells all of it."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from lab.oracle.broker_groups import life
from lab.oracle.broker_runner import KINDS
from rebalance_monitor.streaming.calculator import broker


def rounds(kind: str, count: int) -> list[dict[str, Any]]:
    """Inputs of `count` lives of three rounds each; our own answers take the place of Kafka's."""
    inputs = []
    for number in range(count):
        group = life(Random(f"7-{number}"), kind)
        for _ in range(3):
            inputs.append(group.input)
            group.follow(broker.solve({"kind": kind, "release": "4.3.1", "input": group.input}))
    return inputs


@pytest.mark.parametrize("kind", KINDS)
def test_a_life_depends_on_its_seed_alone(kind: str) -> None:
    assert rounds(kind, 3) == rounds(kind, 3)


def test_groups_hold_what_the_rules_are_about() -> None:
    seen: Counter[str] = Counter()
    for given in rounds("uniform", 100):
        seen[given["subscriptionType"]] += 1
        names = {topic["name"] for topic in given["topics"].values()}
        owners: Counter[tuple[str, int]] = Counter()
        for member in given["members"]:
            seen["static"] += member["instance"] is not None
            seen["rack"] += bool(member["rack"])
            seen["no topics"] += not member["subscribed"]
            seen["topic that does not exist"] += not set(member["subscribed"]) <= names
            for topic, numbers in member["previous"]:
                owners.update((topic, number) for number in numbers)
                seen["deleted topic"] += topic not in given["topics"]
                most = given["topics"].get(topic, {"partitions": 99})["partitions"]
                seen["partition that does not exist"] += any(number >= most for number in numbers)
        seen["double claim"] += any(count > 1 for count in owners.values())
    wanted = {"HOMOGENEOUS", "HETEROGENEOUS", "static", "rack", "no topics", "topic that does not exist"}
    wanted |= {"deleted topic", "partition that does not exist", "double claim"}
    assert {what for what, count in seen.items() if count} == wanted


def test_streams_groups_have_standbys_and_shared_processes() -> None:
    seen: Counter[str] = Counter()
    for given in rounds("streams-sticky", 40):
        seen["no configs"] += not given["configs"]
        seen["standbys"] += any(member["standby"] for member in given["members"])
        processes = [member["processId"] for member in given["members"]]
        seen["shared process"] += len(set(processes)) < len(processes)
    assert all(seen[what] for what in ("no configs", "standbys", "shared process"))
