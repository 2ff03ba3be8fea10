"""The last commits of a range of the log, against the decoder that reads all of each commit."""

from base64 import b64decode
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.model.printed import OffsetCommit
from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.reading.commits import decode_commit
from rebalance_monitor.streaming.core.reading.decoding import wanted_key_prefix
from rebalance_monitor.streaming.core.reading.last_commits import LastCommits, last_commits
from tests.streaming.core.test_commits import KEY, TIME, WITH_TOPIC_ID, WRITTEN, written_by_kafka
from tests.vector_files import VECTORS, json_lines

AT = Source("__consumer_offsets", 7, 11)
CAPTURES = sorted(VECTORS.rglob("records.jsonl.gz"))


def everybody(_: str) -> bool:
    return True


def slowly(key: bytes, value: bytes | None) -> LastCommits:
    """By the decoder that reads all of it."""
    told = decode_commit("c", AT, key, value)
    if not isinstance(told, OffsetCommit):
        return LastCommits({}, readable=False)
    at = None if told.offset is None or told.commit_ms is None else (told.offset, told.commit_ms)
    return LastCommits({told.group: {(told.topic, told.partition): at}})


def same(key: bytes, value: bytes | None) -> bool:
    return last_commits({key: value}, everybody) == slowly(key, value)


def commits_of(lines: Iterator[dict[str, str | None]]) -> Iterator[tuple[bytes, bytes | None]]:
    for line in lines:
        key = b64decode(line.get("key") or "")
        if not wanted_key_prefix(key):
            yield key, None if line["value"] is None else b64decode(line["value"])


def test_bytes_of_kafkas_own_serializers() -> None:
    records = [(one.key or b"", one.value) for one in written_by_kafka()]
    assert len(records) > 20
    assert all(same(*one) for one in records)
    for version, (hexed, _, _) in WRITTEN.items():
        key = b"\x00\x00" + KEY[2:] if version == 0 else KEY
        assert last_commits({key: bytes.fromhex(hexed)}, everybody).groups == {"g": {("t", 3): (42, TIME)}}
    assert last_commits({KEY: bytes.fromhex(WITH_TOPIC_ID)}, everybody).groups == {"g": {("t", 3): (42, TIME)}}


def test_real_captures() -> None:
    records = [one for path in CAPTURES for one in commits_of(json_lines(path))]
    assert len(records) > 200
    assert all(same(*one) for one in records)


@pytest.mark.parametrize("version", WRITTEN)
@given(data=st.data())
def test_whatever_the_bytes_both_say_the_same(version: int, data: st.DataObject) -> None:
    value = bytearray(bytes.fromhex(data.draw(st.sampled_from([WRITTEN[version][0], WITH_TOPIC_ID]))))
    value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(value[: data.draw(st.integers(0, len(value)))]) + data.draw(st.binary(max_size=3))
    key = bytearray(KEY)
    key[data.draw(st.integers(1, len(key) - 1))] = data.draw(st.integers(0, 255))
    assert same(KEY, cut)
    if not wanted_key_prefix(bytes(key)):
        assert same(bytes(key), bytes(value))


def test_of_each_partition_the_last_one_of_groups_that_are_wanted() -> None:
    raw: dict[bytes, bytes | None] = {}
    for name, offset in ((b"a", 1), (b"b", 2), (b"a", 3), (b"c", 4)):
        key = b"\x00\x01\x00\x01" + name + KEY[5:]
        raw[key] = bytes.fromhex("0003") + offset.to_bytes(8, "big") + bytes.fromhex(WRITTEN[3][0])[10:]
    raw[b"\x00\x01\x00\x01c" + KEY[5:]] = None
    told = last_commits(raw, {"a", "c"}.__contains__)
    assert told == LastCommits({"a": {("t", 3): (3, TIME)}, "c": {("t", 3): None}})
