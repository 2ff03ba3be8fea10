"""Causes agree with what was done to the captured clusters: `events.jsonl.gz` is what the experimenter did and when.

Every event that must rebalance the group is looked for among the causes of the generations that follow it, and every
cause that somebody must have brought about is looked for among the events before it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay
from tests.vector_files import CAPTURES, json_lines

NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())
Object = dict[str, Any]

LEFT, LOST = frozenset({"worker_left"}), frozenset({"worker_lost"})
BACK = frozenset({"zombie_returned", "worker_joined"})
TASKS = frozenset({"connector_rescaled", "connector_reconfigured"})
CAUSED = {
    "worker start": frozenset({"worker_joined", "worker_bounced"}),
    "worker SIGTERM": LEFT,
    "worker kill -9": LOST,
    "worker SIGSTOP": LOST,
    "worker SIGCONT": BACK,
    "connector created": frozenset({"connector_created"}),
    "connector deleted": frozenset({"connector_deleted"}),
    "connector reconfigured": TASKS,
    "connector stop": TASKS,
    "connector resume": TASKS,
}
"""Which causes an action may have; every other action leaves no trace in the group.

A thawed worker shows as a zombie by the jobs it still reports; an eager one reports none, and only joins.
"""
NOT_DONE_BY_ANYBODY = {("eager-2.8.2", "generation 22: connector_reconfigured more-0")}
"""Config records that no event asked for: the connector moved, and its new owner wrote its tasks anew."""
# From the action to the generation: JVM start, session time-out, a join phase that waits for a stopping worker.
LONGEST_MS = 60_000
# A frozen worker that thaws inside its session time-out was never missed; nor does a resumed connector that was only
# paused change its tasks.
SHORT_FREEZE_MS = 9_000


@dataclass
class Compared:
    """One capture: events with their cause found, events without, causes without an event."""

    explained: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


def lines(path: Path) -> Iterator[Object]:
    yield from json_lines(path)


def compared(name: str) -> Compared:
    path = CAPTURES / name
    objects = replay(records_of(path), settings_of(path)).objects
    generations = [one for one in objects if one["kind"] == "generation"]
    urls = {
        one["worker"]: one["url"].split("/")[2] for one in json.loads((path / "cluster.json").read_text())["workers"]
    }
    events = [
        (event["at_ms"], event["action"], subject_of(event, urls))
        for event in lines(path / "events.jsonl.gz")
        if event["action"] in CAUSED and must_rebalance(event, path)
    ]
    found = Compared()
    causes = [
        (one["state_ms"] or one["at_ms"], one["generation"], cause["kind"], subject["id"])
        for one in generations
        for cause in one["cause"]
        for subject in cause["subjects"] or [{"id": ""}]
    ]
    last_ms = max(one["at_ms"] for one in generations)
    for at_ms, action, subject in events:
        wanted = CAUSED[action]
        hit = [
            kind
            for when_ms, _, kind, who in causes
            if kind in wanted and who == subject and at_ms <= when_ms <= at_ms + LONGEST_MS
        ]
        if hit:
            found.explained.append(f"{action} {subject}")
        elif at_ms <= last_ms:
            found.unexplained.append(f"{action} {subject}")
    for when_ms, generation, kind, who in causes:
        found.kinds[kind] += 1
        actions = {action for action, kinds in CAUSED.items() if kind in kinds}
        brought = [at_ms for at_ms, action, subject in events if action in actions and subject == who]
        if actions and not any(at_ms <= when_ms <= at_ms + LONGEST_MS for at_ms in brought):
            told = f"generation {generation}: {kind} {who}"
            if (name, told) not in NOT_DONE_BY_ANYBODY:
                found.contradicted.append(told)
    return found


def subject_of(event: Object, urls: dict[str, str]) -> str:
    detail = event["detail"]
    return urls[detail["worker"]] if "worker" in detail else detail.get("connector", "")


def must_rebalance(event: Object, path: Path) -> bool:
    """Whether the group has to notice: short freezes are not, nor is the end of a pause."""
    action, detail, at_ms = event["action"], event["detail"], event["at_ms"]
    others = [one for one in lines(path / "events.jsonl.gz") if one["detail"].get("worker") == detail.get("worker")]
    if action == "worker SIGSTOP":
        return all(
            one["at_ms"] - at_ms > SHORT_FREEZE_MS
            for one in others
            if one["action"] == "worker SIGCONT" and one["at_ms"] > at_ms
        )
    if action == "worker SIGCONT":
        return all(
            at_ms - one["at_ms"] > SHORT_FREEZE_MS
            for one in others
            if one["action"] == "worker SIGSTOP" and one["at_ms"] < at_ms
        )
    if action == "connector resume":
        before = [
            one["action"]
            for one in lines(path / "events.jsonl.gz")
            if one["detail"].get("connector") == detail["connector"] and one["at_ms"] < at_ms
        ]
        return bool(before[-1] == "connector stop")
    return True


@pytest.mark.parametrize("name", NAMES)
def test_events_have_their_causes_and_causes_their_events(name: str) -> None:
    found = compared(name)
    assert found.kinds["unknown"] == 0
    assert found.kinds["zombie_returned"] == (5 if name == "zombie" else 0)
    print(f"\n{name}: {len(found.explained)} events explained, {len(found.unexplained)} without a cause,")
    print(f"  {len(found.contradicted)} causes without an event; {dict(sorted(found.kinds.items()))}")
    assert found.unexplained == []
    assert found.contradicted == []
