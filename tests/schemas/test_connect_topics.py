"""Connect's topics: what is kept, and that nothing secret is."""

from base64 import b64decode

import pytest

from rebalance_monitor.schemas.connect_topics import (
    ConfigRecord,
    ConnectorConfigured,
    ConnectorDeleted,
    OtherConfig,
    StatusRecord,
    TargetState,
    TasksCommitted,
    TaskStaged,
    decode_config_record,
    decode_status_record,
)
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Unreadable
from tests.vector_files import VECTORS, json_lines

SECRET = "hunter2-Zq9"
VECTORS = VECTORS / "consumer" / "connect-topics-wire.jsonl.gz"


@pytest.mark.parametrize(
    ("key", "value", "record"),
    [
        ("connector-a", '{"properties":{"tasks.max":"4","x":null}}', ConnectorConfigured("a", 4)),
        ("connector-a", '{"properties":{"tasks.max":"${file:x}"}}', ConnectorConfigured("a")),
        ("connector-a-1", None, ConnectorDeleted("a-1")),
        ("connector-a", "", ConnectorDeleted("a")),
        ("connector-a", "null", ConnectorDeleted("a")),
        ("connector-a", "[]", OtherConfig("connector_ignored")),
        ("connector-a", "{bad", OtherConfig("not_json", advances=False, size_bytes=4)),
        ("connector-a", '{"properties":{"x":NaN}}', OtherConfig("not_json", advances=False, size_bytes=24)),
        ("connector-a", "nullx", OtherConfig("not_json", advances=False, size_bytes=5)),
        ("connector-a", "null,", ConnectorDeleted("a")),
        ("connector-a", "1.", OtherConfig("not_json", advances=False, size_bytes=2)),
        ("connector-a", '\ufeff{"properties":{}}', ConnectorConfigured("a")),
        ("task-a-1-0", '{"properties":{}} trailing', TaskStaged("a-1", 0)),
        ("task-a-x", '{"properties":{}}', OtherConfig("task_ignored")),
        ("task-a-0", None, OtherConfig("task_ignored")),
        ("commit-a", '{"tasks":3}', TasksCommitted("a", 3)),
        ("commit-a", '{"tasks":4294967297}', TasksCommitted("a", 1)),
        ("commit-a", '{"tasks":"3"}', TasksCommitted("a", None)),
        ("commit-a", '{"tasks":true}', TasksCommitted("a", None)),
        ("target-state-a", '{"state":"PAUSED","state.v2":"STOPPED"}', TargetState("a", "STOPPED")),
        ("target-state-a", '{"state":"PAUSED"}', TargetState("a", "PAUSED")),
        ("target-state-a", '{"state.v2":"NAPPING"}', OtherConfig("target_state_ignored")),
        ("target-state-a", None, TargetState("a", None)),
        ("tasks-fencing-a", '{"task-count":2}', OtherConfig("tasks_fencing")),
        ("session-key", '{"key":"AAAA"}', OtherConfig("session_key")),
        ("something", "{}", OtherConfig("unknown_key")),
    ],
)
def test_config_records(key: str, value: str | None, record: ConfigRecord) -> None:
    assert decode_config_record(key.encode(), None if value is None else value.encode()) == Decoded(record)


@pytest.mark.parametrize("bad", ["\ud800".encode("utf-8", "surrogatepass"), b'"\xff"', b"[" * 100_000, b"9" * 5_000])
def test_hostile_values_are_skipped_as_kafka_skips_them(bad: bytes) -> None:
    assert decode_config_record(b"connector-a", bad) == Decoded(
        OtherConfig("not_json", advances=False, size_bytes=len(bad))
    )


def test_status_records() -> None:
    value = b'{"state":"FAILED","trace":"boom","worker_id":"h:8083","generation":5,"version":null}'
    assert decode_status_record(b"status-task-a-1-0", value) == Decoded(StatusRecord("a-1", 0, "FAILED", "h:8083", 5))
    assert decode_status_record(b"status-connector-a-1", None) == Decoded(StatusRecord("a-1", None, None))
    assert decode_status_record(b"status-topic-t:connector-a", b"{}") == Ignored("topic_status")
    assert decode_status_record(b"status-task-a", value) == Unreadable("malformed_key")
    assert decode_status_record(b"status-connector-a", b"{}") == Unreadable("malformed_status")
    assert decode_status_record(None, value) == Unreadable("null_key")


@pytest.mark.parametrize(
    "key",
    [
        "connector-a",
        "task-a-0",
        "commit-a",
        "target-state-a",
        "session-key",
        "tasks-fencing-a",
        "restart-connector-a",
        "logger-cluster-a",
        "other",
        "status-connector-a",
        "status-task-a-0",
        "status-topic-t:connector-a",
    ],
)
@pytest.mark.parametrize(
    "shape",
    [
        '{"properties":{"password":"%s"}}',
        '{"key":"%s"}',
        '{"state":"RUNNING","generation":1,"trace":"%s"}',
        '{"%s',
        "%s",
    ],
)
def test_a_planted_secret_is_nowhere(key: str, shape: str) -> None:
    value = (shape % SECRET).encode()
    for decode in (decode_config_record, decode_status_record):
        assert SECRET not in repr(decode(key.encode(), value))


def test_no_session_key_of_real_stores_survives() -> None:
    cases = [case for case in json_lines(VECTORS) if "secret" in case["tags"]]
    planted = 0
    for case in cases:
        records = case["input"].get("records") or [
            {"key": key, "value": value} for _, key, value in case["input"]["log"]
        ]
        for record in records:
            if record["key"] != "session-key" or record["value"] is None:
                continue
            planted += 1
            assert decode_config_record(b"session-key", b64decode(record["value"])) == Decoded(
                OtherConfig("session_key")
            )
    assert planted


@pytest.mark.parametrize(
    ("value", "record"),
    [
        (b'{"tasks":3}\xff\xff', TasksCommitted("a", 3)),
        (b'{"tasks":3}\xc3', TasksCommitted("a", 3)),
        ('{"tasks":3}'.encode("utf-16-le"), TasksCommitted("a", 3)),
        ('{"tasks":3}'.encode("utf-32"), TasksCommitted("a", 3)),
        (b'{"x":"\xff","tasks":3}', OtherConfig("not_json", advances=False, size_bytes=19)),
        (b"\xff", OtherConfig("not_json", advances=False, size_bytes=1)),
    ],
)
def test_bytes_are_read_as_the_converters_parser_reads_them(value: bytes, record: ConfigRecord) -> None:
    """Seen on Jackson as in Connect 2.3.1 to 4.3.1."""
    outcome = decode_config_record(b"commit-a", value)
    assert isinstance(outcome, Decoded)
    assert outcome.value == record
