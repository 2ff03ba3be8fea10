"""A real Streams application through `replay`: roles are those its processes state, and nothing is an alarm."""

from functools import cache
from typing import Any

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import Replayed, replay
from tests.vector_files import GROUP_CAPTURES, json_lines

CAPTURE = GROUP_CAPTURES / "streams-classic-4.3.1"
OVERTAKEN_MS = 1_600
"""A process may learn of a generation so late that the next one is already written."""


@cache
def replayed() -> Replayed:
    return replay(records_of(CAPTURE), settings_of(CAPTURE))


def generations() -> list[dict[str, Any]]:
    return [one for one in replayed().objects if one["kind"] == "generation"]


@cache
def truth() -> dict[str, list[tuple[int, frozenset[str], frozenset[str]]]]:
    """By client id of the thread: time, active tasks, standby tasks."""
    found: dict[str, list[tuple[int, frozenset[str], frozenset[str]]]] = {}
    for line in json_lines(CAPTURE / "truth.jsonl.gz"):
        for thread in line.get("threads", ()):
            active, standby = (frozenset(one["task"] for one in thread[role]) for role in ("active", "standby"))
            found.setdefault(thread["consumer"], []).append((line["at_ms"], active, standby))
    return found


def in_force(
    known: list[tuple[int, frozenset[str], frozenset[str]]], start_ms: int, end_ms: int
) -> list[tuple[frozenset[str], frozenset[str]]]:
    """What a thread stated between these times, and what it had stated last before them: it states changes only."""
    before = [one[1:] for one in known if one[0] < start_ms][-1:]
    return before + [one[1:] for one in known if start_ms <= one[0] <= end_ms]


def test_no_false_alarm() -> None:
    assert not replayed().found
    assert [one for one in replayed().objects if one["kind"] == "violation"] == []


def test_roles_are_those_that_the_processes_state() -> None:
    """Every thread of every generation, unless its process was never seen between this generation and the next."""
    all_of_them = generations()
    ends = [one["at_ms"] for one in all_of_them[1:]] + [1 << 62]
    agreed = overtaken = 0
    for generation, end_ms in zip(all_of_them, ends, strict=True):
        client_of = {member["member_id"]: member["client_id"] for member in generation["members"]}
        for thread in (thread for process in generation["streams"]["processes"] for thread in process["threads"]):
            told = frozenset(thread["active"]), frozenset(thread["standby"])
            known = truth().get(client_of[thread["member_id"]], [])
            if told in in_force(known, generation["at_ms"], end_ms + OVERTAKEN_MS):
                agreed += 1
            else:
                overtaken += 1
                assert end_ms - generation["at_ms"] <= 2 * OVERTAKEN_MS, (generation["generation"], thread["member_id"])
    assert agreed > 150
    assert overtaken < 40


def test_processes_threads_and_sub_topologies_are_told() -> None:
    last = generations()[-1]["streams"]
    assert [len(process["threads"]) for process in last["processes"]] == [2, 2]
    assert [process["leads"] for process in last["processes"]].count(True) == 1
    found = {one["name"]: (one["topics"], one["tasks"], one["stateful"]) for one in last["subtopologies"]}
    assert found == {
        "0": ({"s-in": 6}, 6, False),
        "1": ({"app-4.3.1-by-value-repartition": 6}, 6, True),
        "2": ({"s-state": 4}, 4, True),
        "3": ({"s-plain": 3}, 3, False),
    }


def test_tasks_that_change_hands_are_withheld_and_follow() -> None:
    third, fourth = generations()[2:4]
    assert third["streams"]["withheld"] == [
        "0_0", "0_1", "0_2", "0_3", "0_5", "1_1", "1_3", "1_5", "2_0", "3_0", "3_1"
    ]  # fmt: skip
    assert third["streams"]["next_rebalance_ms"] == 0
    assert [one["kind"] for one in fourth["cause"]] == ["revocation_follow_up"]


def test_a_diff_names_tasks_and_roles() -> None:
    second, third = generations()[1:3]
    assert second["diff"] == {}
    changes = [change for change in third["diff"].values() if change["lost"]]
    assert "1_1 active" in changes[1]["lost"]
    assert "1_1 standby" in changes[1]["gained"]
