"""Bytes written by Kafka's own serializers, read and written back."""

from dataclasses import replace

import pytest

from rebalance_monitor.schemas.coordinator_records import decode_record
from rebalance_monitor.schemas.errors import UnsupportedVersion
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import (
    GROUP_METADATA,
    Key,
    decode_group_metadata,
    decode_key,
    encode_group_metadata,
)
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Tombstone, Unreadable

MEMBER = GroupMember(
    member_id="m1",
    client_id="c",
    client_host="/10.0.0.1",
    rebalance_timeout_ms=60000,
    session_timeout_ms=10000,
    subscription=b"\x01\x02",
    assignment=b"\x03",
)
GROUP = GroupMetadata(
    version=3,
    protocol_type="connect",
    generation=5,
    protocol="sessioned",
    leader="m1",
    state_ms=1700000000000,
    members=(MEMBER,),
)
HEAD = "0007 636f6e6e656374 00000005 0009 73657373696f6e6564 0002 6d31"
WRITTEN = {
    0: f"0000 {HEAD} 00000001 0002 6d31 0001 63 0009 2f31302e302e302e31 00002710 00000002 0102 00000001 03",
    1: f"0001 {HEAD} 00000001 0002 6d31 0001 63 0009 2f31302e302e302e31 0000ea60 00002710 00000002 0102 00000001 03",
    2: f"0002 {HEAD} 0000018bcfe56800 00000001 0002 6d31 0001 63 0009 2f31302e302e302e31 0000ea60 00002710"
    " 00000002 0102 00000001 03",
    3: f"0003 {HEAD} 0000018bcfe56800 00000001 0002 6d31 ffff 0001 63 0009 2f31302e302e302e31 0000ea60 00002710"
    " 00000002 0102 00000001 03",
    4: "0004 08 636f6e6e656374 00000005 0a 73657373696f6e6564 03 6d31 0000018bcfe56800 02 03 6d31 00 02 63"
    " 0a 2f31302e302e302e31 0000ea60 00002710 03 0102 02 03 00 00",
}


def test_every_version_that_is_read_has_bytes_here() -> None:
    assert WRITTEN.keys() == set(range(GROUP_METADATA.oldest, GROUP_METADATA.newest + 1))


@pytest.mark.parametrize("version", WRITTEN)
def test_group_metadata_of_every_version(version: int) -> None:
    raw = bytes.fromhex(WRITTEN[version])
    expected = replace(
        GROUP,
        version=version,
        state_ms=GROUP.state_ms if version >= 2 else -1,
        # v0 knows the session timeout only.
        members=(MEMBER if version else replace(MEMBER, rebalance_timeout_ms=MEMBER.session_timeout_ms),),
    )
    assert decode_group_metadata(raw) == Decoded(expected)
    assert encode_group_metadata(expected) == raw


@pytest.mark.parametrize(
    ("hexed", "protocol_type", "generation"),
    [
        ("0003 0007 636f6e6e656374 00000006 ffff ffff 0000018bcfe56800 00000000", "connect", 6),
        ("0004 08 636f6e6e656374 00000006 00 00 0000018bcfe56800 01 00", "connect", 6),
        ("0003 0000 00000000 ffff ffff 0000018bcfe56800 00000000", "", 0),
    ],
)
def test_empty_and_shell_groups(hexed: str, protocol_type: str, generation: int) -> None:
    outcome = decode_group_metadata(bytes.fromhex(hexed))
    assert isinstance(outcome, Decoded)
    group = outcome.value
    assert (group.protocol_type, group.generation) == (protocol_type, generation)
    assert (group.protocol, group.leader, group.members) == (None, None, ())


def test_what_a_group_value_can_come_to() -> None:
    sound = bytes.fromhex(WRITTEN[3])
    assert decode_group_metadata(None) == Tombstone()
    assert decode_group_metadata(sound + b"\x00\x01") == Decoded(GROUP, 2)
    assert decode_group_metadata(b"\x00\x05" + sound[2:]) == Unreadable("unsupported_version", "version 5")
    assert decode_group_metadata(b"\xff\xff" + sound[2:]) == Unreadable("unsupported_version", "version -1")
    assert {type(decode_group_metadata(sound[:n])) for n in range(len(sound))} == {Unreadable}


