"""Offset commits of every version, with the bytes of Kafka's own serializers, and those of a real capture."""

from base64 import b64decode
from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record
from rebalance_monitor.streaming.core.model.printed import OffsetCommit, schema
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Source, UndecodableRecord
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.commits import decode_commit
from rebalance_monitor.streaming.core.replay import RawRecord, replay
from tests.vector_files import VECTORS, json_lines

KEY = bytes.fromhex("0001 0001 67 0001 74 00000003")
AT = Source("__consumer_offsets", 7, 11)
TIME = 1700000000000
VECTORS = VECTORS / "consumer" / "coordinator-wire.jsonl.gz"

WRITTEN = {
    0: ("0000 000000000000002a 0001 6d 0000018bcfe56800", None, None),
    1: ("0001 000000000000002a 0001 6d 0000018bcfe56800 0000018bcfe6eea0", None, TIME + 100_000),
    2: ("0002 000000000000002a 0001 6d 0000018bcfe56800", None, None),
    3: ("0003 000000000000002a 00000007 0001 6d 0000018bcfe56800", 7, None),
    4: ("0004 000000000000002a 00000007 02 6d 0000018bcfe56800 00", 7, None),
}
# What 4.3.1 writes by default: tag 0 is the topic's id.
WITH_TOPIC_ID = WRITTEN[4][0][:-2] + "01 00 10" + "ab" * 16


@pytest.mark.parametrize("version", WRITTEN)
def test_every_version(version: int) -> None:
    hexed, epoch, expiry = WRITTEN[version]
    key = b"\x00\x00" + KEY[2:] if version == 0 else KEY
    assert decode_commit("c", AT, key, bytes.fromhex(hexed)) == OffsetCommit(
        cluster="c",
        group="g",
        topic="t",
        partition=3,
        offset=42,
        leader_epoch=epoch,
        metadata="m",
        commit_ms=TIME,
        expire_ms=expiry,
        source=AT,
    )


def test_the_topic_id_changes_nothing() -> None:
    assert decode_commit("c", AT, KEY, bytes.fromhex(WITH_TOPIC_ID)) == decode_commit(
        "c", AT, KEY, bytes.fromhex(WRITTEN[4][0])
    )


def test_a_deleted_offset_and_an_unknown_version() -> None:
    deleted = decode_commit("c", AT, KEY, None)
    assert isinstance(deleted, OffsetCommit)
    assert (deleted.offset, deleted.commit_ms, deleted.metadata) == (None, None, None)
    newer = decode_commit("c", AT, KEY, bytes.fromhex("0005 00"))
    assert newer == UndecodableRecord(cluster="c", source=AT, reason="unsupported_version", size_bytes=3)


def test_other_records_are_no_commits_and_the_job_drops_commits() -> None:
    group = bytes.fromhex("0002 0001 67")
    assert decode_commit("c", AT, group, None) is None
    assert decode_offsets_record("__consumer_offsets", 7, 11, TIME, KEY, bytes.fromhex(WRITTEN[3][0])) is None


def written_by_kafka() -> Iterator[RawRecord]:
    for number, line in enumerate(json_lines(VECTORS)):
        case = line["input"]
        key = b64decode(case.get("key") or "")
        if key[:2] in (b"\x00\x00", b"\x00\x01"):
            value = None if case["value"] is None else b64decode(case["value"])
            yield RawRecord(
                topic=AT.topic, partition=0, offset=number, timestamp_ms=TIME + number, key=key, value=value
            )


def test_replay_lists_commits_when_asked() -> None:
    records = list(written_by_kafka())
    assert len(records) > 20
    settings = ClusterSettings(name="c")
    told = replay(records, settings, with_commits=True)
    shown = [one for one in told.objects if one["kind"] == "offset_commit"]
    unreadable = [one for one in told.objects if one["kind"] == "undecodable"]
    assert {one["source"]["offset"] for one in (*shown, *unreadable)} == {one.offset for one in records}
    assert len(shown) > len(unreadable)
    deleted = {one.offset for one in records if one.value is None}
    assert {one["source"]["offset"] for one in shown if one["offset"] is None} <= deleted
    validator = Draft202012Validator(schema())
    assert all(validator.is_valid(one) for one in shown)
    assert [one["kind"] for one in replay(records, settings).objects] == ["summary"]


def test_a_commit_as_an_object() -> None:
    commit = decode_commit("c", AT, KEY, bytes.fromhex(WRITTEN[3][0]))
    assert isinstance(commit, OffsetCommit)
    assert as_object(commit) == {
        "kind": "offset_commit",
        "cluster": "c",
        "group": "g",
        "topic": "t",
        "partition": 3,
        "offset": 42,
        "leader_epoch": 7,
        "metadata": "m",
        "commit_ms": TIME,
        "expire_ms": None,
        "source": {"topic": "__consumer_offsets", "partition": 7, "offset": 11},
    }
