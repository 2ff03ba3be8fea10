"""The checker's own reading of group records, held against the product's encoder: two readings of one layout."""

import pytest

from lab.cluster.offsets_reader import Coordinates, Found, parse
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata

AT = Coordinates("__consumer_offsets", 3, 17)


def key(version: int, group: str) -> bytes:
    return version.to_bytes(2, "big") + len(group.encode()).to_bytes(2, "big") + group.encode()


def test_only_classic_groups_count() -> None:
    assert parse(AT, None, b"x") is None
    assert parse(AT, key(0, "g"), b"x") is None
    assert parse(AT, key(2, "g"), None) == Found(AT, "g", -1, -1)


@pytest.mark.parametrize("members", [0, 1, 200])
def test_generation_and_members(members: int) -> None:
    for version in range(5):
        member = GroupMember(
            member_id="m" * 130,
            instance_id=None,
            client_id="c",
            client_host="/127.0.0.1",
            rebalance_timeout_ms=1,
            session_timeout_ms=2,
            subscription=b"abc",
            assignment=b"",
        )
        value = encode_group_metadata(
            GroupMetadata(
                version=version,
                protocol_type="connect",
                generation=7,
                protocol="sessioned",
                leader="m",
                state_ms=5,
                members=(member,) * members,
            )
        )
        assert parse(AT, key(2, "größe"), value) == Found(AT, "größe", 7, members)