def test_a_count_larger_than_the_record_is_refused_before_reading() -> None:
    raw = bytes.fromhex(f"0001 {HEAD} 7fffffff")
    outcome = decode_group_metadata(raw)
    assert isinstance(outcome, Unreadable)
    assert outcome.reason == "length_beyond_buffer"


def test_an_unknown_version_is_not_written() -> None:
    with pytest.raises(UnsupportedVersion):
        encode_group_metadata(replace(GROUP, version=5))


@pytest.mark.parametrize(
    ("hexed", "key"),
    [
        (
            "0001 0001 67 0001 74 00000003",
            Key(type=1, name="OffsetCommit", group="g", topic="t", partition=3),
        ),
        ("0002 000f 636f6e6e6563742d636c7573746572", Key(type=2, name="GroupMetadata", group="connect-cluster")),
        ("0003 0001 67", Key(type=3, name="ConsumerGroupMetadata", group="g")),
        ("0005 0001 67 0001 6d", Key(type=5, name="ConsumerGroupMemberMetadata", group="g", member="m")),
    ],
)
def test_keys(hexed: str, key: Key) -> None:
    raw = bytes.fromhex(hexed)
    assert decode_key(raw) == Decoded(key)
    assert decode_key(raw + b"\x00") == Decoded(key, 1)
    assert {type(decode_key(raw[:n])) for n in range(len(raw))} == {Unreadable}


@pytest.mark.parametrize("said", [0, 1, 300, 0x7FFF, 0x8000, 0xFFFF])
def test_a_group_alone_is_read_by_its_length(said: int) -> None:
    """However long the key is: a name that ends early is cut, one that ends late leaves bytes, a negative is null."""
    for there in {0, 1, said - 1, said, said + 1} - {-1}:
        found = decode_key(b"\x00\x02" + said.to_bytes(2, "big") + b"x" * there)
        if there < said or said > 0x7FFF:
            assert isinstance(found, Unreadable)
        else:
            assert found == Decoded(Key(type=2, name="GroupMetadata", group="x" * said), there - said)


def test_keys_of_nobody() -> None:
    assert decode_key(None) == Unreadable("null_key")
    assert decode_key(b"\x00\x63\x00\x01g") == Ignored("unknown_type 99")


LATER = {
    "type 3, hash": ("0003 0001 67", "0000 00000009 01 00 08 0000000000000001", {"epoch": 9, "metadataHash": 1}),
    "type 6, time": (
        "0006 0001 67",
        "0000 0000000c 01 00 08 0000018bcfe56800",
        {"assignmentEpoch": 12, "assignmentTimestamp": 1700000000000},
    ),
    "type 16": (
        "0010 0001 67 0001 72",
        "0000 02 02 61 0000000000000003 0000018bcfe56800 00",
        {"topics": ["a"], "version": 3, "timestamp": 1700000000000},
    ),
    "type 17, tags": (
        "0011 0001 67",
        "0000 00000007 0000000000000001 02 00 04 00000000 01 06 02 02 61 02 31 00",
        {
            "epoch": 7,
            "metadataHash": 1,
            "validatedTopologyEpoch": 0,
            "lastAssignmentConfigs": [{"key": "a", "value": "1"}],
        },
    ),
    "type 21": (
        "0015 0001 67 0001 6d",
        "0000 02 02 30 02 00000001 00 01 01 00",
        {"activeTasks": [{"subtopologyId": "0", "partitions": [1]}], "standbyTasks": [], "warmupTasks": []},
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_records_of_later_releases(name: str) -> None:
    key, value, expected = LATER[name]
    outcome = decode_record(bytes.fromhex(key), bytes.fromhex(value))
    assert isinstance(outcome, Decoded)
    assert outcome.value.value == expected
    assert (outcome.value.key_remaining, outcome.value.value_remaining) == (0, 0)


def test_the_layout_is_guessed_where_the_version_does_not_tell() -> None:
    old = decode_record(bytes.fromhex("000b 0001 67"), bytes.fromhex("0000 00000009 00"))
    new = decode_record(bytes.fromhex("000b 0001 67"), bytes.fromhex("0000 00000009 0000000000000005 00"))
    assert isinstance(old, Decoded)
    assert isinstance(new, Decoded)
    assert old.value.value == {"epoch": 9}
    assert new.value.value == {"epoch": 9, "metadataHash": 5}
