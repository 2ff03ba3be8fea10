"""One worker's clock is wrong: its statuses carry other times, and nothing else has changed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from streaming.cli.captures import records_of, settings_of
from streaming.core.replay import HARMFUL, replay

CAPTURE = Path(__file__).parents[2] / "vectors" / "captures" / "sessioned-4.3.1"
SETTINGS = settings_of(CAPTURE)
RECORDS = list(records_of(CAPTURE))
WRITERS = {
    (one.partition, one.offset): json.loads(one.value)["worker_id"]
    for one in RECORDS
    if one.topic.endswith("-status") and one.value
}
WORKERS = sorted(set(WRITERS.values()))


@pytest.mark.parametrize("apart_ms", [-300_000, -30_000, 30_000])
@pytest.mark.parametrize("worker", WORKERS[:2])
def test_a_workers_clock_makes_no_alarm(worker: str, apart_ms: int) -> None:
    moved = [
        replace(one, timestamp_ms=one.timestamp_ms + apart_ms)
        if one.topic.endswith("-status") and WRITERS.get((one.partition, one.offset)) == worker
        else one
        for one in RECORDS
    ]
    harmful = {str(severity) for severity in HARMFUL}
    told = [one for one in replay(moved, SETTINGS).objects if one["kind"] == "violation"]
    assert not [one["message"] for one in told if one["severity"] in harmful]
