"""User data of plain consumers: what sticky leaders read and what they forgive."""

from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.schemas.consumer_protocol import decode_subscription
from rebalance_monitor.schemas.outcomes import Decoded, Outcome, Unreadable
from rebalance_monitor.schemas.sticky_user_data import (
    StickyUserData,
    decode_sticky_user_data,
    decode_what_is_left,
    encode_sticky_user_data,
)
from rebalance_monitor.schemas.streams_subscription import SubscriptionInfo, encode_subscription_info
from rebalance_monitor.schemas.user_data import decode_assignment_user_data, decode_subscription_user_data
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "consumer" / "sticky-rounds.jsonl.gz"
INT32 = st.integers(-(2**31), 2**31 - 1)
TOPICS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
# Members m1 and m2 of the worked example of the sticky assignor, and the first cut to what releases up to 2.2 wrote.
A_0_TO_2 = "00000001000161 00000003 00000000 00000001 00000002"


@pytest.mark.parametrize(
    ("hexed", "value", "left"),
    [
        (f"{A_0_TO_2} 00000007", StickyUserData((("a", 0), ("a", 1), ("a", 2)), 7), 0),
        (A_0_TO_2, StickyUserData((("a", 0), ("a", 1), ("a", 2))), 0),
        (f"{A_0_TO_2} 0000", StickyUserData((("a", 0), ("a", 1), ("a", 2))), 2),
        (f"{A_0_TO_2} 00000006 ff", StickyUserData((("a", 0), ("a", 1), ("a", 2)), 6), 1),
        ("00000000 ffffffff", StickyUserData((), -1), 0),
        ("", StickyUserData(), 0),
    ],
)
def test_newer_layout_first_then_the_older(hexed: str, value: StickyUserData, left: int) -> None:
    assert decode_subscription_user_data("sticky", bytes.fromhex(hexed)) == Decoded(value, left)


@pytest.mark.parametrize("hexed", ["ffffffff", "0000", "00000001 0005 61", "00000002 000161 00000000"])
def test_what_a_sticky_leader_can_not_read(hexed: str) -> None:
    assert isinstance(decode_subscription_user_data("sticky", bytes.fromhex(hexed)), Unreadable)


def test_the_cooperative_one_sends_a_generation() -> None:
    def read(raw: bytes | None) -> object:
        return decode_subscription_user_data("cooperative-sticky", raw)

    assert read(None) == Decoded(StickyUserData())
    assert read(b"\0\0\0\5!") == Decoded(StickyUserData((), 5), 1)
    assert isinstance(read(b""), Unreadable)
    assert isinstance(read(b"\0\0\0"), Unreadable)


@pytest.mark.parametrize(
    ("hexed", "rest"),
    [
        (f"{A_0_TO_2} 00000007", ""),
        (f"{A_0_TO_2} 00000007 00000000 0000", "00000000 0000"),
        (A_0_TO_2, ""),
        (f"{A_0_TO_2} 0000", "0000"),
        ("0000", "0000"),
        ("ffffffff 00", "00"),
        ("00000009 00", "00"),
        ("00000001 0005 61", "61"),
        ("00000001 000161 00000009 00", "00"),
        ("00000001 000161 00000003 00000001 00000002 0000", "0000"),
        ("00000002 000161 00000000", ""),
    ],
)
def test_a_second_reading_begins_where_the_first_attempt_stopped(hexed: str, rest: str) -> None:
    assert decode_what_is_left(bytes.fromhex(hexed)) == decode_sticky_user_data(bytes.fromhex(rest))


@pytest.mark.parametrize(("hexed", "rest"), [("00000007", ""), ("00000007 00000008", "00000008"), ("000000", "000000")])
def test_a_second_reading_of_cooperative_user_data(hexed: str, rest: str) -> None:
    found = decode_what_is_left(bytes.fromhex(hexed), cooperative=True)
    assert found == decode_sticky_user_data(bytes.fromhex(rest), cooperative=True)


@given(st.binary(max_size=40), st.booleans())
def test_a_second_reading_raises_never(raw: bytes, cooperative: bool) -> None:
    assert isinstance(decode_what_is_left(raw, cooperative=cooperative), (Decoded, Unreadable))
    assert decode_what_is_left(None, cooperative=cooperative) == Decoded(StickyUserData())


def test_which_protocol_has_which_user_data() -> None:
    info = SubscriptionInfo(version=11, latest_supported=11)
    assert decode_subscription_user_data("stream", encode_subscription_info(info)) == Decoded(info)
    assert isinstance(decode_subscription_user_data("stream", None), Unreadable)
    assert decode_subscription_user_data("range", b"x") is None
    assert decode_subscription_user_data(None, b"x") is None
    assert isinstance(decode_assignment_user_data("stream", b""), Unreadable)
    assert decode_assignment_user_data("stream", None) is None
    assert decode_assignment_user_data("sticky", b"") is None


@given(st.dictionaries(TOPICS, st.lists(INT32, min_size=1, max_size=3), max_size=3), st.none() | INT32)
def test_what_is_written_is_read_back(by_topic: dict[str, list[int]], generation: int | None) -> None:
    value = StickyUserData(tuple((t, n) for t, numbers in by_topic.items() for n in numbers), generation)
    assert decode_sticky_user_data(encode_sticky_user_data(value)) == Decoded(value)
    alone = StickyUserData((), -1 if generation is None else generation)
    assert decode_sticky_user_data(encode_sticky_user_data(value, cooperative=True), cooperative=True) == Decoded(alone)


@given(st.binary(max_size=60), st.booleans())
def test_no_bytes_raise(raw: bytes, cooperative: bool) -> None:
    outcome: Outcome[StickyUserData] = decode_sticky_user_data(raw, cooperative=cooperative)
    assert isinstance(outcome, Decoded | Unreadable)


def test_members_send_what_the_round_before_gave_them() -> None:
    rounds = {case["id"].partition("/")[0]: case for case in json_lines(VECTORS)}
    compared = 0
    for name, case in rounds.items():
        group, _, number = name.rpartition("-")
        before = rounds.get(f"{group}-{int(number) - 1}")
        given_before = before["expected"]["assignment"] if before else {}
        for member in case["input"]["members"]:
            if member["id"] not in given_before:
                continue
            subscription = decode_subscription(b64decode(member["subscription"]))
            assert isinstance(subscription, Decoded)
            outcome = decode_subscription_user_data("sticky", subscription.value.user_data)
            assert isinstance(outcome, Decoded)
            assert isinstance(outcome.value, StickyUserData)
            held = [(topic, partition) for topic, partition in given_before[member["id"]]["partitions"]]
            assert sorted(outcome.value.partitions) == sorted(held)
            compared += 1
    assert compared > 50
