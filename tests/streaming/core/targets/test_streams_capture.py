"""Two real Streams groups of the new protocol: every target is recomputed, and is what the processes then run."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any

from rebalance_monitor.schemas.streams_values import StreamsTarget, SubtopologyTasks
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import OtherGroup, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident
from rebalance_monitor.streaming.core.model.settings import NOTHING_SAID
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.operation import records_of as records_in
from rebalance_monitor.streaming.core.targets.tasks_verdict import judge
from tests.streaming.core.targets.captured import STREAMS as CAPTURE
from tests.streaming.core.targets.captured import rows_by_group
from tests.streaming.core.targets.judged import take_all
from tests.streaming.core.targets.judged import targets_of as targets_in
from tests.vector_files import json_lines

GROUPS = ("app-a", "app-b")
SETTLED_MS = 2_000
"""A client takes over what it is told, and opens and closes tasks, within this time."""


def replayed(knowledge: Knowledge) -> list[dict[str, Any]]:
    return replay(records_of(CAPTURE), settings_of(CAPTURE), knowledge=knowledge).objects


@cache
def objects() -> list[dict[str, Any]]:
    return replayed(knowledge_of(CAPTURE))


@cache
def targets() -> list[dict[str, Any]]:
    return [one for one in objects() if one["kind"] == "generation"]


def test_every_target_is_judged_and_none_is_unexplained() -> None:
    grades = Counter(one["verdict"]["grade"] for one in targets())
    assert grades == {"match": 51}
    # When the first members had joined, the coordinator had not seen yet that the internal topics were made.
    without_tasks = [one for one in targets() if not any(of["assigned"]["partitions"] for of in one["members"])]
    assert [one["generation"] for one in without_tasks] == [4, 4]
    assert {one["lifecycle"] for one in targets()} == {"streams"}


def test_no_rule_is_broken() -> None:
    assert [one for one in objects() if one["kind"] == "violation"] == []


def test_without_samples_no_target_is_unexplained() -> None:
    found = [one for one in replayed(NOTHING_KNOWN) if one["kind"] == "generation"]
    assert Counter(one["verdict"]["grade"] for one in found) == {"match": 2, "explainable": 49}


def test_what_was_done_to_the_groups_is_the_cause() -> None:
    causes = Counter(cause["kind"] for one in targets() for cause in one["cause"])
    assert set(causes) == {
        "member_joined", "member_left", "member_gone", "topic_changed", "configuration_changed",
    }  # fmt: skip
    told = [
        evidence.get("text")
        for one in targets()
        for cause in one["cause"]
        for evidence in cause["evidence"]
        if cause["kind"] == "configuration_changed"
    ]
    assert {"num.standby.replicas=1", "num.standby.replicas=0"} <= set(told)


def truth() -> Iterator[tuple[int, dict[str, tuple[frozenset[str], frozenset[str]]]]]:
    """What threads of one process run and copy, by the client id of their members, and when."""
    for stated in json_lines(CAPTURE / "truth.jsonl.gz"):
        if stated["kind"] == "tasks":
            found = {
                client: (frozenset(tasks["active"]), frozenset(tasks["standby"]))
                for client, tasks in stated["threads"].items()
            }
            yield stated["at_ms"], found


def test_members_that_have_their_target_run_it() -> None:
    by_client: dict[str, list[tuple[int, tuple[frozenset[str], frozenset[str]]]]] = {}
    for at_ms, threads in truth():
        for client, tasks in threads.items():
            by_client.setdefault(client, []).append((at_ms, tasks))
    compared = 0
    for group in GROUPS:
        own = [one for one in targets() if one["group"] == group]
        for target, following in zip(own, [*own[1:], None], strict=True):
            reached_ms = target["epoch"]["reached_ms"]
            if reached_ms is None:
                continue
            until_ms = following["epoch"]["needed_ms"] if following is not None else reached_ms + 2 * SETTLED_MS
            if until_ms < reached_ms + SETTLED_MS:
                continue
            wanted = {
                thread["member_id"]: (frozenset(thread["active"]), frozenset(thread["standby"]))
                for process in target["streams"]["processes"]
                for thread in process["threads"]
            }
            for member in target["members"]:
                told = by_client[member["client_id"]]
                at = bisect_right([at_ms for at_ms, _ in told], reached_ms + SETTLED_MS) - 1
                assert told[at][1] == wanted[member["member_id"]], (group, target["generation"], member["client_id"])
                compared += 1
    assert compared > 20


def computed() -> Iterator[tuple[str, int, Computed]]:
    """(group, time, target) of every operation that brought one."""
    for group in GROUPS:
        state = TargetGroup()
        for at_ms, rows in groupby(rows_by_group(CAPTURE)[group], key=lambda row: row.timestamp_ms):
            records = records_in(rows)
            yield from ((group, at_ms, one) for one in targets_in(state, records, at_ms))
            state = take_all(state, records, at_ms)


def moved(target: Computed) -> Computed | None:
    """The same with an active task of one member in the hands of another; None where there is no other."""
    members = {
        name: view.target for name, view in target.after.members.items() if isinstance(view.target, StreamsTarget)
    }
    giver = next((name for name, tasks in members.items() if tasks.active), None)
    taker = next((name for name in members if name != giver), None)
    if giver is None or taker is None:
        return None
    first, *rest = members[giver].active
    less = (SubtopologyTasks(first.subtopology, first.numbers[1:]), *rest)
    more = (*members[taker].active, SubtopologyTasks(first.subtopology, first.numbers[:1]))
    wrong = {
        **target.after.members,
        giver: replace(target.after.members[giver], target=replace(members[giver], active=less)),
        taker: replace(target.after.members[taker], target=replace(members[taker], active=more)),
    }
    return replace(target, after=replace(target.after, members=wrong))


def test_every_target_with_a_task_moved_is_unexplained() -> None:
    known = knowledge_of(CAPTURE).topics
    found: Counter[str] = Counter()
    for _, at_ms, target in computed():
        wrong = moved(target)
        if wrong is not None:
            found[judge(wrong, NOTHING_SAID, known, at_ms).verdict.grade.value] += 1
    assert set(found) == {"unexplained"}
    assert found["unexplained"] > 40


def test_a_group_that_is_read_from_its_midst_is_not_judged_before_it_is_known() -> None:
    """What compaction left: the newest record of each key."""
    for group in GROUPS:
        rows = rows_by_group(CAPTURE)[group][: len(rows_by_group(CAPTURE)[group]) * 2 // 3]
        newest = {row.body.key: row for row in rows if isinstance(row.body, OtherGroup)}
        left = sorted(newest.values(), key=lambda row: row.offset)
        settings, end = settings_of(CAPTURE), Tick(left[-1].timestamp_ms + 1_000)
        outcome = fold_group(settings, group, None, left, end, knowledge=knowledge_of(CAPTURE))
        assert not [one for one in outcome.results if isinstance(one, Incident)]
        assert {one.verdict.grade for one in outcome.results if isinstance(one, Generation)} <= {Grade.NOT_JUDGED}
