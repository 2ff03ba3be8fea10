"""A decoding that raises gives an unreadable row with its coordinates, and nothing else."""

import pytest

from rebalance_monitor.streaming.cli.guarded import Guarded
from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record, fold_group
from rebalance_monitor.streaming.core.model.records import GroupDeleted, Row, Undecodable
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, replay
from rebalance_monitor.streaming.guarding import decoding
from rebalance_monitor.streaming.guarding.decoding import decoded

KEY = b"\x00\x02\x00\x01g"
PLACE = ("__consumer_offsets", 3, 17, 1_000)


@pytest.mark.parametrize("error", [KeyError, MemoryError, RecursionError, AssertionError])
@pytest.mark.parametrize(("key", "group"), [(KEY, "g"), (None, None), (b"\x00", None)])
def test_what_it_raises_becomes_a_row(error: type[Exception], key: bytes | None, group: str | None) -> None:
    def fails(*_: object) -> Row | None:
        raise error("a value")

    row = decoded(fails, *PLACE, key, b"value", of_groups=True)
    assert row is not None
    assert (row.topic, row.partition, row.offset, row.timestamp_ms, row.group) == (*PLACE, group)
    assert isinstance(row.body, Undecodable)
    assert row.body.reason.startswith(f"internal_error_{error.__name__}-")
    assert (row.body.size_bytes, row.body.sample) == (5, "")


def test_a_value_too_large_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "LARGEST_BYTES", 4)
    row = decoded(decode_offsets_record, *PLACE, KEY, b"12345", of_groups=True)
    assert row is not None
    assert row.body == Undecodable("too_large", 5)


def test_what_can_be_decoded_is_left_as_it_is() -> None:
    row = decoded(decode_offsets_record, *PLACE, KEY, None, of_groups=True)
    assert row is not None
    assert row.body == GroupDeleted()


def test_replay_goes_on_behind_a_record_that_cannot_be_decoded() -> None:
    def fails(record: RawRecord, settings: ClusterSettings) -> Row | None:
        raise ZeroDivisionError

    guarded = Guarded(fold_group, fails)
    record = RawRecord(topic=PLACE[0], partition=3, offset=17, timestamp_ms=1_000, key=KEY, value=b"x")
    told = replay([record], ClusterSettings(name="c"), fold=guarded, read=guarded.read)
    assert [one["kind"] for one in told.objects] == ["undecodable", "summary"]
    assert told.objects[0]["reason"].startswith("internal_error_ZeroDivisionError-")
    assert [one.record.offset for _, one in guarded.errors if one.record] == [17]
