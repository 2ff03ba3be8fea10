"""`consumer-assign` against answers of Kafka's own assignors: partitions, their order, and the bytes on the wire."""

from functools import cache
from typing import Any

import pytest

from rebalance_monitor.assignors.consumer.sticky_eras import ERAS, sticky_era_of
from rebalance_monitor.streaming.calculator.consumer import blob_version, solve
from tests.profile import size
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "consumer" / "consumer-assign.jsonl.gz"


@cache
def cases() -> list[dict[str, Any]]:
    return list(json_lines(VECTORS))


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_equals_what_kafka_answered(case: dict[str, Any]) -> None:
    answer = solve(case)
    unsure = answer.pop("order_unsure", False)
    assert not unsure or "tree-bins" in case["tags"]
    assert answer == case["expected"]


def partitions(answer: dict[str, Any]) -> dict[str, Any]:
    """Without the bytes, in which the version may differ between releases that answer alike."""
    shares = answer.get("assignment")
    return answer if shares is None else {name: share["partitions"] for name, share in shares.items()}


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_releases_that_gave_one_answer_give_it_here_too(assignor: str) -> None:
    asked, every = 0, size(2, 1)
    for case in [one for one in cases() if one["kind"] == assignor][::every]:
        for release in case["eras"]:
            answer = solve({**case, "release": release})
            answer.pop("order_unsure", None)
            assert partitions(answer) == partitions(case["expected"]), (case["id"], release)
            asked += 1
    assert asked > 500 // every


def test_every_era_of_the_sticky_assignors_has_a_vector() -> None:
    releases = {release for case in cases() if "sticky" in case["kind"] for release in case["eras"]}
    assert {sticky_era_of(release) for release in releases} == set(ERAS)


def test_says_when_an_assignor_is_not_known() -> None:
    assert solve({"kind": "custom", "release": "4.3.1", "input": {}}) == {"error": "assignor not supported: custom"}


def test_says_when_a_release_is_too_old() -> None:
    given: dict[str, Any] = {"topics": {}, "brokers": {}, "members": []}
    answer = solve({"kind": "sticky", "release": "2.2.2", "input": given})
    assert answer == {"error": "the sticky assignors of Kafka 2.2.2 are not known, only those since 2.3"}
    answer = solve({"kind": "cooperative-sticky", "release": "2.3.1", "input": given})
    assert answer == {"error": "Kafka 2.3 has no cooperative-sticky"}


def test_says_whose_subscription_is_unreadable() -> None:
    given = {"topics": {}, "brokers": {}, "members": [{"id": "m", "instance": None, "subscription": "AAE="}]}
    assert solve({"kind": "range", "release": "4.3.1", "input": given}) == {"error": "subscription of m is unreadable"}


@pytest.mark.parametrize(("release", "version"), [("2.3.1", 0), ("2.4.1", 1), ("3.3.2", 1), ("3.4.0", 3), ("4.3.1", 3)])
def test_assignment_version_follows_the_release(release: str, version: int) -> None:
    assert blob_version(release) == version
