"""What the leader of a Kafka Streams group tells a thread: the user data of its assignment, versions 1 to 11.

Hand-written by Kafka's class `AssignmentInfo`. From version 5 on the host maps name topics by their number in a
dictionary; the dictionary and all maps stand in hash order, so no order of them means anything.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, cast

from . import wire
from .array_codecs import FLAT_PAIRS, array, row, rows
from .codecs import CHARS, INT32, INT64, MODIFIED_UTF8, Codec
from .errors import SchemaError, UnsupportedVersion, unreadable
from .frozen import maker
from .hand_written import HandWritten, Line, reader, writer
from .layouts import Release
from .outcomes import Decoded, Outcome
from .streams_subscription import NEWEST_RELEASE
from .streams_tasks import NEWEST_VERSION, NO_REBALANCE_MS, UNKNOWN_VERSION, StreamsTaskId, newest_version

# A topic is None where the number of a host map stands in no dictionary: Kafka reads a null name then.
OwnedPartitions: TypeAlias = tuple[tuple[str | None, int], ...]
Host: TypeAlias = tuple[str, int]
# Host, port, and its partitions: (topic, partition) up to version 4; from 5 on the number of a topic and a partition
# in turn, without a tuple for each of what may be thousands.
HostEntry: TypeAlias = tuple[str, int, tuple[tuple[str, int], ...] | tuple[int, ...]]

FIRST_WITH_DICTIONARY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentInfo:
    """Versions 1-11 as they stand on the wire; the methods give the maps they stand for.

    `active` has one entry for each assigned partition, so a task may stand in it several times. A warm-up looks like a
    standby. `commonly_supported` is -1 in versions 1 and 2. `next_rebalance_ms` is the leader's clock, 0 means at
    once, and 2^63-1 (also where the version lacks it) never.
    """

    version: int
    commonly_supported: int = UNKNOWN_VERSION
    active: tuple[StreamsTaskId, ...] = ()
    standby: tuple[tuple[StreamsTaskId, tuple[tuple[str, int], ...]], ...] = ()
    topics: tuple[tuple[int, str], ...] = ()
    hosts: tuple[HostEntry, ...] = ()
    standby_hosts: tuple[HostEntry, ...] = ()
    error: int = 0
    next_rebalance_ms: int = NO_REBALANCE_MS

    def standby_tasks(self) -> dict[StreamsTaskId, OwnedPartitions]:
        """Standby tasks and the source partitions of each, in wire order. Of two entries for one task the later
        counts."""
        return dict(self.standby)

    def partitions_by_host(self) -> dict[Host, OwnedPartitions]:
        """Where the partitions of active tasks are served."""
        return self._by_host(self.hosts)

    def standby_partitions_by_host(self) -> dict[Host, OwnedPartitions]:
        """Where the partitions of standby tasks are served."""
        return self._by_host(self.standby_hosts)

    def _by_host(self, entries: Iterable[HostEntry]) -> dict[Host, OwnedPartitions]:
        if self.version < FIRST_WITH_DICTIONARY:
            return {(host, port): cast(OwnedPartitions, found) for host, port, found in entries}
        names: dict[int, str] = dict(self.topics)
        return {
            (host, port): tuple(
                (names.get(number), partition) for number, partition in zip(found[::2], found[1::2], strict=True)
            )
            for host, port, found in cast(Iterable[tuple[str, int, tuple[int, ...]]], entries)
        }


_PARTITIONS = array(MODIFIED_UTF8, INT32, smallest=6)
# Readers before 4.3 took a negative number of hosts for none.
_COUNTS_CHECKED: Release = (4, 3)


def _host_lines(name: str, partitions: Codec, since: int, until: int) -> tuple[Line, Line]:
    tolerant = array(MODIFIED_UTF8, INT32, partitions, smallest=10, negative_is_empty=True)
    strict = array(MODIFIED_UTF8, INT32, partitions, smallest=10)
    return (
        Line(name, tolerant, since, until, (), dropped=_COUNTS_CHECKED),
        Line(name, strict, since, until, (), added=_COUNTS_CHECKED),
    )


ASSIGNMENT_INFO = HandWritten(
    "AssignmentInfo",
    newest=NEWEST_VERSION,
    lines=(
        Line("version", INT32),
        Line("commonly_supported", INT32, since=3, default=UNKNOWN_VERSION),
        Line("active", rows(INT32, INT32), until=9),
        Line("active", rows(INT32, INT32, name=CHARS), since=10),
        Line("standby", array(row(INT32, INT32), _PARTITIONS, smallest=12), until=9),
        Line("standby", array(row(INT32, INT32, name=CHARS), _PARTITIONS, smallest=16), since=10),
        Line("topics", array(INT32, MODIFIED_UTF8, smallest=6), since=FIRST_WITH_DICTIONARY, default=()),
        *_host_lines("hosts", _PARTITIONS, 2, FIRST_WITH_DICTIONARY - 1),
        *_host_lines("hosts", FLAT_PAIRS, FIRST_WITH_DICTIONARY, NEWEST_VERSION),
        *_host_lines("standby_hosts", FLAT_PAIRS, 6, NEWEST_VERSION),
        Line("error", INT32, since=4, default=0),
        Line("next_rebalance_ms", INT64, since=7, default=NO_REBALANCE_MS),
    ),
)

_make = maker(AssignmentInfo)


def decode_assignment_info(blob: bytes, *, release: Release = NEWEST_RELEASE) -> Outcome[AssignmentInfo]:
    """A Streams member's assignment as classes of `release` read it; a newer version than theirs is unreadable."""
    try:
        version, _ = wire.read_int32(blob, 0)
        if version > newest_version(release):
            raise UnsupportedVersion(version)
        fields, end = reader(ASSIGNMENT_INFO, version, release)(blob, 0)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(_make(*fields), len(blob) - end)


def encode_assignment_info(value: AssignmentInfo) -> bytes:
    """The bytes of `value` in its own version 1-11, everything in the order given. Raises SchemaError for a version
    nobody knows, one that can't name a topology, or a text that doesn't fit."""
    out = bytearray()
    writer(ASSIGNMENT_INFO, value.version, NEWEST_RELEASE)(
        out, {name: getattr(value, name) for name in ASSIGNMENT_INFO.names()}
    )
    return bytes(out)
