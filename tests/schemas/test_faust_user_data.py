"""The user data that faust's leader writes, built by hand by the layout in its source."""

import json
import zlib

import pytest

from rebalance_monitor.schemas.faust_user_data import MOST_BYTES, decode_changelogs
from rebalance_monitor.schemas.outcomes import Decoded, Unreadable

SAID = {
    "assignment": {"actives": {"orders": [0], "t-changelog": [0]}, "standbys": {"t-changelog": [1]}},
    "url": "http://a:6066",
    "changelog_distribution": {"http://a:6066": {"t-changelog": [0]}, "http://b:6066": {"u-changelog": []}},
    "external_topic_distribution": {"http://a:6066": {"orders": [0]}},
    "topic_groups": {"orders": 0, "t-changelog": 0},
}


@pytest.mark.parametrize("written", [zlib.compress(json.dumps(SAID).encode()), json.dumps(SAID).encode()])
def test_the_changelogs_of_all_hosts_are_read(written: bytes) -> None:
    assert decode_changelogs(written) == Decoded(frozenset({"t-changelog", "u-changelog"}))


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (None, "not_zlib"),
        (b"", "not_zlib"),
        (b"\x00\x01", "not_zlib"),
        (zlib.compress(json.dumps(SAID).encode())[:-9], "not_zlib"),
        (zlib.compress(b"[]"), "not_json"),
        (zlib.compress(b"{}"), "not_json"),
        (zlib.compress(b'{"changelog_distribution": {"a": [1]}}'), "not_json"),
        (zlib.compress(b"\xff"), "not_json"),
        (b"{" * 100_000, "not_json"),
        (b'{"a":' * 100_000, "not_json"),
        (zlib.compress(b" " * (MOST_BYTES + 1)), "too_long"),
    ],
)
def test_bytes_of_another_form_are_named(written: bytes | None, reason: str) -> None:
    read = decode_changelogs(written)
    assert isinstance(read, Unreadable)
    assert read.reason == reason
