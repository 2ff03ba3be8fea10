"""A capture extended by hand with the two outages that people ask for first: exactly their incidents open."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, replay
from tests.vector_files import CAPTURES

CAPTURE = CAPTURES / "eager-2.8.2"
FAILED_AFTER_MS, EMPTY_AFTER_MS, HOUR_MS = 600_000, 1_200_000, 3_600_000
FAILED = 16


def group_record(record: RawRecord) -> GroupGeneration | None:
    """The generation in a record of the group."""
    if record.topic != OFFSETS_TOPIC:
        return None
    row = decode_offsets_record(
        record.topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value
    )
    return row.body if row is not None and isinstance(row.body, GroupGeneration) else None


def while_all_run() -> list[RawRecord]:
    """The capture until just before its workers were stopped."""
    records = list(records_of(CAPTURE))
    (*_, (last, _)) = ((one, body) for one in records if (body := group_record(one)) is not None and body.members)
    stopped_ms = min(
        one.timestamp_ms
        for one in records
        if one.topic.endswith("-status")
        and one.timestamp_ms > last.timestamp_ms
        and b"UNASSIGNED" in (one.value or b"")
    )
    return [one for one in records if one.timestamp_ms < stopped_ms]


def running(records: list[RawRecord]) -> list[RawRecord]:
    """The last status of each task that runs."""
    latest = {one.key: one for one in records if (one.key or b"").startswith(b"status-task-")}
    return [one for one in latest.values() if b'"RUNNING"' in (one.value or b"")]


def extended() -> Iterator[RawRecord]:
    """Ten minutes after the last record of the capture, sixteen tasks fail; ten minutes later no worker is left, and an
    hour later there is still none."""
    records = while_all_run()
    end_ms = max(one.timestamp_ms for one in records)
    ends: dict[tuple[str, int], int] = {}
    for kept in records:
        ends[kept.topic, kept.partition] = max(kept.offset + 1, ends.get((kept.topic, kept.partition), 0))
    yield from records

    def later(record: RawRecord, after_ms: int, **more: Any) -> RawRecord:
        place = record.topic, record.partition
        ends[place] = ends.get(place, 0) + 1
        return replace(record, offset=ends[place] - 1, timestamp_ms=end_ms + after_ms, **more)

    for number, kept in enumerate(running(records)[:FAILED]):
        said = {**json.loads(kept.value or b""), "state": "FAILED", "trace": "java.lang.Exception"}
        yield later(kept, FAILED_AFTER_MS + number, value=json.dumps(said).encode())
    group = [one for one in records_of(CAPTURE) if group_record(one) is not None]
    (*_, empty) = (one for one in group if (body := group_record(one)) is not None and not body.members)
    yield later(empty, EMPTY_AFTER_MS)
    # Two clocks say that the hour has passed: the coordinator's, and that of whoever wrote a key to the config topic.
    yield later(empty, EMPTY_AFTER_MS + HOUR_MS)
    config = next(one for one in records if one.topic.endswith("-configs"))
    yield later(config, EMPTY_AFTER_MS + HOUR_MS, key=b"session-key", value=b'{"algorithm":"HmacSHA256"}')


def violations(records: list[RawRecord]) -> list[dict[str, Any]]:
    return [one for one in replay(records, settings_of(CAPTURE)).objects if one["kind"] == "violation"]


def test_all_workers_gone_and_sixteen_failed_tasks_open_two_incidents_and_nothing_else() -> None:
    before = {one["incident_id"] for one in violations(while_all_run())}
    failed, gone = [one for one in violations(list(extended())) if one["incident_id"] not in before]
    assert (failed["rule"], len(failed["parts"]), failed["alert"]) == ("failed", FAILED, "warning")
    assert failed["fired_at_ms"] == failed["opened_at_ms"] + 300_000
    assert failed["resolved_at_ms"] is not None
    assert (gone["rule"], gone["alert"], gone["firing"]) == ("all_workers_gone", "critical", True)
    assert gone["resolved_at_ms"] is None
