"""Two real Streams groups of the new protocol: every target is recomputed, and is what the processes then run."""

import gzip
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.epochs.tasks_catalogue import RULES
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.replay import decode, replay

CAPTURE = Path(__file__).parents[3] / "vectors" / "captures-groups" / "streams-kip1071-4.3.1"
GROUPS = ("app-a", "app-b")
SETTLED_MS = 2_000
"""A client takes over what it is told, and opens and closes tasks, within this time."""
CODES = frozenset(rule.code for rule in RULES)


def replayed(knowledge: Knowledge) -> list[dict[str, Any]]:
    return replay(records_of(CAPTURE), settings_of(CAPTURE), knowledge=knowledge).objects


@cache
def objects() -> list[dict[str, Any]]:
    return replayed(knowledge_of(CAPTURE))


@cache
def targets() -> list[dict[str, Any]]:
    return [one for one in objects() if one["kind"] == "generation"]


@cache
def rows_of(group: str) -> list[Row]:
    settings = settings_of(CAPTURE)
    rows = (decode(record, settings) for record in records_of(CAPTURE))
    return [row for row in rows if row is not None and row.group == group]


def test_every_target_is_judged_and_none_is_unexplained() -> None:
    grades = Counter(one["verdict"]["grade"] for one in targets())
    assert grades["match"] > 45
    assert set(grades) == {"match", "explainable"}
    explainable = [one for one in targets() if one["verdict"]["grade"] == "explainable"]
    # When the first members had joined, the coordinator had not seen yet that the internal topics were made.
    assert [one["generation"] for one in explainable] == [4, 4]
    assert {one["verdict"]["reason_kind"] for one in explainable} == {"unknown_topics"}
    assert {one["lifecycle"] for one in targets()} == {"streams"}


def test_no_rule_is_broken() -> None:
    assert [one for one in objects() if one["kind"] == "violation"] == []


@pytest.mark.parametrize("group", GROUPS)
def test_read_as_they_went_on_they_break_no_rule(group: str) -> None:
    state, opened = None, []
    for row in rows_of(group):
        tick = Tick(row.timestamp_ms + 20)
        outcome = fold_group(settings_of(CAPTURE), group, state, [row], tick, knowledge=knowledge_of(CAPTURE))
        state = outcome.state
        opened += [one.message for one in outcome.results if isinstance(one, Incident) and one.code in CODES]
    assert opened == []


def test_without_samples_no_target_is_unexplained() -> None:
    found = [one for one in replayed(NOTHING_KNOWN) if one["kind"] == "generation"]
    assert {one["verdict"]["grade"] for one in found} == {"explainable"}


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
    with gzip.open(CAPTURE / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        for one in map(json.loads, lines):
            if one["kind"] == "tasks":
                found = {
                    client: (frozenset(tasks["active"]), frozenset(tasks["standby"]))
                    for client, tasks in one["threads"].items()
                }
                yield one["at_ms"], found


def test_members_that_have_their_target_run_it() -> None:
    by_client: dict[str, list[tuple[int, tuple[frozenset[str], frozenset[str]]]]] = {}
    for at_ms, threads in truth():
        for client, tasks in threads.items():
            by_client.setdefault(client, []).append((at_ms, tasks))
    compared = 0
    for group in GROUPS:
        own = [one for one in targets() if one["group"] == group]
        for one, following in zip(own, [*own[1:], None], strict=True):
            reached_ms = one["epoch"]["reached_ms"]
            if reached_ms is None:
                continue
            until_ms = following["epoch"]["needed_ms"] if following is not None else reached_ms + 2 * SETTLED_MS
            if until_ms < reached_ms + SETTLED_MS:
                continue
            wanted = {
                thread["member_id"]: (frozenset(thread["active"]), frozenset(thread["standby"]))
                for process in one["streams"]["processes"]
                for thread in process["threads"]
            }
            for member in one["members"]:
                told = by_client[member["client_id"]]
                at = bisect_right([at_ms for at_ms, _ in told], reached_ms + SETTLED_MS) - 1
                assert told[at][1] == wanted[member["member_id"]], (group, one["generation"], member["client_id"])
                compared += 1
    assert compared > 20
