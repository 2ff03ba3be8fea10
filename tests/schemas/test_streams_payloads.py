"""Kafka Streams' payloads: real bytes, laws of every version, damage of every kind, and what damage may cost."""

import random
import tracemalloc
from base64 import b64decode
from collections.abc import Callable
from dataclasses import fields
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.wire import FAMILIES
from rebalance_monitor.schemas.consumer_protocol import decode_assignment, decode_subscription
from rebalance_monitor.schemas.errors import SchemaError
from rebalance_monitor.schemas.hand_written import HandWritten, exact_reader, reader
from rebalance_monitor.schemas.offsets_topic import decode_group_metadata
from rebalance_monitor.schemas.outcomes import Decoded, Outcome, Unreadable
from rebalance_monitor.schemas.streams_assignment import (
    ASSIGNMENT_INFO,
    AssignmentInfo,
    decode_assignment_info,
    encode_assignment_info,
)
from rebalance_monitor.schemas.streams_subscription import (
    SUBSCRIPTION_INFO,
    SubscriptionInfo,
    decode_subscription_info,
    encode_subscription_info,
)
from rebalance_monitor.schemas.streams_tasks import NO_REBALANCE_MS
from rebalance_monitor.schemas.user_data import decode_assignment_user_data, decode_subscription_user_data
from tests.profile import size
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "streams"
# How many damaged payloads the fuzzing tries; the long profile sets it to 200,000 and more.
FUZZ_INPUTS = size(1_000, 200_000)
TIMES_ITS_SIZE, AND_BYTES = 64, 64 * 1024

Decode = Callable[..., Outcome[Any]]
KINDS: dict[str, tuple[Decode, HandWritten]] = {
    "subscription": (decode_subscription_info, SUBSCRIPTION_INFO),
    "assignment": (decode_assignment_info, ASSIGNMENT_INFO),
}


@cache
def cases() -> list[dict[str, Any]]:
    return lines_of("streams-wire")


def lines_of(name: str) -> list[dict[str, Any]]:
    return list(json_lines(VECTORS / f"{name}.jsonl.gz"))


def without_error_texts(answer: Any) -> Any:
    match answer:
        case {"exception": _} | {"error": str()}:
            return {"error": "*"}
        case dict():
            return {name: without_error_texts(value) for name, value in answer.items()}
        case list():
            return [without_error_texts(value) for value in answer]
        case _:
            return answer


def test_every_answer_is_kafkas() -> None:
    differing = []
    for case in cases():
        given_ = {name: case[name] for name in ("id", "kind", "release", "input")}
        if without_error_texts(FAMILIES["streams-wire"](given_)) != without_error_texts(case["expected"]):
            differing.append(case["id"])
    assert len(cases()) == 330
    assert differing == []


def payloads() -> list[tuple[str, bytes]]:
    """Every sound payload that Kafka's classes wrote."""
    return [
        (case["input"]["payload"], bytes.fromhex(case["expected"]["hex"]))
        for case in cases()
        if case["input"]["op"] == "encode"
    ]


def test_what_kafka_wrote_is_written_back_byte_for_byte() -> None:
    encode: dict[str, Callable[[Any], bytes]] = {
        "subscription": encode_subscription_info,
        "assignment": encode_assignment_info,
    }
    for kind, raw in payloads():
        outcome = KINDS[kind][0](raw)
        assert isinstance(outcome, Decoded)
        assert encode[kind](outcome.value) == raw


def test_a_real_group_is_read_and_written_back_byte_for_byte() -> None:
    """Every active task stands once for each partition of the assignment around it."""
    members = 0
    for record in lines_of("real-group-records"):
        key, value = (b64decode(record[part]) if record[part] else b"" for part in ("key", "value"))
        group = decode_group_metadata(value) if key[:2] == b"\0\2" else None
        if not isinstance(group, Decoded) or group.value.protocol != "stream":
            continue
        for member in group.value.members:
            subscription, assignment = decode_subscription(member.subscription), decode_assignment(member.assignment)
            assert isinstance(subscription, Decoded)
            assert isinstance(assignment, Decoded)
            said = decode_subscription_user_data("stream", subscription.value.user_data)
            told = decode_assignment_user_data("stream", assignment.value.user_data)
            assert isinstance(said, Decoded)
            assert isinstance(said.value, SubscriptionInfo)
            assert isinstance(told, Decoded)
            assert encode_subscription_info(said.value) == subscription.value.user_data
            assert encode_assignment_info(told.value) == assignment.value.user_data
            assert len(told.value.active) == len(assignment.value.partitions)
            members += 1
    assert members == 204


