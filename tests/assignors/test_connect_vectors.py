"""Every round of every golden case, byte for byte, and what Kafka's leader remembered before it."""

import json
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.assignors.connect.eras import ERAS, Era, era_of
from rebalance_monitor.assignors.connect.model import LeaderMemory
from rebalance_monitor.schemas.connect_protocol import decode_worker_state
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.calculator import connect
from tests.vector_files import json_lines

VECTORS = Path(__file__).parent.parent / "vectors" / "connect"
Case = dict[str, Any]


@cache
def cases(family: str) -> list[Case]:
    return list(json_lines(VECTORS / f"{family}.jsonl.gz"))


def visible(expected: Case) -> list[Case]:
    return [{name: value for name, value in one.items() if name != "memory_before"} for one in expected["rounds"]]


def differing(family: str, era: str | None = None) -> list[str]:
    chosen = [case for case in cases(family) if "rounds" in case["input"]]
    if era is not None:
        chosen = [case for case in chosen if era_of(case["release"]).name == era]
    assert chosen, "no case of this kind"
    return [case["id"] for case in chosen if connect.solve(case)["rounds"] != visible(case["expected"])]


@pytest.mark.parametrize("family", ["connect-eager", "connect-incremental-rounds", "connect-java21"])
def test_answers_of_the_newest_release_are_equal(family: str) -> None:
    assert differing(family) == []


@pytest.mark.parametrize("era", ["A0", "A1", "A2", "A3a", "A3b", "A4"])
def test_answers_of_older_releases_are_equal(era: str) -> None:
    assert differing("connect-incremental-older-releases", era) == []


def test_encoded_assignments_are_equal_and_trees_are_marked() -> None:
    given = [case for case in cases("connect-java21") if case["kind"] == "encode-assignment"]
    answers = {case["id"]: connect.solve(case) for case in given}
    unsure = {name for name, answer in answers.items() if answer.pop("order_unsure", False)}
    assert [case["id"] for case in given if answers[case["id"]] != case["expected"]] == []
    assert unsure
    assert unsure <= {case["id"] for case in given if "nine-names-of-one-hash" in case["tags"]}


def test_releases_that_gave_one_answer_give_it_here_too() -> None:
    """A case names all releases whose answers were identical, whatever separates their eras."""
    newest = [case for case in cases("connect-incremental-rounds") if "A5" in {era_of(r).name for r in case["eras"]}]
    assert len(newest) == len(cases("connect-incremental-rounds"))
    for case in newest[::6]:
        for release in {era_of(name).name: name for name in case["eras"]}.values():  # one release per era
            again = {**case, "input": {**case["input"], "kafka_release": release}}
            assert connect.solve(again)["rounds"] == visible(case["expected"]), (case["id"], release)


def memories(case: Case) -> Iterator[tuple[int, LeaderMemory, Case]]:
    given = case["input"]
    kept: dict[str, LeaderMemory] = {}
    for number, (described, expected) in enumerate(zip(given["rounds"], case["expected"]["rounds"], strict=True)):
        process = described["leader_process"]
        memory = kept.get(process, LeaderMemory())
        yield number, memory, expected["memory_before"]
        era = era_of(given["kafka_release"])
        kept[process] = connect.assign_round(memory, described, given["max_delay_ms"], era, given["java_version"])[1]
    for process, expected in case["expected"]["final_memory"].items():
        yield len(given["rounds"]), kept.get(process, LeaderMemory()), expected


def shown(memory: LeaderMemory, era: Era, expected: Case) -> Case:
    """The memory in the vectors' words, without what this release lacks."""
    whole = {
        "previous_connectors": set(memory.previous.connectors),
        "previous_tasks": set(memory.previous.tasks),
        "previous_revoked_connectors": set(memory.previous_revoked.connectors),
        "previous_revoked_tasks": set(memory.previous_revoked.tasks),
        "scheduled_rebalance_ms": memory.scheduled_ms,
        "delay_ms": memory.delay_ms,
        "candidates": list(memory.candidates),
        "previous_generation": memory.previous_generation,
        "previous_members": set(memory.previous_members),
    }
    if era.balances_fully:
        whole["revoked_in_previous"] = memory.revoked_in_previous
        whole["successive_revoking_rebalances"] = memory.successive_revocations
    else:
        whole["can_revoke"] = memory.can_revoke
    return {name: value for name, value in whole.items() if name in expected}


def without_order(expected: Case) -> Case:
    as_sets = {name for name in expected if name.startswith("previous_")} - {"previous_generation"}
    return {
        name: {tuple(item) if isinstance(item, list) else item for item in value} if name in as_sets else value
        for name, value in expected.items()
    }


@pytest.mark.parametrize("family", ["connect-incremental-rounds", "connect-incremental-older-releases"])
def test_the_leaders_memory_is_equal(family: str) -> None:
    checked = 0
    for case in cases(family):
        for number, memory, expected in memories(case):
            era = era_of(case["release"])
            assert shown(memory, era, expected) == without_order(expected), (case["id"], number)
            checked += 1
    assert checked > len(cases(family))


def test_one_case_is_run_in_every_era_without_a_surprise() -> None:
    """Old cases mention all job kinds, so every era finishes them, if with other answers."""
    for case in cases("connect-incremental-rounds")[::20]:
        for era in ERAS.values():
            if era.speaks_sessioned or case["input"]["rounds"][0]["protocol"] == "compatible":
                again = {**case, "input": {**case["input"], "kafka_release": era.since}}
                assert all("error" in one and "members" in one for one in connect.solve(again)["rounds"])


def test_a_broken_subscription_spoils_its_round_only() -> None:
    case = json.loads(json.dumps(cases("connect-incremental-rounds")[0]))
    rounds = case["input"]["rounds"]
    whole = connect.solve(case)["rounds"]
    rounds.insert(1, json.loads(json.dumps(rounds[1])))
    rounds[1]["members"][0]["subscription"] = "AAI="
    answers = connect.solve(case)["rounds"]
    assert set(answers[1]) == {"error"}
    assert answers[:1] + answers[2:] == whole


def test_a_leader_outside_the_group_cannot_assign() -> None:
    case = json.loads(json.dumps(cases("connect-eager")[0]))
    case["input"]["rounds"][0]["leader"] = "nobody"
    assert "not among the members" in connect.solve(case)["rounds"][0]["error"]


def test_vectors_hold_lists_with_repeats() -> None:
    """Guards the oddest input of all: an allocation that names one job twice."""
    tagged = [case for case in cases("connect-incremental-older-releases") if "job-listed-twice" in case["tags"]]
    twice = 0
    for case in tagged:
        for member in (member for one in case["input"]["rounds"] for member in one["members"]):
            read = decode_worker_state(b64decode(member["subscription"]))
            if isinstance(read, Decoded) and read.value.allocation is not None:
                held = (*read.value.allocation.connectors, *read.value.allocation.tasks)
                twice += len(held) != len(set(held))
    assert twice
