"""What a Kafka Streams thread tells the leader: the user data of its subscription, versions 1 to 11.

The version stands in front; of a version newer than the reader's own only it and the newest version the member
supports are read, which is how old leaders live with new members (version probing). Described by KIP-441 and Kafka's
message `SubscriptionInfoData`.
"""

from dataclasses import dataclass
from typing import TypeAlias

from . import wire
from .array_codecs import array, grouped_rows, rows
from .codecs import INT8, INT32, INT64, NAME, UTF8, UUID
from .errors import ContradictingFields, SchemaError, UnsupportedVersion, unreadable
from .frozen import maker
from .hand_written import HandWritten, Line, reader, writer
from .layouts import Release
from .outcomes import Decoded, Outcome
from .streams_tasks import (
    NEWEST_VERSION,
    RUNNING,
    STANDBY_OF_UNKNOWN_SUM,
    UNKNOWN_VERSION,
    StreamsTaskId,
    newest_version,
)

# Subtopology, partition, offset sum, and the topology's name if it has one.
OffsetSum: TypeAlias = tuple[int, int, int] | tuple[int, int, int, str]

NEWEST_RELEASE: Release = (4, 3)
_FIRST_WITH_SUMS = 7
_LAST_WITHOUT_SUPPORTED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionInfo:
    """Versions 1-11 as they stand on the wire. Versions up to 6 list tasks, later ones their offset sums; the methods
    answer for either.

    `latest_supported` is -1 in versions 1 and 2. `process_id` is 16 bytes, zero for a version newer than the reader's.
    `end_point` is "host:port" or empty. `unique` is a signed byte that makes each re-join differ.
    """

    version: int
    latest_supported: int = UNKNOWN_VERSION
    process_id: bytes = bytes(16)
    previous_tasks: tuple[StreamsTaskId, ...] = ()
    standby_tasks: tuple[StreamsTaskId, ...] = ()
    end_point: str = ""
    offset_sums: tuple[OffsetSum, ...] = ()
    unique: int = 0
    error: int = 0
    client_tags: tuple[tuple[str, str], ...] = ()

    def sums(self) -> dict[StreamsTaskId, int]:
        """Offset sum of every reported task; -2 marks a running active one, -3 a standby of versions without sums. Of
        two entries for one task the later counts."""
        if self.version >= _FIRST_WITH_SUMS:
            return {(row[0], row[1], row[3]) if len(row) > 3 else row[:2]: row[2] for row in self.offset_sums}
        return {**dict.fromkeys(self.previous_tasks, RUNNING), **dict.fromkeys(self.standby_tasks, _STANDBY)}

    def was_active(self) -> tuple[StreamsTaskId, ...]:
        """Tasks the member ran as active."""
        if self.version < _FIRST_WITH_SUMS:
            return tuple(dict.fromkeys(self.previous_tasks))
        return tuple(task for task, total in self.sums().items() if total == RUNNING)

    def was_standby(self) -> tuple[StreamsTaskId, ...]:
        """All other tasks of which it has state."""
        if self.version < _FIRST_WITH_SUMS:
            return tuple(dict.fromkeys(self.standby_tasks))
        return tuple(task for task, total in self.sums().items() if total != RUNNING)


_STANDBY = STANDBY_OF_UNKNOWN_SUM
_TASKS = rows(INT32, INT32)

SUBSCRIPTION_INFO = HandWritten(
    "SubscriptionInfo",
    newest=NEWEST_VERSION,
    lines=(
        Line("version", INT32),
        Line("latest_supported", INT32, since=3, default=UNKNOWN_VERSION),
        Line("process_id", UUID),
        Line("previous_tasks", _TASKS, until=6, default=()),
        Line("standby_tasks", _TASKS, until=6, default=()),
        Line("end_point", UTF8, since=2, default=""),
        Line("offset_sums", grouped_rows(INT32, INT32, INT64), since=7, until=9, default=()),
        Line("offset_sums", rows(INT32, INT32, INT64, name=NAME), since=10, default=()),
        Line("unique", INT8, since=8, default=0),
        Line("error", INT32, since=9, default=0),
        Line("client_tags", array(UTF8, UTF8, smallest=8), since=11, default=()),
    ),
)

_make = maker(SubscriptionInfo)


def decode_subscription_info(blob: bytes, *, release: Release = NEWEST_RELEASE) -> Outcome[SubscriptionInfo]:
    """A Streams member's user data as classes of `release` read it."""
    try:
        version, _ = wire.read_int32(blob, 0)
        if version > newest_version(release):
            latest, end = wire.read_int32(blob, 4)
            value = SubscriptionInfo(version=version, latest_supported=latest)
        else:
            fields, end = reader(SUBSCRIPTION_INFO, version, release)(blob, 0)
            value = _make(*fields)
        _check(value)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(value, len(blob) - end)


def _check(value: SubscriptionInfo) -> None:
    """Only versions 1 and 2 may leave the newest supported version unknown; no member uses more than it supports; a
    client tag has one value."""
    version, latest = value.version, value.latest_supported
    if not 1 <= version <= (_LAST_WITHOUT_SUPPORTED if latest == UNKNOWN_VERSION else latest):
        raise ContradictingFields(f"version {version} with {latest} as the newest supported")
    if len(value.client_tags) > 1 and len(dict(value.client_tags)) < len(value.client_tags):
        raise ContradictingFields("a client tag is given twice")


def encode_subscription_info(value: SubscriptionInfo) -> bytes:
    """The bytes of `value` in its own version 1-11, tasks in the order given. Raises SchemaError for a version nobody
    knows or one that can't name a topology."""
    _check(value)
    if value.version > NEWEST_VERSION:
        raise UnsupportedVersion(value.version)
    out = bytearray()
    writer(SUBSCRIPTION_INFO, value.version, NEWEST_RELEASE)(
        out, {name: getattr(value, name) for name in SUBSCRIPTION_INFO.names()}
    )
    return bytes(out)
