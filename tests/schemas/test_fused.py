"""One pass over a record and its blobs reads what piece by piece does: sound, damaged, remembered or not."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.schemas.connect_protocol import (
    THE_CONNECTOR,
    ConnectAssignment,
    Entries,
    WorkerState,
    encode_assignment,
    encode_worker_state,
)
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription, encode_subscription
from rebalance_monitor.schemas.consumer_protocol import encode_assignment as encode_shares
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.streaming.core.lifecycles import FORMATS, decode_offsets_record
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration
from rebalance_monitor.streaming.core.reading.blobs import MemberBlobs
from tests.schemas.hostile import GROUP_KEY, damaged, real


class PieceByPiece(MemberBlobs):
    """Never in one pass."""

    def read_whole(self, value: bytes) -> None:
        return None


def body(value: bytes, blobs: MemberBlobs) -> Any:
    row = decode_offsets_record("__consumer_offsets", 0, 0, 0, GROUP_KEY, value, blobs=blobs)
    assert row is not None
    return row.body


def record(kind: str, blobs: list[tuple[bytes, bytes]], *, version: int = 3, **more: Any) -> bytes:
    members = tuple(
        GroupMember(
            member_id=f"m-{at}",
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            subscription=subscription,
            assignment=assignment,
            instance_id="i" if at == 1 and version >= 3 else None,
        )
        for at, (subscription, assignment) in enumerate(blobs)
    )
    group = GroupMetadata(
        version=version, protocol_type=kind, generation=5, protocol="p", leader="m-0", state_ms=9, members=members
    )
    return encode_group_metadata(replace(group, **more))


GIVEN = ConnectAssignment(version=2, leader="l", leader_url="http://l/", config_offset=7, delay_ms=3)
ENTRIES = (("a", (-1, 0, 1)), ("b-ü", (4,)), ("c", ()), ("d", (-1,)))


def connect_blobs() -> list[tuple[bytes, bytes]]:
    """Every shape of the last fields, headers that change in the midst, an allocation that is null or missing."""
    other = replace(GIVEN, leader_url="http://other/", config_offset=8)
    state = WorkerState(version=2, url="http://w/", config_offset=7, allocation=GIVEN)
    return [
        (encode_worker_state(state, ENTRIES), encode_assignment(GIVEN, ENTRIES, ENTRIES)),
        (encode_worker_state(replace(state, allocation=other)), encode_assignment(GIVEN, ())),
        (encode_worker_state(replace(state, allocation=None)), encode_assignment(other, ENTRIES)),
        (encode_worker_state(replace(state, version=0)), encode_assignment(replace(GIVEN, version=0), ENTRIES)),
        (encode_worker_state(state, (), ENTRIES), encode_assignment(GIVEN, (), ENTRIES)),
    ]


def consumer_blobs() -> list[tuple[bytes, bytes]]:
    """Topics that change in the midst, user data or none, many numbers, one, none."""
    first = ConsumerSubscription(version=3, topics=("t", "ü"), owned=(("t", 0), ("t", 1), ("ü", 2)), generation=4)
    held = ConsumerAssignment(version=3, partitions=first.owned)
    return [
        (encode_subscription(one), encode_shares(share))
        for one, share in (
            (first, held),
            (replace(first, rack="r", owned=()), replace(held, partitions=())),
            (replace(first, topics=("t",), user_data=b"\x00\xff"), replace(held, user_data=b"")),
            (replace(first, topics=()), held),
        )
    ]


BUILT = {"connect": connect_blobs(), "consumer": consumer_blobs()}


def built() -> Iterator[bytes]:
    for kind, blobs in BUILT.items():
        for version in range(4):
            yield record(kind, blobs, version=version)
            yield record(kind, [], version=version, leader=None, protocol=None)
            yield record(kind, blobs, version=version) + b"left over"


def test_sound_records_are_read_in_one_pass() -> None:
    """Else it would be correct and useless."""
    plain = PieceByPiece(FORMATS, 0)
    for value in built():
        whole = MemberBlobs(FORMATS, 0).read_whole(value)
        assert whole is not None
        assert body(value, MemberBlobs(FORMATS, 0)) == body(value, plain)
        assert isinstance(body(value, plain), GroupGeneration)
    captured = [value for value in real()["job"] if value[4:11] == b"connect" and value[1] < 4]
    read = [MemberBlobs(FORMATS, 0).read_whole(value) for value in captured[:40]]
    assert sum(one is not None for one in read) > 0.6 * len(read)  # in static groups nothing is


@pytest.mark.parametrize("budget", [0, 1 << 20])
def test_both_ways_read_the_same(budget: int) -> None:
    random = Random(budget)
    known = [*built(), *random.sample(real()["job"], 30)]
    whole, plain = MemberBlobs(FORMATS, budget), PieceByPiece(FORMATS, 0)
    for value in known:
        for tried in (value, *(damaged(random, value, known) for _ in range(25))):
            assert body(tried, whole) == body(tried, plain), tried.hex()
            assert body(tried, whole) == body(tried, plain), tried.hex()


def test_every_cut_and_every_length_is_the_same() -> None:
    plain = PieceByPiece(FORMATS, 0)
    for kind, blobs in BUILT.items():
        value = record(kind, blobs)
        whole, fresh = MemberBlobs(FORMATS), MemberBlobs(FORMATS, 0)
        for at in range(8, len(value)):
            for tried in (value[:at], value[:at] + b"\x7f" + value[at + 1 :], value[:at] + b"\xff" + value[at + 1 :]):
                expected = body(tried, plain)
                assert body(tried, fresh) == expected, tried.hex()
                assert body(tried, whole) == expected, tried.hex()
        assert body(value, whole) == body(value, plain), "what was remembered of damaged records is sound"


def test_a_bad_blob_is_the_bad_member_alone() -> None:
    for kind, blobs in BUILT.items():
        given = [(b"", blobs[0][1]), *blobs, (blobs[0][0], b"\xff\xff")]
        for blobs_seen in (MemberBlobs(FORMATS, 0), MemberBlobs(FORMATS)):
            for _ in range(2):
                found = body(record(kind, given), blobs_seen)
                assert found.members[0].subscription == BadBlob("empty")
                assert isinstance(found.members[-1].assignment, BadBlob)
                assert not any(isinstance(one.subscription, BadBlob) for one in found.members[1:])


def test_static_groups_are_read_with_their_own_fields() -> None:
    state = WorkerState(version=3, url="http://w/", config_offset=7, static_connectors=("declared",))
    blobs = [(encode_worker_state(state), encode_assignment(GIVEN, ()))]
    seen = MemberBlobs(FORMATS)
    for protocol, declared in (("sessioned", ()), ("static", ("declared",)), ("sessioned", ())):
        (member,) = body(record("connect", blobs, protocol=protocol), seen).members
        assert member.subscription.static_connectors == declared


def test_a_missing_rebalance_timeout_is_the_session_timeout() -> None:
    for version in (0, 3):
        value = record("consumer", BUILT["consumer"], version=version)
        value = value.replace((60_000).to_bytes(4, "big"), b"\xff" * 4)
        for blobs in (MemberBlobs(FORMATS, 0), PieceByPiece(FORMATS, 0)):
            assert {one.rebalance_timeout_ms for one in body(value, blobs).members} == {10_000}


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
ENTRY_LISTS = st.lists(st.tuples(TEXT, st.lists(INT32 | st.just(THE_CONNECTOR), max_size=4).map(tuple)), max_size=4)
HEADERS = st.builds(
    ConnectAssignment,
    version=st.integers(1, 0x7FFF),
    error=st.integers(-(2**15), 2**15 - 1),
    leader=TEXT,
    leader_url=TEXT,
    config_offset=INT64,
    delay_ms=INT32,
)


def holding(header: ConnectAssignment, assigned: Entries, revoked: Entries) -> ConnectAssignment:
    """What a header with these entries says."""

    def sorted_out(entries: Entries) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
        pairs = [(name, number) for name, numbers in entries for number in numbers]
        names = tuple(name for name, number in pairs if number == THE_CONNECTOR)
        return names, tuple(pair for pair in pairs if pair[1] != THE_CONNECTOR)

    connectors, tasks = sorted_out(assigned)
    revoked_connectors, revoked_tasks = sorted_out(revoked)
    return replace(
        header, connectors=connectors, tasks=tasks, revoked_connectors=revoked_connectors, revoked_tasks=revoked_tasks
    )


@given(st.lists(st.tuples(HEADERS, HEADERS, ENTRY_LISTS, ENTRY_LISTS, TEXT, INT64), min_size=1, max_size=3))
def test_any_connect_group_is_read_back(drawn: list[tuple[Any, ...]]) -> None:
    blobs, expected = [], []
    for held, new, first, second, url, offset in drawn:
        state = WorkerState(version=held.version % 3, url=url, config_offset=offset, allocation=held)
        wire = encode_worker_state(state, first, second, allocation_version=held.version)
        blobs.append((wire, encode_assignment(new, second, first)))
        allocation = holding(held, first, second) if state.version else None
        expected.append((replace(state, allocation=allocation), holding(new, second, first)))
    value = record("connect", blobs)
    assert MemberBlobs(FORMATS, 0).read_whole(value) is not None
    for members in (body(value, MemberBlobs(FORMATS, 0)).members, body(value, PieceByPiece(FORMATS, 0)).members):
        assert [(one.subscription, one.assignment) for one in members] == expected


PARTITIONS = st.lists(st.tuples(TEXT, INT32), max_size=6).map(tuple)
SUBSCRIPTIONS = st.builds(
    ConsumerSubscription,
    version=st.just(3),
    topics=st.lists(TEXT, max_size=3).map(tuple),
    user_data=st.none() | st.binary(max_size=6),
    owned=PARTITIONS,
    generation=INT32,
    rack=st.none() | TEXT,
)
SHARES = st.builds(
    ConsumerAssignment, version=st.just(3), partitions=PARTITIONS, user_data=st.none() | st.binary(max_size=6)
)


@given(st.lists(st.tuples(SUBSCRIPTIONS, SHARES), min_size=1, max_size=3))
def test_any_consumer_group_is_read_back(drawn: list[tuple[ConsumerSubscription, ConsumerAssignment]]) -> None:
    value = record("consumer", [(encode_subscription(one), encode_shares(share)) for one, share in drawn])
    assert MemberBlobs(FORMATS, 0).read_whole(value) is not None
    for members in (body(value, MemberBlobs(FORMATS, 0)).members, body(value, PieceByPiece(FORMATS, 0)).members):
        for (subscription, share), member in zip(drawn, members, strict=True):
            assert replace(member.subscription, owned=()) == replace(subscription, owned=())
            assert sorted(member.subscription.owned) == sorted(subscription.owned)
            assert replace(member.assignment, partitions=()) == replace(share, partitions=())
            assert sorted(member.assignment.partitions) == sorted(share.partitions)