@pytest.mark.parametrize(("layout", "cls"), [(SUBSCRIPTION_INFO, SubscriptionInfo), (ASSIGNMENT_INFO, AssignmentInfo)])
def test_a_value_has_the_fields_of_its_layout_in_that_order(layout: HandWritten, cls: type) -> None:
    assert layout.names() == tuple(f.name for f in fields(cls))


# Laws

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)
PAIRS = st.lists(st.tuples(INT32, INT32), max_size=4).map(tuple)


def tasks(version: int) -> st.SearchStrategy[Any]:
    plain = st.tuples(INT32, INT32)
    return plain | st.tuples(INT32, INT32, NAMES) if version >= 10 else plain


@st.composite
def subscriptions(draw: st.DrawFn) -> SubscriptionInfo:
    version = draw(st.integers(1, 11))
    sums: Any = st.tuples(INT32, INT32, INT64)
    if version >= 10:
        sums |= st.tuples(INT32, INT32, INT64, NAMES)
    listed = draw(st.lists(sums, max_size=4))
    lists = draw(PAIRS), draw(PAIRS)
    return SubscriptionInfo(
        version=version,
        latest_supported=-1 if version < 3 else draw(st.integers(version, 2**31 - 1)),
        process_id=draw(st.binary(min_size=16, max_size=16)),
        previous_tasks=lists[0] if version <= 6 else (),
        standby_tasks=lists[1] if version <= 6 else (),
        end_point=draw(TEXT) if version >= 2 else "",
        # Versions 7-9 write the sums of one subtopology together.
        offset_sums=() if version < 7 else tuple(listed if version >= 10 else sorted(listed, key=lambda row: row[0])),
        unique=draw(st.integers(-128, 127)) if version >= 8 else 0,
        error=draw(INT32) if version >= 9 else 0,
        client_tags=tuple(draw(st.dictionaries(TEXT, TEXT, max_size=3)).items()) if version >= 11 else (),
    )


@st.composite
def assignments(draw: st.DrawFn) -> AssignmentInfo:
    version = draw(st.integers(1, 11))
    partitions = st.lists(st.tuples(TEXT, INT32), max_size=3).map(tuple)
    numbers = PAIRS.map(lambda pairs: tuple(n for pair in pairs for n in pair))
    found: st.SearchStrategy[tuple[tuple[str, int], ...] | tuple[int, ...]] = partitions if version < 5 else numbers
    hosts = st.lists(st.tuples(TEXT, INT32, found), max_size=3).map(tuple)
    return AssignmentInfo(
        version=version,
        commonly_supported=draw(INT32) if version >= 3 else -1,
        active=tuple(draw(st.lists(tasks(version), max_size=4))),
        standby=tuple(draw(st.lists(st.tuples(tasks(version), partitions), max_size=3))),
        topics=tuple(draw(st.lists(st.tuples(INT32, TEXT), max_size=3))) if version >= 5 else (),
        hosts=draw(hosts) if version >= 2 else (),
        standby_hosts=draw(hosts) if version >= 6 else (),
        error=draw(INT32) if version >= 4 else 0,
        next_rebalance_ms=draw(INT64) if version >= 7 else NO_REBALANCE_MS,
    )


@given(subscriptions(), st.binary(max_size=2))
def test_a_subscription_is_read_back(value: SubscriptionInfo, more: bytes) -> None:
    assert decode_subscription_info(encode_subscription_info(value) + more) == Decoded(value, len(more))


@given(assignments(), st.binary(max_size=2))
def test_an_assignment_is_read_back(value: AssignmentInfo, more: bytes) -> None:
    assert decode_assignment_info(encode_assignment_info(value) + more) == Decoded(value, len(more))


@pytest.mark.parametrize("version", range(1, 10))
def test_versions_without_names_refuse_a_named_topology(version: int) -> None:
    with pytest.raises(SchemaError, match="named topology"):
        encode_assignment_info(AssignmentInfo(version=version, active=((0, 1, "name"),)))
    with pytest.raises(SchemaError, match="named topology"):
        encode_subscription_info(
            SubscriptionInfo(
                version=version,
                latest_supported=-1 if version < 3 else 11,
                previous_tasks=((0, 1, "name"),),
                offset_sums=((0, 1, 5, "name"),),
            )
        )


def test_a_number_too_large_for_its_field_is_refused() -> None:
    with pytest.raises(SchemaError, match="error"):
        encode_assignment_info(AssignmentInfo(version=11, error=2**31))
    with pytest.raises(SchemaError, match="offset_sums"):
        encode_subscription_info(SubscriptionInfo(version=11, latest_supported=11, offset_sums=((0, 1, 2**63),)))


# Damage


