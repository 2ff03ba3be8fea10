"""The random groups that `make oracle FAMILY=consumer` plays: what they hold, and that a seed tells all of it."""

from base64 import b64decode
from collections import Counter
from random import Random
from typing import Any

import pytest

from lab.oracle.groups import cases
from rebalance_monitor.schemas.consumer_protocol import decode_subscription
from rebalance_monitor.schemas.outcomes import Decoded


def lives(release: str, count: int) -> list[dict[str, Any]]:
    return [case for number in range(count) for case in cases(Random(f"9-{number}"), release, f"9-{number}")]


@pytest.mark.parametrize("release", ["2.3.1", "2.8.2", "4.3.1"])
def test_a_life_depends_on_its_seed_alone(release: str) -> None:
    assert lives(release, 5) == lives(release, 5)


def test_lives_hold_what_the_rules_are_about() -> None:
    seen: Counter[str] = Counter()
    for case in lives("4.3.1", 60):
        seen[case["kind"]] += 1
        seen["failure"] += "error" in case["expected"]
        claimed: Counter[tuple[str, int]] = Counter()
        for member in case["input"]["members"]:
            read = decode_subscription(b64decode(member["subscription"]))
            assert isinstance(read, Decoded)
            value = read.value
            claimed.update(value.owned)
            topics = case["input"]["topics"]
            seen["rack"] += bool(value.rack)
            seen["static"] += member["instance"] is not None
            seen["topic twice"] += len(set(value.topics)) < len(value.topics)
            seen["deleted topic"] += any(topic not in topics for topic, _ in value.owned)
            seen["shrunk topic"] += any(number >= len(topics.get(topic, [number])) for topic, number in value.owned)
        seen["double claim"] += any(count > 1 for count in claimed.values())
    wanted = {"range", "roundrobin", "sticky", "cooperative-sticky", "failure", "rack", "static"}
    wanted |= {"topic twice", "deleted topic", "shrunk topic", "double claim"}
    assert {what for what, count in seen.items() if count} == wanted


def test_releases_before_2_4_play_no_cooperative_groups() -> None:
    assert "cooperative-sticky" not in {case["kind"] for case in lives("2.3.1", 40)}
