"""What faust's leader tells a member beside its partitions: the user data of an assignment, JSON behind zlib.

    {"assignment": {"actives": {"orders": [0], "app-t-changelog": [0]}, "standbys": {"app-t-changelog": [1]}},
     "url": "http://a:6066",
     "changelog_distribution": {"http://a:6066": {"app-t-changelog": [0]}},
     "external_topic_distribution": {"http://a:6066": {"orders": [0]}}}

A member's partitions are its actives and, of changelogs, its standbys. Of a global table's changelog every member has
all partitions as actives. So a changelog's partition may have several members; that of any other topic has one.
Source: faust/assignor/client_assignment.py and partition_assignor.py of faust-streaming, in own words.
"""

import json
import zlib
from typing import Any

from .outcomes import Decoded, Outcome, Unreadable

FAUST = "faust"
"""The assignor's name."""
MOST_BYTES = 16 * 1024 * 1024
"""Decompressed bytes that are read: every member is told the distribution of the whole application."""
_BRACE = b"{"


def decode_changelogs(raw: bytes | None) -> Outcome[frozenset[str]]:
    """The changelog topics of the application, as the user data of one member's assignment name them."""
    try:
        text = _inflated(raw or b"")
        return Decoded(frozenset(_topics(json.loads(text))))
    except zlib.error:
        return Unreadable("not_zlib")
    except _TooLongError:
        return Unreadable("too_long", f"more than {MOST_BYTES} bytes")
    except (ValueError, RecursionError):
        return Unreadable("not_json")


class _TooLongError(Exception):
    """More bytes than are read."""


def _inflated(raw: bytes) -> bytes:
    if raw.startswith(_BRACE):
        return raw
    stream = zlib.decompressobj()
    text = stream.decompress(raw, MOST_BYTES)
    if stream.unconsumed_tail:
        raise _TooLongError
    if not stream.eof:
        raise zlib.error("the stream ends early")
    return text


def _topics(said: Any) -> set[str]:
    hosts = _object(_object(said).get("changelog_distribution"))
    return {topic for by_topic in hosts.values() for topic in _object(by_topic)}


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value
