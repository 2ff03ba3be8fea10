"""Every golden case of the Streams assignors, under the first and the last release that gave this answer."""

from functools import cache
from typing import Any

import pytest

from rebalance_monitor.streaming.calculator import FAMILIES
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "streams"


@cache
def cases(family: str) -> list[dict[str, Any]]:
    return list(json_lines(VECTORS / f"{family}.jsonl.gz"))


def releases(case: dict[str, Any]) -> list[str]:
    """The release of the case, and the ends of its era."""
    era = sorted((case["release"], *case["eras"]), key=lambda text: [int(part) for part in text.split(".")])
    return list(dict.fromkeys((case["release"], era[0], era[-1])))


def answered(family: str, case: dict[str, Any], release: str) -> dict[str, Any]:
    """Our answer without our doubts about it."""
    answer = FAMILIES[family]({"input": case["input"], "release": release})
    return {name: value for name, value in answer.items() if name not in ("order_unsure", "standbys_unsure")}


@pytest.mark.parametrize(("family", "number"), [("streams-assign", 188), ("streams-validate", 105)])
def test_every_answer_is_kafkas_in_each_release(family: str, number: int) -> None:
    differing = [
        (case["id"], release)
        for case in cases(family)
        for release in releases(case)
        if answered(family, case, release) != case["expected"]
    ]
    assert len(cases(family)) == number
    assert not differing


@pytest.mark.parametrize("changed", ["config", "racks"])
def test_cases_can_tell_a_wrong_answer(changed: str) -> None:
    """Without standbys, or without racks, most of the cases that have them come out otherwise."""
    told = 0
    for case in cases("streams-assign"):
        wrong = {**case["input"], "racks": {}}
        if changed == "config":
            wrong = {**case["input"], "config": {**case["input"]["config"], "num.standby.replicas": 0}}
        told += answered("streams-assign", {**case, "input": wrong}, case["release"]) != case["expected"]
    assert told > {"config": 60, "racks": 10}[changed]


def test_every_round_of_a_leader_is_kafkas_in_each_release() -> None:
    """To the byte in the release that wrote the bytes; what the bytes say in every release of the same era."""
    differing = []
    for case in cases("streams-full"):
        for release in releases(case):
            answer = FAMILIES["streams-full"]({"input": case["input"], "release": release})
            for number, (mine, kafkas) in enumerate(zip(answer["rounds"], case["expected"]["rounds"], strict=True)):
                mine.pop("order_unsure", None)
                if release != case["release"]:
                    without_bytes(mine)
                    kafkas = without_bytes({**kafkas, "assignments": {**kafkas["assignments"]}})
                if mine != kafkas:
                    differing.append((case["id"], release, number))
    assert len(cases("streams-full")) == 59
    assert not differing


def without_bytes(round_: dict[str, Any]) -> dict[str, Any]:
    round_["assignments"] = {
        member: {name: value for name, value in told.items() if name != "userData"}
        for member, told in round_["assignments"].items()
    }
    return round_


def test_doubts_are_told() -> None:
    """Kafka's public sticky assignor places standbys by memory address."""
    partial = [case for case in cases("streams-assign") if case.get("expectedIsPartial")]
    assert partial
    for case in partial:
        assert FAMILIES["streams-assign"](case)["standbys_unsure"] is True
