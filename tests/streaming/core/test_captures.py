"""Real clusters through `replay`: every record with members becomes a generation, as the workers' own logs tell it."""

import base64
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay
from tests.vector_files import CAPTURES, json_lines

NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())


def lines(path: Path) -> list[dict[str, Any]]:
    return list(json_lines(path))


@pytest.fixture(scope="module", params=NAMES)
def capture(request: pytest.FixtureRequest) -> tuple[Path, list[dict[str, Any]]]:
    path = CAPTURES / request.param
    return path, replay(records_of(path), settings_of(path)).objects


def test_one_generation_per_record_with_members(capture: tuple[Path, list[dict[str, Any]]]) -> None:
    path, objects = capture
    expected = set()
    for record in lines(path / "records.jsonl.gz"):
        if record["topic"] == "__consumer_offsets" and record["value"] is not None:
            value = base64.b64decode(record["value"])
            if base64.b64decode(record["key"])[:2] == b"\x00\x02" and value[-4:] != b"\x00\x00\x00\x00":
                expected.add((record["partition"], record["offset"]))
    seen = [(one["source"]["partition"], one["source"]["offset"]) for one in objects if one["kind"] == "generation"]
    assert Counter(seen).most_common(1)[0][1] == 1
    assert expected <= set(seen)
    assert objects[-1]["undecodable"] == 0


def test_assignments_equal_what_the_workers_received(capture: tuple[Path, list[dict[str, Any]]]) -> None:
    path, objects = capture
    given = {
        (member["member_id"], one["group"], one["generation"]): member
        for one in objects
        if one["kind"] == "generation"
        for member in one["members"]
    }
    current: dict[tuple[str, int], tuple[str, str, int]] = {}
    compared = 0
    for line in lines(path / "truth.jsonl.gz"):
        process = (line.get("worker", ""), line.get("incarnation", 0))
        if line["kind"] == "member" and line.get("memberId"):
            current[process] = (line["memberId"], line["group"], line["generation"])
        elif line["kind"] == "received" and process in current:
            member = given.get(current[process])
            if member is None:
                continue
            told = line["assignment"]
            assert member["assigned"] == {"connectors": told["connectors"], "tasks": told["tasks"]}
            assert member["revoked"] == {"connectors": told["revokedConnectors"], "tasks": told["revokedTasks"]}
            compared += 1
    assert compared > 10


def test_every_generation_is_what_its_leader_must_compute(capture: tuple[Path, list[dict[str, Any]]]) -> None:
    _, objects = capture
    grades = Counter(one["verdict"]["grade"] for one in objects if one["kind"] == "generation")
    assert set(grades) == {"match"}
