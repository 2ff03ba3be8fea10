"""What a Kafka Streams thread tells the leader: the user data of its subscription, versions 1 to 11.

The version stands in front; of a version newer than the reader's own only it and the newest version the member
supports are read, which is how old leaders live with new members (version probing). Described by KIP-441 and Kafka's
message `SubscriptionInfoData`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from schemas import wire
from schemas.codecs import (
    BYTES,
    INT8,
    INT32,
    INT64,
    NAME,
    UUID,
    HandWritten,
    Line,
    Row,
    array,
    named_rows,
    reader,
    rows,
    unnamed,
    writer,
)
from schemas.errors import ContradictingFields, SchemaError, UnsupportedVersion, unreadable
from schemas.java_text import decode_utf8, encode_utf8
from schemas.outcomes import Decoded, Outcome
from schemas.streams_tasks import (
    NEWEST_VERSION,
    RUNNING,
    STANDBY_OF_UNKNOWN_SUM,
    UNKNOWN_VERSION,
    TaskId,
    newest_version,
)
from schemas.structs import Release, Values

NEWEST_RELEASE: Release = (4, 3)
_FIRST_WITH_SUMS = 7
_FIRST_WITH_NAMES = 10
_LAST_WITHOUT_SUPPORTED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionInfo:
    """Versions 1-11. Versions up to 6 list tasks, later ones their offset sums; ask `sums` for either.

    `latest_supported` is -1 in versions 1 and 2. `process_id` is 16 bytes, zero for a version newer than the reader's.
    An offset sum of -2 marks a running active task. `unique` is a signed byte that makes each re-join differ.
    """

    version: int
    latest_supported: int = UNKNOWN_VERSION
    process_id: bytes = bytes(16)
    previous_tasks: tuple[TaskId, ...] = ()
    standby_tasks: tuple[TaskId, ...] = ()
    end_point: str | None = None
    offset_sums: Mapping[TaskId, int] = field(default_factory=dict)
    unique: int = 0
    error: int = 0
    client_tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def sums(self) -> Mapping[TaskId, int]:
        """Offset sum of every reported task; of versions without sums -2 (was active) or -3 (was standby)."""
        if self.version >= _FIRST_WITH_SUMS:
            return self.offset_sums
        return {**dict.fromkeys(self.previous_tasks, RUNNING), **dict.fromkeys(self.standby_tasks, _STANDBY)}

    @property
    def was_active(self) -> tuple[TaskId, ...]:
        """Tasks the member ran as active."""
        if self.version < _FIRST_WITH_SUMS:
            return self.previous_tasks
        return tuple(task for task, total in self.offset_sums.items() if total == RUNNING)

    @property
    def was_standby(self) -> tuple[TaskId, ...]:
        """All other tasks of which it has state."""
        if self.version < _FIRST_WITH_SUMS:
            return self.standby_tasks
        return tuple(task for task, total in self.offset_sums.items() if total != RUNNING)


_STANDBY = STANDBY_OF_UNKNOWN_SUM
_TASKS = rows(INT32, INT32)

SUBSCRIPTION_INFO = HandWritten(
    "SubscriptionInfo",
    newest=NEWEST_VERSION,
    lines=(
        Line("version", INT32),
        Line("latestSupportedVersion", INT32, since=3),
        Line("processId", UUID),
        Line("prevTasks", _TASKS, until=6),
        Line("standbyTasks", _TASKS, until=6),
        Line("userEndPoint", BYTES, since=2),
        Line("taskOffsetSums", array(INT32, rows(INT32, INT64), smallest=8), since=7, until=9),
        Line("taskOffsetSums", named_rows(INT32, INT32, INT64, NAME), since=10),
        Line("uniqueField", INT8, since=8),
        Line("errorCode", INT32, since=9),
        Line("clientTags", array(BYTES, BYTES, smallest=8), since=11),
    ),
)


def decode_subscription_info(blob: bytes, *, release: Release = NEWEST_RELEASE) -> Outcome[SubscriptionInfo]:
    """A Streams member's user data as classes of `release` read it."""
    try:
        version, _ = wire.read_int32(blob, 0)
        if version > newest_version(release):
            latest, end = wire.read_int32(blob, 4)
            value = SubscriptionInfo(version=version, latest_supported=latest)
        else:
            fields, end = reader(SUBSCRIPTION_INFO, version, release)(blob, 0)
            value = _value(version, fields)
        _check_versions(value.version, value.latest_supported)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(value, len(blob) - end)


def _check_versions(version: int, latest: int) -> None:
    """Only versions 1 and 2 may leave the newest supported version unknown; no member uses more than it supports."""
    if not 1 <= version <= (_LAST_WITHOUT_SUPPORTED if latest == UNKNOWN_VERSION else latest):
        raise ContradictingFields(f"version {version} with {latest} as the newest supported")


def _value(version: int, fields: Values) -> SubscriptionInfo:
    end_point = fields.get("userEndPoint")
    return SubscriptionInfo(
        version=version,
        latest_supported=fields.get("latestSupportedVersion", UNKNOWN_VERSION),
        process_id=fields["processId"],
        previous_tasks=tuple([(s, p, None) for s, p in fields.get("prevTasks", ())]),
        standby_tasks=tuple([(s, p, None) for s, p in fields.get("standbyTasks", ())]),
        end_point=decode_utf8(end_point) if end_point else None,
        offset_sums=_sums(version, fields.get("taskOffsetSums", ())),
        unique=fields.get("uniqueField", 0),
        error=fields.get("errorCode", 0),
        client_tags=_tags(fields.get("clientTags", ())),
    )


def _sums(version: int, entries: Sequence[Row]) -> dict[TaskId, int]:
    if version >= _FIRST_WITH_NAMES:
        return {(s, p, name): total for s, p, total, name in entries}
    return {(s, p, None): total for s, partitions in entries for p, total in partitions}


def _tags(entries: list[tuple[bytes, bytes]]) -> dict[str, str]:
    tags = {decode_utf8(key): decode_utf8(value) for key, value in entries}
    if len(tags) < len(entries):
        raise ContradictingFields("a client tag is given twice")
    return tags


def encode_subscription_info(value: SubscriptionInfo) -> bytes:
    """The bytes of `value` in its own version 1-11, tasks in the order given. Raises SchemaError for a version nobody
    knows or one that can't name a topology."""
    _check_versions(value.version, value.latest_supported)
    if value.version > NEWEST_VERSION:
        raise UnsupportedVersion(value.version)
    fields: Values = {
        "version": value.version,
        "latestSupportedVersion": value.latest_supported,
        "processId": value.process_id,
        "prevTasks": unnamed(value.previous_tasks),
        "standbyTasks": unnamed(value.standby_tasks),
        "userEndPoint": encode_utf8(value.end_point or ""),
        "taskOffsetSums": _sum_entries(value),
        "uniqueField": value.unique,
        "errorCode": value.error,
        "clientTags": [(encode_utf8(key), encode_utf8(text)) for key, text in value.client_tags.items()],
    }
    out = bytearray()
    writer(SUBSCRIPTION_INFO, value.version, NEWEST_RELEASE)(out, fields)
    return bytes(out)


def _sum_entries(value: SubscriptionInfo) -> list[Row]:
    if value.version >= _FIRST_WITH_NAMES:
        return [(s, p, total, name) for (s, p, name), total in value.offset_sums.items()]
    unnamed(value.offset_sums)
    by_subtopology: dict[int, list[tuple[int, int]]] = {}
    for (subtopology, partition, _), total in value.offset_sums.items():
        by_subtopology.setdefault(subtopology, []).append((partition, total))
    return list(by_subtopology.items())
