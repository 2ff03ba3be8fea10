"""What a decoder may use for the worst of inputs: 64 times its size plus 64 KiB, and time in proportion to its size.

RM_LONG=1 (`make fuzz`) measures longer inputs and more damaged records besides those built to be the worst, and
prints the worst found for each layout.
"""

import time
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from rebalance_monitor.schemas.coordinator_records import LAYOUT_RELEASES
from rebalance_monitor.schemas.layouts import Array, Group, Kind, Type, as_of
from rebalance_monitor.schemas.record_layouts import VALUES
from tests.profile import LONG, size
from tests.schemas.hostile import DECODERS, Decode, inputs, real

TIMES, BESIDES = 64, 64 * 1024
COUNT = size(100, 5_000)
SIZE = size(4_000, 30_000)


def used(decode: Decode, raw: bytes) -> int:
    """Peak of the memory that one call takes, in bytes, its result included."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    outcome = decode(raw)
    _, peak = tracemalloc.get_traced_memory()
    del outcome
    return peak - before


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    for name, decode in DECODERS.items():  # compiled readers and caches are no part of it
        for version in range(12):
            decode(version.to_bytes(2, "big") + b"\x00" * 80)
            if name.startswith("streams"):
                decode(version.to_bytes(4, "big") + b"\x00" * 80)
    tracemalloc.start()
    yield
    tracemalloc.stop()


def smallest(type_: Type, version: int, flexible: bool, *, dense: bool) -> bytes:
    """The fewest bytes of a type; `dense` has one unknown tagged field in each struct, or elements in each array."""
    match type_:
        case Kind.STRING:
            return b"\x01" if flexible else b"\x00\x00"
        case Kind.BYTES:
            return b"\x01" if flexible else b"\x00" * 4
        case Kind():
            return b"\x00" * {Kind.INT8: 1, Kind.INT16: 2, Kind.UINT16: 2, Kind.INT32: 4, Kind.INT64: 8}.get(type_, 16)
        case Array():
            return b"\x01" if flexible else b"\x00" * 4
        case Group(fields):
            body = b"".join(
                b"\xff"
                if f.nullable and isinstance(f.type, Group)
                else smallest(f.type, version, flexible, dense=dense)
                for f in fields
                if f.since <= version <= f.until and f.tag is None
            )
            return body + (b"\x01\x63\x00" if dense else b"\x00") if flexible else body


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def filled(type_: Type, version: int, flexible: bool, *, dense: bool) -> Iterator[bytes]:
    """Values of a type in which one array, at any depth, has as many smallest elements as fit into SIZE."""
    match type_:
        case Array(of):
            element = smallest(of, version, flexible, dense=dense)
            yield counted(SIZE // len(element), flexible) + element * (SIZE // len(element))
            for inner in filled(of, version, flexible, dense=dense):
                yield counted(1, flexible) + inner
        case Group(fields):
            here = [f for f in fields if f.since <= version <= f.until and f.tag is None]
            parts = [smallest(f.type, version, flexible, dense=dense) for f in here]
            end = b"\x00" if flexible else b""
            for at, field in enumerate(here):
                for inner in filled(field.type, version, flexible, dense=dense):
                    yield b"".join((*parts[:at], inner, *parts[at + 1 :], end))
            for field in fields:
                if field.tag is not None and field.since <= version <= field.until:
                    for inner in filled(field.type, version, flexible, dense=dense):
                        size = uvarint(len(inner))
                        yield b"".join((*parts, b"\x01", uvarint(field.tag), size, inner))
        case _:
            return


def counted(count: int, flexible: bool) -> bytes:
    return uvarint(count + 1) if flexible else count.to_bytes(4, "big")


def worst_values() -> Iterator[tuple[str, bytes]]:
    for type_, layout in VALUES.items():
        for version in range(layout.oldest, layout.newest + 1):
            for release in LAYOUT_RELEASES:
                fields = Group(as_of(layout, release).fields)
                for dense in (False, True):
                    for raw in filled(fields, version, version >= layout.flexible_since, dense=dense):
                        yield f"record-{type_}", version.to_bytes(2, "big") + raw
                        if type_ == 2:
                            yield "job", version.to_bytes(2, "big") + raw
    tags = b"".join(b"\x63\x00" for _ in range(SIZE // 2))
    yield "record-3", b"\x00\x00\x00\x00\x00\x01" + uvarint(SIZE // 2) + tags


def worst_blobs() -> Iterator[tuple[str, bytes]]:
    many = SIZE // 4
    numbers = b"".join((1000 + n).to_bytes(4, "big") for n in range(many))
    named = b"\x00\x01a" + many.to_bytes(4, "big") + numbers
    empty = b"\x00\x00\x00\x00\x00\x00"
    one_name, no_numbers = b"\x00\x00\x00\x01" + named, (SIZE // 6).to_bytes(4, "big") + empty * (SIZE // 6)
    texts = (SIZE // 2).to_bytes(4, "big") + b"\x00\x00" * (SIZE // 2)
    malformed = (SIZE // 3).to_bytes(4, "big") + b"\x00\x01\xff" * (SIZE // 3)
    long_text = b"\x7f\xff" + b"\xed\xa0" * 16383 + b"\xed"
    head = b"\x00\x00\x00\x00\x00\x00" + b"\x00" * 8  # error, leader, leader's URL, config offset
    for assigned in (one_name, no_numbers):
        assignment = b"\x00\x02" + head + assigned + b"\xff" * 4 + b"\x00" * 4
        yield "connect-assignment", assignment
        state = b"\x00\x02\x00\x00" + b"\x00" * 8 + len(assignment).to_bytes(4, "big") + assignment
        yield "connect-worker-state", state
        yield "connect-static-state", b"\x00\x03\x00\x00" + b"\x00" * 8 + b"\xff" * 8 + assigned
        yield "consumer-assignment", b"\x00\x03" + assigned + b"\xff" * 4
        yield (
            "consumer-subscription",
            b"\x00\x03\x00\x00\x00\x00\xff\xff\xff\xff" + assigned + b"\x00" * 4 + b"\xff\xff",
        )
        yield "sticky-user-data", assigned
    for topics in (texts, malformed):
        yield "consumer-subscription", b"\x00\x00" + topics + b"\xff" * 4
    yield "connect-assignment", b"\x00\x02\x00\x00" + long_text
    yield "key", b"\x00\x02" + long_text
    for version in range(1, 12):
        for fill in (b"\x00", b"\x00\x00\x00\x01", b"\x01"):
            yield "streams-subscription", version.to_bytes(4, "big") * 2 + fill * (SIZE // len(fill))
            yield "streams-assignment", version.to_bytes(4, "big") * 2 + fill * (SIZE // len(fill))


def worst_json() -> Iterator[tuple[str, bytes]]:
    for name in ("config-connector", "config-task", "config-commit", "config-target-state", "status-value"):
        for piece in (b"[],", b"{},", b'{"":0},', b"1.5,", b"[[]],", b'"\xe4\xb8\x80",'):
            yield name, b"[" + piece * (SIZE // len(piece)) + b"0]"
        yield name, b"[" * SIZE
        yield name, b"9" * SIZE
        yield name, b"{" + b",".join(b'"%d":0' % n for n in range(SIZE // 8)) + b"}"
        yield name, '"\U0001f600'.encode() + b"a" * SIZE + b'"'


def worst() -> list[tuple[str, bytes]]:
    return list(dict.fromkeys([*worst_values(), *worst_blobs(), *worst_json()]))


def test_no_input_takes_more_than_64_times_its_size() -> None:
    found: dict[str, tuple[float, int, str]] = {}
    for name, raw in [*worst(), *islice(inputs(Random(7), real()), COUNT)]:
        peak = used(DECODERS[name], raw)
        times = max(0, peak - BESIDES) / max(1, len(raw))
        found[name] = max(found.get(name, (0.0, 0, "")), (times, len(raw), raw[:24].hex()))
    if LONG:
        print(f"\nmemory beyond {BESIDES // 1024} KiB, as a multiple of the input's size (limit {TIMES}):")
        for name, (times, size, begin) in sorted(found.items(), key=lambda item: -item[1][0]):
            print(f"  {name:24} {times:6.1f}  {size:7} bytes  {begin}…")
    over = {name: seen for name, seen in found.items() if seen[0] > TIMES}
    assert over == {}


@pytest.mark.parametrize("name", ["job", "record-7", "connect-assignment", "consumer-subscription", "status-value"])
def test_time_grows_with_the_size_and_no_faster(name: str) -> None:
    tracemalloc.stop()
    decode = DECODERS[name]
    raw = max((raw for known, raw in worst() if known == name), key=len)

    def taken(size: int) -> float:
        cut = raw[:size]
        best = min(_timed(decode, cut) for _ in range(5))
        return best

    small, large = taken(len(raw) // 8), taken(len(raw))
    # Eight times the bytes: a quadratic decoder would take 64 times as long.
    assert large < 24 * small + 0.02


def _timed(decode: Decode, raw: bytes) -> float:
    began = time.process_time()
    decode(raw)
    return time.process_time() - began


def test_every_layout_with_an_array_is_tried() -> None:
    tried = {name for name, _ in worst()}
    with_arrays = {f"record-{n}" for n, one in VALUES.items() if any(isinstance(f.type, Array) for f in one.fields)}
    assert with_arrays <= tried
