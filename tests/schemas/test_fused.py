"""One pass over a record and its blobs reads what piece by piece does: sound, damaged, remembered or not."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from schemas.connect_protocol import ConnectAssignment, WorkerState, encode_assignment, encode_worker_state
from schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription, encode_subscription
from schemas.consumer_protocol import encode_assignment as encode_shares
from schemas.group_metadata import GroupMember, GroupMetadata
from schemas.offsets_topic import encode_group_metadata
from streaming.core.blobs import MemberBlobs
from streaming.core.decoding import decode_offsets_record
from streaming.core.records import BadBlob, GroupGeneration
from tests.schemas.hostile import GROUP_KEY, damaged, real


class PieceByPiece(MemberBlobs):
    """Never in one pass."""

    def read_whole(self, value: bytes) -> None:
        return None


def body(value: bytes, blobs: MemberBlobs) -> Any:
    row = decode_offsets_record("__consumer_offsets", 0, 0, 0, GROUP_KEY, value, blobs)
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
    plain = PieceByPiece(0)
    for value in built():
        whole = MemberBlobs(0).read_whole(value)
        assert whole is not None
        assert body(value, MemberBlobs(0)) == body(value, plain)
        assert isinstance(body(value, plain), GroupGeneration)
    captured = [value for value in real()["job"] if value[4:11] == b"connect" and value[1] < 4]
    read = [MemberBlobs(0).read_whole(value) for value in captured[:40]]
    assert sum(one is not None for one in read) > 0.6 * len(read)  # in static groups nothing is


@pytest.mark.parametrize("budget", [0, 1 << 20])
def test_both_ways_read_the_same(budget: int) -> None:
    random = Random(budget)
    known = [*built(), *random.sample(real()["job"], 30)]
    whole, plain = MemberBlobs(budget), PieceByPiece(0)
    for value in known:
        for tried in (value, *(damaged(random, value, known) for _ in range(25))):
            assert body(tried, whole) == body(tried, plain), tried.hex()
            assert body(tried, whole) == body(tried, plain), tried.hex()


def test_every_cut_and_every_length_is_the_same() -> None:
    plain = PieceByPiece(0)
    for kind, blobs in BUILT.items():
        value = record(kind, blobs)
        whole, fresh = MemberBlobs(), MemberBlobs(0)
        for at in range(8, len(value)):
            for tried in (value[:at], value[:at] + b"\x7f" + value[at + 1 :], value[:at] + b"\xff" + value[at + 1 :]):
                expected = body(tried, plain)
                assert body(tried, fresh) == expected, tried.hex()
                assert body(tried, whole) == expected, tried.hex()
        assert body(value, whole) == body(value, plain), "what was remembered of damaged records is sound"


def test_a_bad_blob_is_the_bad_member_alone() -> None:
    for kind, blobs in BUILT.items():
        given = [(b"", blobs[0][1]), *blobs, (blobs[0][0], b"\xff\xff")]
        for blobs_seen in (MemberBlobs(0), MemberBlobs()):
            for _ in range(2):
                found = body(record(kind, given), blobs_seen)
                assert found.members[0].subscription == BadBlob("empty")
                assert isinstance(found.members[-1].assignment, BadBlob)
                assert not any(isinstance(one.subscription, BadBlob) for one in found.members[1:])


def test_static_groups_are_read_with_their_own_fields() -> None:
    state = WorkerState(version=3, url="http://w/", config_offset=7, static_connectors=("declared",))
    blobs = [(encode_worker_state(state), encode_assignment(GIVEN, ()))]
    seen = MemberBlobs()
    for protocol, declared in (("sessioned", ()), ("static", ("declared",)), ("sessioned", ())):
        (member,) = body(record("connect", blobs, protocol=protocol), seen).members
        assert member.subscription.static_connectors == declared


def test_a_missing_rebalance_timeout_is_the_session_timeout() -> None:
    for version in (0, 3):
        value = record("consumer", BUILT["consumer"], version=version)
        value = value.replace((60_000).to_bytes(4, "big"), b"\xff" * 4)
        for blobs in (MemberBlobs(0), PieceByPiece(0)):
            assert {one.rebalance_timeout_ms for one in body(value, blobs).members} == {10_000}
