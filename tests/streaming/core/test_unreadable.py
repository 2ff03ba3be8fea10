"""What is kept and counted of records that can't be read, or that hold more than is known."""

from rebalance_monitor.schemas.connect_topics import OtherConfig
from rebalance_monitor.streaming.core.connect.topics import ConfigChange, change_of, decode_config_row, written
from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record, fold_group
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick, Undecodable
from rebalance_monitor.streaming.core.model.results import Source, UndecodableRecord
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.reading.unreadable import counted_reason

KEY = bytes.fromhex("0002 0001 67")
V4 = "0004 08 636f6e6e656374 00000006 00 00 0000018bcfe56800 01"
SECRET = b"{'password': 's3cr3t-of-an-unreadable-record'"
AT = {"topic": "connect-configs", "partition": 0, "offset": 3, "timestamp_ms": 5}


def unreadable_config(digest_key: bytes = b"") -> Row:
    row = decode_config_row(**AT, key=b"connector-a", value=SECRET, digest_key=digest_key)  # type: ignore[arg-type] # the coordinates are of both kinds
    assert row is not None
    return row


def test_of_an_unreadable_config_record_size_and_keyed_digest_are_kept() -> None:
    row = unreadable_config(b"one key")
    body = row.body
    assert isinstance(body, ConfigChange)
    assert isinstance(body.record, OtherConfig)
    assert (body.record.advances, body.record.size_bytes) == (False, len(SECRET))
    assert body == unreadable_config(b"one key").body
    assert body != unreadable_config(b"another").body
    assert "s3cr3t" not in written(body)
    assert change_of(written(body)) == body
    without = unreadable_config().body
    assert isinstance(without, ConfigChange)
    assert isinstance(without.record, OtherConfig)
    assert without.record.digest == ""


def test_it_is_published_with_its_coordinates_and_nothing_of_its_bytes() -> None:
    settings = ClusterSettings(name="c", connect={"connect": ConnectSettings(config_topic="connect-configs")})
    told = fold_group(settings, "connect", None, [unreadable_config(b"k" * 32)], Tick(10))
    (found,) = [one for one in told.results if isinstance(one, UndecodableRecord)]
    assert (found.source, found.reason) == (Source("connect-configs", 0, 3), "config_not_json")
    assert found.sample.startswith("keyed digest ")
    assert b"s3cr3t" not in told.state.lines
    assert "s3cr3t" not in repr(told.results)


def test_unknown_versions_are_counted_by_version() -> None:
    for version in (5, 9, -1):
        value = version.to_bytes(2, "big", signed=True) + b"\x00" * 9
        row = decode_offsets_record("__consumer_offsets", 0, 0, 0, KEY, value)
        assert row is not None
        assert isinstance(row.body, Undecodable)
        assert row.body.reason == "unsupported_version"
        record = UndecodableRecord(
            cluster="c",
            source=Source("t", 0, 0),
            reason=row.body.reason,
            size_bytes=row.body.size_bytes,
            sample=row.body.sample,
        )
        assert counted_reason(record) == f"unsupported_version_{version}"
    other = UndecodableRecord(cluster="c", source=Source("t", 0, 0), reason="truncated", size_bytes=1, sample="00")
    assert counted_reason(other) == "truncated"


def test_unknown_tags_and_bytes_left_over_are_skipped_and_counted() -> None:
    row = decode_offsets_record("__consumer_offsets", 0, 0, 0, KEY, bytes.fromhex(V4 + "02 07 01 ab 09 00 dead"))
    assert row is not None
    assert isinstance(row.body, GroupGeneration)
    assert (row.body.generation, row.body.unknown_tags, row.body.remaining) == (6, 2, 2)
    assert loads(Row, dumps(row)) == row
