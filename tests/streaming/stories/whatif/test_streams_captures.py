"""What is said of Streams applications holds in a capture: the tasks of who leaves are given out at once, and a process
without state gets no task with state that another one runs.
"""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.whatif.change import GroupChange
from rebalance_monitor.streaming.stories.whatif.streams import predict

CHURN = Path(__file__).parents[3] / "vectors" / "captures-groups" / "streams-churn"
Document = dict[str, Any]


def active(generation: Document) -> dict[str, str]:
    """The member that runs each task."""
    threads = [thread for process in generation["streams"]["processes"] for thread in process["threads"]]
    return {task: thread["member_id"] for thread in threads for task in thread["active"]}


def members(generation: Document) -> set[str]:
    return {one["member_id"] for one in generation["members"]}


def tasks(generation: Document) -> set[str]:
    """All that there are, whoever runs them."""
    return {
        f"{one['name']}_{number}" for one in generation["streams"]["subtopologies"] for number in range(one["tasks"])
    }


def shape(generation: Document) -> set[tuple[str, int]]:
    return {(one["name"], one["tasks"]) for one in generation["streams"]["subtopologies"]}


def stateful(generation: Document) -> set[str]:
    return {one["name"] for one in generation["streams"]["subtopologies"] if one["stateful"] is not False}


def test_what_is_certain_holds() -> None:
    source, places = capture_of(str(CHURN)), Counter[str]()
    for key in source.names():
        oldest_first = [one for one in source.generations(key) if "streams" in one][::-1]
        for before, after in pairwise(oldest_first):
            if after["generation"] != before["generation"] + 1 or shape(before) != shape(after):
                continue
            gone, come = members(before) - members(after), members(after) - members(before)
            lost = {task for task, member in active(before).items() if member in gone}
            if lost:
                places["leave"] += 1
                told = predict(GroupChange(leave=tuple(gone)), before)
                assert any("gives them to other threads at once" in sentence for sentence in told.known)
                assert lost <= active(after).keys()
            if come:
                places["join"] += 1
                fresh = {
                    thread["member_id"]
                    for process in after["streams"]["processes"]
                    for thread in process["threads"]
                    if not process["offset_sums"] and thread["member_id"] in come
                }
                given = {task for task, member in active(after).items() if member in fresh}
                kept = active(before).keys() - lost
                told = predict(GroupChange(join=len(come), leave=tuple(gone)), before)
                there = f"{counted(len(tasks(after)), 'active task')} on {counted(len(members(after)), 'thread')} are "
                assert [sentence for sentence in told.known if sentence.startswith(there)], told.known
                assert any("A new process begins without state" in sentence for sentence in told.known)
                assert not {task for task in given & kept if task.rpartition("_")[0] in stateful(after)}
    assert places == {"leave": 14, "join": 24}


def test_a_process_that_is_back_may_have_its_state_still() -> None:
    source = capture_of(str(CHURN))
    latest = next(one for one in source.generations(("streams-churn", "s13-4-sticky")) if one["members"])
    member = latest["members"][0]
    told = predict(GroupChange(bounce=(member["member_id"],)), latest).known
    assert any("state.dir" in sentence for sentence in told)
    assert not any("A new process begins without state" in sentence for sentence in told)
    static = {**latest, "members": [{**member, "instance_id": "i1"}, *latest["members"][1:]]}
    soon = predict(GroupChange(bounce=("i1",), away_ms=1_000), static).known[0]
    assert soon == "i1: static, and back within the session time-out, so its tasks stay with it and no rebalance comes."
    late = predict(GroupChange(bounce=("i1",), away_ms=member["session_timeout_ms"]), static).known
    assert not any("static" in sentence for sentence in late)
