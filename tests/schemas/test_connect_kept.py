"""What is kept of a value of Connect's topics reads like the value, and holds no secret."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_monitor.schemas.connect_kept import config_value_kept, status_value_kept
from rebalance_monitor.schemas.connect_topics import decode_config_record, decode_status_record

SECRET = "open-sesame"
NAMES = ("orders", "orders-1", "a-", "", "ü")
CONFIG_KEYS = st.sampled_from(
    [
        None,
        b"session-key",
        b"other",
        *(f"{prefix}{name}".encode() for prefix in ("connector-", "commit-", "target-state-", "tasks-fencing-",
            "restart-connector-", "task-") for name in NAMES),
        b"task-orders-0", b"task-orders-x",
    ]
)  # fmt: skip
STATUS_KEYS = st.sampled_from(
    [
        None, b"other", b"status-topic-t:connector-c", b"status-connector-orders", b"status-task-orders-1",
        b"status-task-orders",
    ]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.just(SECRET) | st.text(max_size=5)
PROPERTIES = st.dictionaries(st.sampled_from(["tasks.max", "password", "name"]), LEAVES | st.sampled_from(["3", "007"]))
CONFIG = st.fixed_dictionaries(
    {},
    optional={
        "properties": PROPERTIES | LEAVES,
        "tasks": LEAVES,
        "state": st.sampled_from(["STARTED", "PAUSED", SECRET, None, 3]),
        "state.v2": st.sampled_from(["STOPPED", SECRET, None]),
        "key": st.just(SECRET),
    },
)
STATUS = st.fixed_dictionaries(
    {},
    optional={
        "state": st.sampled_from(["RUNNING", "FAILED", None, 1]),
        "worker_id": st.sampled_from(["w:8083", None, 2]),
        "generation": LEAVES,
        "trace": st.just(SECRET),
    },
)


def encoded(value: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes | None]:
    """As JSON, as what some encoder makes of it, and what is no JSON at all."""
    text = (value | LEAVES).map(json.dumps)
    return (
        st.none()
        | text.map(str.encode)
        | text.map(lambda one: one.encode("utf-16"))
        | text.map(lambda one: (one + SECRET).encode())
        | st.sampled_from([b"", b" ", b"nul", b"{", b"\xff\xfe", SECRET.encode()])
        | st.binary(max_size=8)
    )


@given(CONFIG_KEYS, encoded(CONFIG))
@example(b"connector-orders", b'{"properties":{"tasks.max":"3","password":"open-sesame"}}')
def test_a_config_value_reads_alike(key: bytes | None, value: bytes | None) -> None:
    kept = config_value_kept(key, value)
    assert decode_config_record(key, kept) == decode_config_record(key, value)
    assert SECRET.encode() not in (kept or b"")


@given(STATUS_KEYS, encoded(STATUS))
@example(b"status-task-orders-1", b'{"state":"FAILED","worker_id":"w:8083","generation":7,"trace":"open-sesame"}')
def test_a_status_value_reads_alike(key: bytes | None, value: bytes | None) -> None:
    kept = status_value_kept(key, value)
    assert decode_status_record(key, kept) == decode_status_record(key, value)
    assert SECRET.encode() not in (kept or b"")


def test_a_committed_count_of_any_size_reads_alike() -> None:
    for count in (0, 2**31, -(2**40), 2**63):
        value = json.dumps({"tasks": count}).encode()
        assert decode_config_record(b"commit-c", config_value_kept(b"commit-c", value)) == decode_config_record(
            b"commit-c", value
        )
