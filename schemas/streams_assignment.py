"""What the leader of a Kafka Streams group tells a thread: the user data of its assignment, versions 1 to 11.

Hand-written by Kafka's class `AssignmentInfo`. From version 5 on the host maps name topics by their number in a
dictionary; the dictionary and all maps stand in hash order, so no order of them means anything.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from schemas import wire
from schemas.codecs import (
    CHARS,
    INT32,
    INT64,
    MODIFIED_UTF8,
    Codec,
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
from schemas.errors import NotInVersion, SchemaError, UnsupportedVersion, unreadable
from schemas.outcomes import Decoded, Outcome
from schemas.streams_subscription import NEWEST_RELEASE
from schemas.streams_tasks import NEWEST_VERSION, NO_REBALANCE_MS, UNKNOWN_VERSION, TaskId, newest_version
from schemas.structs import Release, Values

# A topic is None where the number of a host map stands in no dictionary: Kafka reads a null name then.
Partitions: TypeAlias = tuple[tuple[str | None, int], ...]
Host: TypeAlias = tuple[str, int]

_FIRST_WITH_DICTIONARY = 5
_FIRST_WITH_NAMES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentInfo:
    """Versions 1-11. `active` has one entry for each assigned partition, so a task may stand in it several times; a
    warm-up looks like a standby. Partitions keep wire order and repeats. Of two entries for one key the later counts.

    `commonly_supported` is -1 in versions 1 and 2. `next_rebalance_ms` is the leader's clock, 0 means at once, and
    2^63-1 (also where the version lacks it) never.
    """

    version: int
    commonly_supported: int = UNKNOWN_VERSION
    active: tuple[TaskId, ...] = ()
    standby: Mapping[TaskId, Partitions] = field(default_factory=dict)
    by_host: Mapping[Host, Partitions] = field(default_factory=dict)
    standby_by_host: Mapping[Host, Partitions] = field(default_factory=dict)
    error: int = 0
    next_rebalance_ms: int = NO_REBALANCE_MS


_PARTITIONS = array(MODIFIED_UTF8, INT32, smallest=6)
_NUMBERED = rows(INT32, INT32)
# Readers before 4.3 took a negative number of hosts for none.
_COUNTS_CHECKED: Release = (4, 3)


def _hosts(partitions: Codec, *, negative_is_empty: bool) -> Codec:
    return array(MODIFIED_UTF8, INT32, partitions, smallest=10, negative_is_empty=negative_is_empty)


def _host_lines(name: str, partitions: Codec, since: int, until: int) -> tuple[Line, Line]:
    return (
        Line(name, _hosts(partitions, negative_is_empty=True), since, until, dropped=_COUNTS_CHECKED),
        Line(name, _hosts(partitions, negative_is_empty=False), since, until, added=_COUNTS_CHECKED),
    )


ASSIGNMENT_INFO = HandWritten(
    "AssignmentInfo",
    newest=NEWEST_VERSION,
    lines=(
        Line("version", INT32),
        Line("commonlySupportedVersion", INT32, since=3),
        Line("activeTasks", rows(INT32, INT32), until=9),
        Line("activeTasks", named_rows(INT32, INT32, CHARS), since=10),
        Line("standbyTasks", array(INT32, INT32, _PARTITIONS, smallest=12), until=9),
        Line("standbyTasks", array(INT32, INT32, CHARS, _PARTITIONS, smallest=16), since=10),
        *_host_lines("partitionsByHost", _PARTITIONS, 2, 4),
        Line("topicDictionary", array(INT32, MODIFIED_UTF8, smallest=6), since=5),
        *_host_lines("partitionsByHost", _NUMBERED, 5, NEWEST_VERSION),
        *_host_lines("standbyPartitionsByHost", _NUMBERED, 6, NEWEST_VERSION),
        Line("errorCode", INT32, since=4),
        Line("nextRebalanceMs", INT64, since=7),
    ),
)


def decode_assignment_info(blob: bytes, *, release: Release = NEWEST_RELEASE) -> Outcome[AssignmentInfo]:
    """A Streams member's assignment as classes of `release` read it; a newer version than theirs is unreadable."""
    try:
        version, _ = wire.read_int32(blob, 0)
        if version > newest_version(release):
            raise UnsupportedVersion(version)
        fields, end = reader(ASSIGNMENT_INFO, version, release)(blob, 0)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(_value(version, fields), len(blob) - end)


