"""From raw records to rows: real captures decode without remainder, and nothing raises."""

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.connect.topics import decode_config_row, decode_status_row
from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record
from rebalance_monitor.streaming.core.model.records import (
    BadBlob,
    GroupDeleted,
    GroupGeneration,
    OtherGroup,
    Row,
    Undecodable,
)
from rebalance_monitor.streaming.core.reading.decoding import wanted_key_prefix
from tests.vector_files import CAPTURES, json_lines

GROUP_KEY = b"\x00\x02\x00\x01g"


def rows(capture: Path) -> Iterator[Row | None]:
    for record in json_lines(capture / "records.jsonl.gz"):
        key, value = (None if record[n] is None else b64decode(record[n]) for n in ("key", "value"))
        where = (record["topic"], record["partition"], record["offset"], record["timestamp"])
        if record["topic"] == "__consumer_offsets":
            yield decode_offsets_record(*where, key, value)
        elif "status" in record["topic"]:
            yield decode_status_row(*where, key, value)
        else:
            yield decode_config_row(*where, key, value)


@pytest.mark.parametrize("capture", sorted(CAPTURES.iterdir()), ids=lambda path: path.name)
def test_real_clusters_leave_nothing_undecodable(capture: Path) -> None:
    generations = 0
    for row in rows(capture):
        assert row is not None
        assert not isinstance(row.body, Undecodable)
        if isinstance(row.body, GroupGeneration):
            generations += 1
            for member in row.body.members:
                assert not isinstance(member.subscription, BadBlob | None)
                assert not isinstance(member.assignment, BadBlob | None)
    assert generations


def body(key: bytes | None, value: bytes | None) -> object:
    row = decode_offsets_record("__consumer_offsets", 0, 1, 2, key, value)
    return None if row is None else row.body


def test_offset_commits_are_dropped_before_decoding() -> None:
    assert not wanted_key_prefix(b"\x00\x00anything")
    assert not wanted_key_prefix(b"\x00\x01")
    assert body(b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03", b"") is None


def test_what_a_record_can_come_to() -> None:
    assert body(GROUP_KEY, None) == GroupDeleted()
    assert body(b"\x00\x11\x00\x01g", b"") == Undecodable("truncated", 0)
    assert body(b"\x00\x0b\x00\x01g", b"") == Undecodable("truncated", 0)
    assert body(b"\x00\x03\x00\x01g", b"") == Undecodable("truncated", 0)
    for key, kind in ((b"\x00\x11\x00\x01g", "streams"), (b"\x00\x0b\x00\x01g", "share")):
        gone = body(key, None)
        assert isinstance(gone, OtherGroup)
        assert (gone.kind, gone.whole, gone.deleted) == (kind, True, True)
    assert body(b"\x63\x63", None) == OtherGroup("unknown")
    assert body(GROUP_KEY, b"\x00\x09") == Undecodable("unsupported_version", 2, "0009")
    assert body(b"\x00\x02\x00", b"") == Undecodable("key_truncated", 3, "000200")
    assert body(None, None) == Undecodable("key_null_key", 0)


@pytest.mark.parametrize("protocol_type", ["connect", "consumer"])
def test_a_bad_blob_spoils_its_member_only(protocol_type: str) -> None:
    name = len(protocol_type).to_bytes(2, "big") + protocol_type.encode()
    member = b"\x00\x01m\x00\x01c\x00\x01h" + (10).to_bytes(4, "big") + b"\x00\x00\x00\x01\x07" + bytes(4)
    value = b"\x00\x00" + name + bytes(4) + b"\x00\x01p\x00\x01m" + b"\x00\x00\x00\x01" + member
    found = body(GROUP_KEY, value)
    assert isinstance(found, GroupGeneration)
    assert found.members[0].subscription == BadBlob("truncated")
    assert found.members[0].assignment == BadBlob("empty")
    assert found.members[0].subscription_bytes == b"\x07"


@given(st.none() | st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_nothing_raises(key: bytes | None, value: bytes | None) -> None:
    for decode in (decode_offsets_record, decode_config_row, decode_status_row):
        row = decode("t", 0, 0, 0, key, value)
        assert row is None or isinstance(row, Row)


def test_an_unreadable_config_record_keeps_no_bytes() -> None:
    row = decode_config_row("configs", 0, 0, 0, b"connector-a", b'{"properties":{"password":"hunter2"')
    assert "hunter2" not in repr(row)
    status = decode_status_row("statuses", 0, 0, 0, b"status-task-a-0", b'{"trace":"hunter2"')
    assert "hunter2" not in repr(status)
