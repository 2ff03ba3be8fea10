"""Every golden case of the Streams assignors, under each release that gave this answer."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from streaming.calculator import FAMILIES

VECTORS = Path(__file__).parents[2] / "vectors" / "streams"
# Cases of an assignor that is not computed yet would be counted here.
NOT_YET = frozenset({"sticky_924"})


@cache
def cases(family: str) -> list[dict[str, Any]]:
    with gzip.open(VECTORS / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def answered(case: dict[str, Any], release: str) -> dict[str, Any]:
    """Our answer, cut to what the case knows."""
    answer = FAMILIES["streams-assign"]({"input": case["input"], "release": release})
    answer.pop("order_unsure", None)
    if case.get("expectedIsPartial"):
        return {"clients": {one: {"active": share["active"]} for one, share in answer["clients"].items()}}
    return answer


def test_every_assignment_is_kafkas_in_each_release() -> None:
    differing = []
    asked = [case for case in cases("streams-assign") if case["input"]["assignor"] not in NOT_YET]
    for case in asked:
        for release in sorted({case["release"], *case["eras"]}):
            if answered(case, release) != case["expected"]:
                differing.append((case["id"], release))
    assert len(asked) > 150
    assert not differing


@pytest.mark.parametrize("changed", ["config", "racks"])
def test_cases_can_tell_a_wrong_answer(changed: str) -> None:
    """Without standbys, or without racks, most of the cases that have them come out otherwise."""
    told = 0
    for case in cases("streams-assign"):
        if case["input"]["assignor"] not in NOT_YET and "exception" not in case["expected"]:
            wrong = {**case["input"], "racks": {}}
            if changed == "config":
                wrong = {**case["input"], "config": {**case["input"]["config"], "num.standby.replicas": 0}}
            told += answered({**case, "input": wrong}, case["release"]) != case["expected"]
    assert told > {"config": 60, "racks": 10}[changed]
