"""Late UNASSIGNED of tasks and connectors: as Connect's own status store of 3.5, 3.9 and 4.3 shows them."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab.wire.connect_statuses import read_statuses
from rebalance_monitor.streaming.core.connect.statuses.facts import JobFacts, Sighting, after
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "connect" / "status-reads.jsonl.gz"


def cases() -> Iterator[dict[str, Any]]:
    yield from json_lines(VECTORS)


@pytest.mark.parametrize("release", ["3.5.2", "3.9.1", "4.3.1"])
def test_the_reader_of_golden_logs_shows_what_the_store_of_this_release_shows(release: str) -> None:
    compared = 0
    for case in cases():
        if case["release"] == release:
            log = [{"key": key, "value": value} for key, value in case["log"]]
            shown = read_statuses(log, release).get("c", {})
            assert [line(shown.get("connector")), line(shown.get("tasks", {}).get("0"))] == [
                case["connector"],
                case["task"],
            ], case["id"]
            compared += 1
    assert compared == 200


def line(status: dict[str, Any] | None) -> str:
    return "-" if status is None else f"{status['state']} {status['workerId']} {status['generation']}"


def test_the_fold_shows_the_same_but_for_a_workers_own_stop() -> None:
    """Of 3.9 on. A worker that stops what it runs itself has stopped it, whatever the store keeps showing."""
    compared = 0
    for case in cases():
        if case["release"] != "3.5.2":
            for job, key in (("connector c", "connector"), ("task c-0", "task")):
                facts = JobFacts()
                for status in statuses(case["log"], job):
                    facts = after(facts, status)
                own_stop = facts.shown is not None and facts.shown.state == "UNASSIGNED" and job.startswith("task")
                if not own_stop:
                    shown = facts.shown
                    said = "-" if shown is None else f"{shown.state} {shown.worker} {shown.generation}"
                    assert said == case[key], case["id"]
                    compared += 1
    assert compared > 600


def statuses(log: list[list[str]], job: str) -> Iterator[Sighting]:
    """The statuses of one job; a connector's tombstone removes those of its tasks too."""
    prefix = "status-connector-c" if job == "connector c" else "status-task-c-0"
    for at, (key, value) in enumerate(log):
        if value is None and key in (prefix, "status-connector-c"):
            yield Sighting(job, None, "", -1, at, 0, at)
        elif value is not None and key == prefix:
            read = json.loads(base64.b64decode(value))
            yield Sighting(job, read["state"], read["worker_id"], read["generation"], at, 0, at)