def _value(version: int, fields: Values) -> AssignmentInfo:
    active, standby = fields["activeTasks"], fields["standbyTasks"]
    topics: dict[int, str] = dict(fields.get("topicDictionary", ()))
    numbered = version >= _FIRST_WITH_DICTIONARY
    return AssignmentInfo(
        version=version,
        commonly_supported=fields.get("commonlySupportedVersion", UNKNOWN_VERSION),
        active=tuple(active if version >= _FIRST_WITH_NAMES else [(s, p, None) for s, p in active]),
        standby=(
            {(s, p, name): tuple(found) for s, p, name, found in standby}
            if version >= _FIRST_WITH_NAMES
            else {(s, p, None): tuple(found) for s, p, found in standby}
        ),
        by_host=_by_host(fields.get("partitionsByHost", ()), topics if numbered else None),
        standby_by_host=_by_host(fields.get("standbyPartitionsByHost", ()), topics),
        error=fields.get("errorCode", 0),
        next_rebalance_ms=fields.get("nextRebalanceMs", NO_REBALANCE_MS),
    )


def _by_host(entries: Sequence[Row], topics: Mapping[int, str] | None) -> dict[Host, Partitions]:
    if topics is None:
        return {(host, port): tuple(found) for host, port, found in entries}
    topic = topics.get
    return {(host, port): tuple([(topic(number), p) for number, p in found]) for host, port, found in entries}


def encode_assignment_info(value: AssignmentInfo, dictionary: Mapping[str, int] | None = None) -> bytes:
    """The bytes of `value` in its own version 1-11, everything in the order given.

    `dictionary` numbers every topic of the host maps and gives the order in which the entries are written; without it
    topics are numbered as they come. Raises SchemaError for a version nobody knows, one that can't name a topology,
    or a text that doesn't fit.
    """
    named = value.version >= _FIRST_WITH_NAMES
    numbers: Mapping[str | None, int] | None = None
    if value.version >= _FIRST_WITH_DICTIONARY:
        numbers = _numbers(value) if dictionary is None else dict(dictionary.items())
    tasks = list(value.standby) if named else unnamed(value.standby)
    standby = [(*task, found) for task, found in zip(tasks, value.standby.values(), strict=True)]
    fields: Values = {
        "version": value.version,
        "commonlySupportedVersion": value.commonly_supported,
        "activeTasks": value.active if named else unnamed(value.active),
        "standbyTasks": standby,
        "topicDictionary": [(number, topic) for topic, number in (numbers or {}).items()],
        "partitionsByHost": _host_entries(value.by_host, numbers),
        "standbyPartitionsByHost": _host_entries(value.standby_by_host, numbers),
        "errorCode": value.error,
        "nextRebalanceMs": value.next_rebalance_ms,
    }
    out = bytearray()
    writer(ASSIGNMENT_INFO, value.version, NEWEST_RELEASE)(out, fields)
    return bytes(out)


def _numbers(value: AssignmentInfo) -> dict[str | None, int]:
    maps: tuple[Mapping[Host, Partitions], ...] = (value.by_host, value.standby_by_host)
    topics: Iterable[str | None] = (t for hosts in maps for found in hosts.values() for t, _ in found)
    return {topic: number for number, topic in enumerate(dict.fromkeys(topics)) if topic is not None}


def _host_entries(hosts: Mapping[Host, Partitions], numbers: Mapping[str | None, int] | None) -> list[Row]:
    if numbers is None:
        if any(topic is None for found in hosts.values() for topic, _ in found):
            raise NotInVersion("a topic without name")
        return [(*host, list(found)) for host, found in hosts.items()]
    return [(*host, [(numbers.get(topic, -1), p) for topic, p in found]) for host, found in hosts.items()]
