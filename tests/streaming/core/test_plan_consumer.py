"""`consumer-assign` against answers of Kafka's own assignors: partitions, their order, and the bytes on the wire."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from streaming.calculator.consumer import blob_version, solve

VECTORS = Path(__file__).parents[2] / "vectors" / "consumer" / "consumer-assign.jsonl.gz"


def cases() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_equals_what_kafka_answered(case: dict[str, Any]) -> None:
    answer = solve(case)
    unsure = answer.pop("order_unsure", False)
    assert not unsure or "tree-bins" in case["tags"]
    assert answer == case["expected"]


def test_says_when_an_assignor_is_not_known() -> None:
    assert solve({"kind": "sticky", "release": "4.3.1", "input": {}}) == {"error": "assignor not supported: sticky"}


def test_says_whose_subscription_is_unreadable() -> None:
    given = {"topics": {}, "brokers": {}, "members": [{"id": "m", "instance": None, "subscription": "AAE="}]}
    assert solve({"kind": "range", "release": "4.3.1", "input": given}) == {"error": "subscription of m is unreadable"}


@pytest.mark.parametrize(("release", "version"), [("2.3.1", 0), ("2.4.1", 1), ("3.3.2", 1), ("3.4.0", 3), ("4.3.1", 3)])
def test_assignment_version_follows_the_release(release: str, version: int) -> None:
    assert blob_version(release) == version