def damaged(raw: bytes, chance: random.Random) -> bytes:
    """`raw` with one to three of: a byte or a count changed, bytes cut off, dropped or added, another version."""
    out = bytearray(raw)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(len(out)) if out else 0
        match chance.randrange(7):
            case 0 if out:
                out[at] ^= 1 << chance.randrange(8)
            case 1 if out:
                out[at] = chance.choice((0, 1, 0x7F, 0x80, 0xC0, 0xED, 0xF0, 0xFF))
            case 2:
                del out[at:]
            case 3:
                out += chance.randbytes(chance.randrange(9))
            case 4:
                count = chance.choice((-1, 0, 1, 2, 0x7FFFFFFF, -(2**31)))
                out[at : at + 4] = count.to_bytes(4, "big", signed=True)
            case 5:
                out[0:4] = chance.randrange(-2, 14).to_bytes(4, "big", signed=True)
            case _:
                del out[at : at + chance.randrange(1, 5)]
    return bytes(out)


@cache
def damage() -> list[tuple[str, bytes]]:
    chance, sound = random.Random(1071), payloads()
    damaged_ones = [(kind, damaged(raw, chance)) for kind, raw in chance.choices(sound, k=FUZZ_INPUTS)]
    noise = [(kind, chance.randbytes(chance.randrange(200))) for kind in KINDS for _ in range(FUZZ_INPUTS // 10)]
    return damaged_ones + noise


def read_or_reason(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except SchemaError as why:
        return why.reason, str(why)


def test_no_damage_raises_and_both_readers_see_the_same() -> None:
    decoded = unreadable = 0
    for kind, raw in damage():
        decode, layout = KINDS[kind]
        outcome = decode(raw)
        assert isinstance(outcome, Decoded | Unreadable)
        decoded, unreadable = decoded + isinstance(outcome, Decoded), unreadable + isinstance(outcome, Unreadable)
        version = int.from_bytes(raw[:4], "big", signed=True)
        if 1 <= version <= 11:
            for release in ((2, 8), (4, 2), (4, 3)):
                fast, exact = reader(layout, version, release), exact_reader(layout, version, release)
                assert read_or_reason(partial(fast, raw, 0)) == read_or_reason(partial(exact, raw, 0))
    # Damage that nothing survives, or that everything does, would test nothing.
    assert min(decoded, unreadable) > FUZZ_INPUTS // 10


def crowded() -> list[tuple[str, bytes]]:
    """Sound payloads that make the most objects of the fewest bytes: empty texts, short rows, wide numbers."""
    many = 4_000
    count, none = many.to_bytes(4, "big"), bytes(4)
    wide = [(at * 524_287).to_bytes(4, "big") for at in range(many)]
    keys = [b"%05x" % at for at in range(many)]
    # A hundred thousand two-byte characters, and one byte that makes the careful decoder walk all of them.
    text = "é".encode() * 100_000 + b"\xff"
    v6, v11 = b"\0\0\0\6\0\0\0\6", b"\0\0\0\x0b\0\0\0\x0b"
    member, end_point = bytes(16), len(text).to_bytes(4, "big") + text
    one_host = b"\0\0\0\1" + b"\0\0" + none
    bodies = {
        "subscription": [
            v6 + member + count + b"".join(n + n for n in wide) + none + none,
            v11 + member + none + count + b"".join(n + n + n + n + b"\xff\xff" for n in wide) + bytes(9),
            v11 + member + none + none + bytes(5) + count + b"".join(b"\0\0\0\5" + key + none for key in keys),
            v11 + member + end_point + none + bytes(9),
        ],
        "assignment": [
            v11 + count + b"".join(n + n + none for n in wide) + bytes(28),
            v11 + none + count + b"".join(n + n + none + none for n in wide) + bytes(24),
            v11 + none * 2 + count + b"".join(n + b"\0\0" for n in wide) + bytes(20),
            v11 + none * 3 + count + b"".join(b"\0\0" + n + none for n in wide) + bytes(16),
            v11 + none * 3 + one_host + count + b"".join(n + n for n in wide) + bytes(16),
        ],
    }
    return [(kind, raw) for kind, raws in bodies.items() for raw in raws]


def test_memory_stays_within_its_bound() -> None:
    assert all(isinstance(KINDS[kind][0](raw), Decoded) for kind, raw in crowded())
    for kind, raw in crowded() + damage()[:200]:
        KINDS[kind][0](raw)  # the reader of a version is compiled once: that is not the input's fault
        tracemalloc.start()
        outcome = KINDS[kind][0](raw)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= TIMES_ITS_SIZE * len(raw) + AND_BYTES, (kind, outcome)
