"""Offset commits, for the hot path: of each no more than where it was, how far and when.

Most records of `__consumer_offsets` are commits, and the same keys come again and again, so what a key says is
remembered. `coordinator_records.decode_record` reads all of a commit, and says why where it cannot.
"""

from functools import lru_cache
from struct import Struct, error

from . import wire
from .coordinator_records import decode_record
from .offsets_topic import decode_key
from .outcomes import Decoded

REMEMBERED_KEYS = 65_536
_COMMIT = 1
_WITH_EPOCH, _FLEXIBLE = 3, 4
_LENGTH, _INT64 = Struct(">H").unpack_from, Struct(">q").unpack_from
_ONE_BYTE_VARINT = 0x80
_TOPIC_ID, _TOPIC_ID_BYTES = b"\x01\x00\x10", 19
"""Tagged fields that are a topic's id alone: one, of tag 0, with 16 bytes."""


@lru_cache(REMEMBERED_KEYS)
def commit_place(key: bytes) -> tuple[str, str, int] | None:
    """The group, topic and partition that a key names; None where it is no commit's, or cannot be read."""
    outcome = decode_key(key)
    place = outcome.value if isinstance(outcome, Decoded) else None
    if place is None or place.topic is None or place.partition is None:
        return None
    return place.group, place.topic, place.partition


def committed(key: bytes, value: bytes) -> tuple[int, int] | None:
    """The offset that was committed, and when (ms, by the coordinator's clock); None where the value cannot be read."""
    try:
        at = _time_at(value) if key[1] == _COMMIT else None
        if at is not None:
            return _INT64(value, 2)[0], _INT64(value, at)[0]
    except (IndexError, error):
        return None
    outcome = decode_record(key, value)
    if not isinstance(outcome, Decoded) or (held := outcome.value.value) is None:
        return None
    return held["offset"], held["commitTimestamp"]


def _time_at(value: bytes) -> int | None:
    """Where the time of the commit stands: behind offset, leader epoch and metadata. None in all but the usual forms.
    IndexError or struct.error where the value ends too soon."""
    version = value[0] << 8 | value[1]
    at = 14 if version >= _WITH_EPOCH else 10
    if version < _FLEXIBLE:
        size = _LENGTH(value, at)[0]
        end = at + 2 + size
        # Version 1 also says when the commit expires.
        return end if size <= wire.MAX_STRING_BYTES and len(value) >= end + (16 if version == 1 else 8) else None
    if version > _FLEXIBLE or not 0 < value[at] < _ONE_BYTE_VARINT:
        return None
    end = at + value[at]
    tags = value[end + 8 :]
    return end if tags == b"\x00" or (len(tags) == _TOPIC_ID_BYTES and tags[:3] == _TOPIC_ID) else None
