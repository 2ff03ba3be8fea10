"""The compiled readers and the exact ones read the same: sound, damaged and random bytes, values, ends and errors."""

from random import Random
from typing import Any

import pytest

from rebalance_monitor.schemas import connect_protocol, consumer_protocol
from rebalance_monitor.schemas.compiled import row_of, row_reader, written
from rebalance_monitor.schemas.errors import SchemaError
from rebalance_monitor.schemas.field_source import FieldSource
from rebalance_monitor.schemas.frozen import maker
from rebalance_monitor.schemas.layouts import Layout
from rebalance_monitor.schemas.offsets_topic import GROUP_METADATA
from rebalance_monitor.schemas.structs import reader
from tests.schemas.hostile import damaged, real

LAYOUTS = {
    "group-metadata": (GROUP_METADATA, 2),
    "connect-worker-state": (connect_protocol.WORKER_STATE, 0),
    "connect-assignment": (connect_protocol.ASSIGNMENT, 0),
    "consumer-subscription": (consumer_protocol.SUBSCRIPTION, 0),
    "consumer-assignment": (consumer_protocol.ASSIGNMENT, 0),
}
SOUND = real()


def exactly(layout: Layout, version: int, raw: bytes, pos: int) -> Any:
    values, end = reader(layout, version)(raw, pos)
    return row_of(layout.fields, values), end


def outcome(read: Any, *given: Any) -> Any:
    try:
        return read(*given)
    except SchemaError as why:
        return why.reason, str(why)


@pytest.mark.parametrize("name", LAYOUTS)
def test_both_read_the_same(name: str) -> None:
    layout, pos = LAYOUTS[name]
    random = Random(name)
    known = random.sample(SOUND[name], min(40, len(SOUND[name])))
    for raw in known:
        for tried in (raw, *(damaged(random, raw, known) for _ in range(12)), random.randbytes(40)):
            for version in range(layout.oldest, layout.newest + 1):
                given = (tried, pos)
                assert outcome(row_reader(layout, version), *given) == outcome(exactly, layout, version, *given)


@pytest.mark.parametrize("name", LAYOUTS)
def test_sound_bytes_do_not_need_the_exact_reader(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the compiled readers would be correct and useless."""
    layout, pos = LAYOUTS[name]
    version = 3 if layout.newest >= 3 else layout.newest
    assert "return read_exactly(whole, start)" in written(FieldSource(), layout, version)
    read = row_reader(layout, version)
    monkeypatch.setitem(read.__globals__, "read_exactly", None)
    try:
        for raw in SOUND[name]:
            if raw[:2] in (b"\x00\x03", b"\x00\x01") or name.startswith("connect"):
                try:
                    read(raw, pos)
                except TypeError:
                    assert isinstance(outcome(exactly, layout, version, raw, pos)[0], str), raw.hex()
    finally:
        monkeypatch.undo()


def test_text_outside_ascii_and_malformed_text() -> None:
    for name in ("grüppe-😀", "ÿ", "\ufffd"):
        topic = name.encode()
        raw = b"\x00\x03\x00\x00\x00\x01" + len(topic).to_bytes(2, "big") + topic + b"\x00\x00\x00\x02" + bytes(8)
        held, _ = consumer_protocol.read_assignment(raw + b"\xff\xff\xff\xff")
        assert held.partitions == ((name, 0), (name, 0))
    malformed = b"\x00\x03\x00\x00\x00\x01\x00\x03\xed\xa0\x80\x00\x00\x00\x01" + bytes(4) + b"\xff\xff\xff\xff"
    assert consumer_protocol.read_assignment(malformed)[0].partitions == (("\ufffd", 0),)


def test_a_made_value_is_the_value_itself() -> None:
    make = maker(consumer_protocol.ConsumerAssignment)
    made = make(3, (("t", 1),), None)
    plain = consumer_protocol.ConsumerAssignment(version=3, partitions=(("t", 1),))
    assert made == plain
    assert hash(made) == hash(plain)
    assert repr(made) == repr(plain)
    assert type(made) is consumer_protocol.ConsumerAssignment
    with pytest.raises(AttributeError):
        made.version = 4  # type: ignore[misc] # frozen is what it is about
