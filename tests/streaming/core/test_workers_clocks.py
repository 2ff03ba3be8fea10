"""One worker's clock is wrong: its statuses carry other times, and nothing else has changed."""

import json
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import HARMFUL, RawRecord, replay
from tests.vector_files import CAPTURES

HARM = {str(severity) for severity in HARMFUL}


def records_with(name: str, worker: int, apart_ms: int) -> tuple[list[RawRecord], list[RawRecord]]:
    """A capture's records, and the same as if the clock of this worker were off."""
    records = list(records_of(CAPTURES / name))
    writers = {
        (one.topic, one.partition, one.offset): json.loads(one.value)["worker_id"]
        for one in records
        if one.topic.endswith("-status") and one.value
    }
    wrong = sorted(set(writers.values()))[worker]
    return records, [
        replace(one, timestamp_ms=one.timestamp_ms + apart_ms)
        if writers.get((one.topic, one.partition, one.offset)) == wrong
        else one
        for one in records
    ]


def harm_in(name: str, records: list[RawRecord]) -> set[str]:
    known = settings_of(CAPTURES / name)
    told = [one for one in replay(records, known).objects if one["kind"] == "violation"]
    return {one["message"] for one in told if one["severity"] in HARM}


@pytest.mark.parametrize("apart_ms", [-300_000, -30_000, 30_000, 300_000])
@pytest.mark.parametrize("worker", [0, 1])
def test_a_workers_clock_makes_no_alarm(worker: int, apart_ms: int) -> None:
    found = harm_in("sessioned-4.3.1", records_with("sessioned-4.3.1", worker, apart_ms)[1])
    # A connector of the capture fails on purpose; its own status says so.
    assert not {one for one in found if "has FAILED" not in one}


@pytest.mark.parametrize(
    ("name", "worker"), [("steady", 1), ("steady", 2), ("zombie", 0), ("zombie", 1), ("zombie", 2)]
)
def test_a_clock_ahead_leaves_no_job_untaken(name: str, worker: int) -> None:
    """Nothing follows in the same partition that would show when the status was written at the latest."""
    records, moved = records_with(name, worker, 300_000)
    assert not {one for one in harm_in(name, moved) if "has not taken" in one}
    assert {one for one in harm_in(name, records) if "twice" in one} or name == "steady"
