"""Member blobs: bytes written by Kafka's classes, read and written back; what the tolerant reader takes."""

from dataclasses import replace

import pytest

from rebalance_monitor.schemas import connect_protocol as connect
from rebalance_monitor.schemas import consumer_protocol as consumer
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.outcomes import Decoded, Unreadable

URL = "000e 687474703a2f2f613a383038332f"
PREFIX = bytes.fromhex("0002 0000 0001 4c 0001 75 0000000000000007")
EMPTY = ConnectAssignment(version=2, leader="L", leader_url="u", config_offset=7)

SUBSCRIPTIONS = {
    "0000 00000001 0001 74 ffffffff": ConsumerSubscription(version=0, topics=("t",)),
    "0001 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000001": ConsumerSubscription(
        version=1, topics=("t",), owned=(("t", 0), ("t", 1))
    ),
    "0003 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000001 00000004 0001 72": (
        ConsumerSubscription(version=3, topics=("t",), owned=(("t", 0), ("t", 1)), generation=4, rack="r")
    ),
}


@pytest.mark.parametrize("hexed", SUBSCRIPTIONS)
def test_consumer_subscriptions(hexed: str) -> None:
    raw, value = bytes.fromhex(hexed), SUBSCRIPTIONS[hexed]
    assert consumer.decode_subscription(raw) == Decoded(value)
    assert consumer.encode_subscription(value) == raw


def test_consumer_assignments() -> None:
    empty, held = (
        bytes.fromhex("0000 00000000 ffffffff"),
        bytes.fromhex("0003 00000001 0001 74 00000002 00000000 00000001 ffffffff"),
    )
    for raw, value in (
        (empty, ConsumerAssignment(version=0, partitions=())),
        (held, ConsumerAssignment(version=3, partitions=(("t", 0), ("t", 1)))),
    ):
        assert consumer.decode_assignment(raw) == Decoded(value)
        assert consumer.encode_assignment(value) == raw
    later = b"\x00\x09" + held[2:] + b"\x01"
    assert consumer.decode_assignment(later) == Decoded(
        ConsumerAssignment(version=9, partitions=(("t", 0), ("t", 1))), 1
    )


def test_a_worker_that_holds_work() -> None:
    raw = bytes.fromhex(
        f"0002 {URL} 0000000000000011 0000003d 0002 0000 0002 6d31 {URL} 0000000000000011"
        " 00000001 0003 666f6f 00000002 ffffffff 00000000 00000000 00000000"
    )
    held = ConnectAssignment(
        version=2,
        leader="m1",
        leader_url="http://a:8083/",
        config_offset=17,
        connectors=("foo",),
        tasks=(("foo", 0),),
    )
    state = WorkerState(version=2, url="http://a:8083/", config_offset=17, allocation=held)
    assert connect.decode_worker_state(raw) == Decoded(state)
    assert connect.encode_worker_state(state, (("foo", (-1, 0)),)) == raw


def test_an_assignment_with_revocations() -> None:
    raw = bytes.fromhex(
        f"0002 0000 0002 6d31 {URL} 0000000000000011 00000001 0003 666f6f 00000002 ffffffff 00000000"
        " 00000001 0007 6261722d62617a 00000001 00000001 000493e0"
    )
    value = ConnectAssignment(
        version=2,
        leader="m1",
        leader_url="http://a:8083/",
        config_offset=17,
        connectors=("foo",),
        tasks=(("foo", 0),),
        revoked_tasks=(("bar-baz", 1),),
        delay_ms=300000,
    )
    assert connect.decode_assignment(raw) == Decoded(value)
    assert connect.encode_assignment(value, (("foo", (-1, 0)),), (("bar-baz", (1,)),)) == raw


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("", EMPTY),
        ("ffffffff", EMPTY),
        ("fffffffb", EMPTY),
        ("00000000 00000000", EMPTY),
        ("00000001 0002 6331 00000001 fffffffe", replace(EMPTY, tasks=(("c1", -2),))),
        ("00000001 0002 6331 00000002 ffffffff ffffffff", replace(EMPTY, connectors=("c1", "c1"))),
        ("00000000 00000000 0000", "truncated"),
        ("0000", "truncated"),
        ("00000001 0002 6331 ffffffff", "unexpected_null"),
        ("000003e8", "length_beyond_buffer"),
    ],
)
def test_the_end_of_an_assignment_may_be_missing_but_not_cut(tail: str, expected: ConnectAssignment | str) -> None:
    outcome = connect.decode_assignment(PREFIX + bytes.fromhex(tail))
    if isinstance(expected, str):
        assert isinstance(outcome, Unreadable)
        assert outcome.reason == expected
    else:
        assert outcome == Decoded(expected)


def test_later_versions_and_trailing_bytes_are_accepted() -> None:
    outcome = connect.decode_assignment(b"\x00\x63" + PREFIX[2:] + bytes(12) + b"\xde\xad")
    assert outcome == Decoded(replace(EMPTY, version=99), 2)
    assert connect.decode_assignment(b"\xff\xff" + PREFIX[2:]) == Unreadable("unsupported_version", "version -1")


STATIC = bytes.fromhex(
    "0003 000f 687474703a2f2f77313a383038332f 0000000000000007 ffffffff"
    "00000001 0002 6331   00000001 0002 6332 00000002 00000000 00000003"
)


def test_static_settings_are_read_only_in_a_static_group() -> None:
    plain = WorkerState(version=3, url="http://w1:8083/", config_offset=7)
    declared = replace(plain, static_connectors=("c1",), static_tasks=(("c2", 0), ("c2", 3)))
    assert connect.decode_worker_state(STATIC, static=True) == Decoded(declared)
    assert connect.encode_worker_state(declared) == STATIC
    outcome = connect.decode_worker_state(STATIC)
    assert isinstance(outcome, Decoded)
    assert outcome.value == plain
    assert outcome.remaining == 28


def test_a_worker_state_of_version_2_has_no_static_settings() -> None:
    outcome = connect.decode_worker_state(b"\x00\x02" + STATIC[2:], static=True)
    assert isinstance(outcome, Decoded)
    assert outcome.value.static_connectors == ()
