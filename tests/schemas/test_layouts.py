"""Laws of every declared layout: what is written is read back, and no input makes a decoder raise."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.schemas import connect_protocol, consumer_protocol
from rebalance_monitor.schemas.connect_topics import decode_config_record, decode_status_record
from rebalance_monitor.schemas.coordinator_records import LAYOUT_RELEASES, decode_record
from rebalance_monitor.schemas.layouts import UNKNOWN_TAGS, Array, Field, Group, Kind, Layout, Type, as_of
from rebalance_monitor.schemas.offsets_topic import decode_group_metadata, decode_key
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Tombstone, Unreadable
from rebalance_monitor.schemas.record_layouts import KEYS, VALUES
from rebalance_monitor.schemas.struct_writers import writer
from rebalance_monitor.schemas.structs import reader

BITS = {Kind.INT8: 8, Kind.INT16: 16, Kind.INT32: 32, Kind.INT64: 64}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
LAYOUTS = [
    *[as_of(layout, release) for layout in VALUES.values() for release in LAYOUT_RELEASES],
    *KEYS.values(),
    connect_protocol.WORKER_STATE,
    connect_protocol.ASSIGNMENT,
    connect_protocol.STATIC_PART,
    consumer_protocol.SUBSCRIPTION,
    consumer_protocol.ASSIGNMENT,
]


def fields_of(type_: Type) -> Iterator[Field]:
    """The fields of a type, and those of the groups inside it."""
    match type_:
        case Kind():
            return
        case Array(element):
            yield from fields_of(element)
        case Group(fields):
            for inner in fields:
                yield inner
                yield from fields_of(inner.type)


def test_no_field_is_of_a_release_that_no_reader_tries() -> None:
    fields = [one for layout in (*VALUES.values(), *KEYS.values()) for one in fields_of(Group(layout.fields))]
    assert len(fields) > 100
    assert [one.name for one in fields if LAYOUT_RELEASES[0] < one.added] == []


def of_type(type_: Type, version: int, flexible: bool) -> st.SearchStrategy[Any]:
    match type_:
        case Kind.STRING:
            return TEXT
        case Kind.BYTES:
            return st.binary(max_size=6)
        case Kind.UUID:
            return st.binary(min_size=16, max_size=16)
        case Kind.UINT16:
            return st.integers(0, 65535)
        case Kind():
            return st.integers(-(2 ** (BITS[type_] - 1)), 2 ** (BITS[type_] - 1) - 1)
        case Array(of):
            return st.lists(of_type(of, version, flexible), max_size=2)
        case Group(fields):
            return of_fields(fields, version, flexible)


def of_fields(fields: tuple[Field, ...], version: int, flexible: bool) -> st.SearchStrategy[dict[str, Any]]:
    here = [f for f in fields if f.since <= version <= f.until]
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for f in here:
        value = of_type(f.type, version, flexible)
        (required if f.tag is None else optional)[f.name] = st.none() | value if f.nullable else value
    if flexible:
        optional[UNKNOWN_TAGS] = st.lists(
            st.tuples(st.integers(100, 2**20), st.binary(max_size=4)), min_size=1, max_size=2
        ).map(sorted)
    return st.fixed_dictionaries(required, optional=optional)


def shapes() -> list[tuple[Layout, int]]:
    return [(layout, version) for layout in LAYOUTS for version in range(layout.oldest, layout.newest + 1)]


@st.composite
def written(draw: st.DrawFn) -> tuple[Layout, int, dict[str, Any]]:
    layout, version = draw(st.sampled_from(shapes()))
    return layout, version, draw(of_fields(layout.fields, version, version >= layout.flexible_since))


@given(written())
def test_what_is_written_is_read_back(case: tuple[Layout, int, dict[str, Any]]) -> None:
    layout, version, values = case
    first = bytearray()
    writer(layout, version)(first, values)
    again, end = reader(layout, version)(bytes(first), 0)
    assert end == len(first)
    # A tagged field at its default is left out on reading: a second trip changes nothing any more.
    second = bytearray()
    writer(layout, version)(second, again)
    assert reader(layout, version)(bytes(second), 0) == (again, len(second))
    untagged = {f.name for f in layout.fields if f.tag is None} & values.keys()
    assert untagged <= again.keys()


def decoders() -> list[Callable[[bytes], Any]]:
    return [
        decode_key,
        decode_group_metadata,
        connect_protocol.decode_worker_state,
        lambda raw: connect_protocol.decode_worker_state(raw, static=True),
        connect_protocol.decode_assignment,
        consumer_protocol.decode_subscription,
        consumer_protocol.decode_assignment,
        lambda raw: decode_record(raw, raw),
        lambda raw: decode_record(raw[:20], raw[20:]),
        lambda raw: decode_config_record(raw[:12], raw[12:]),
        lambda raw: decode_config_record(b"connector-a", raw),
        lambda raw: decode_status_record(b"status-connector-a", raw),
    ]


OUTCOMES = (Decoded, Tombstone, Ignored, Unreadable)


@pytest.mark.parametrize("decode", decoders())
@given(raw=st.binary(max_size=80))
def test_no_bytes_make_a_decoder_raise(decode: Callable[[bytes], Any], raw: bytes) -> None:
    assert isinstance(decode(raw), OUTCOMES)


@given(written(), st.integers(0, 400), st.binary(max_size=3))
def test_no_damage_makes_a_record_decoder_raise(
    case: tuple[Layout, int, dict[str, Any]], at: int, damage: bytes
) -> None:
    layout, version, values = case
    out = bytearray(version.to_bytes(2, "big"))
    writer(layout, version)(out, values)
    raw = bytes(out[:at]) + damage + bytes(out[at + len(damage) :])
    for type_ in VALUES:
        key = type_.to_bytes(2, "big") + b"\x00\x01g\x00\x01m\x00\x00\x00\x01"
        assert isinstance(decode_record(key, raw), OUTCOMES)
