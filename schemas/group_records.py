"""Records of KIP-848, share and Streams groups (types 3 to 24 but the classic ones) as typed values.

`decode_group_record` reads key and value; a tombstone's value is None. Layouts that changed without a new version are
tried as `schemas.coordinator_records` does. A current assignment whose state no release knows is also tried as the
early-access record, which has another layout under the same version.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from . import group_readers, streams_readers
from .coordinator_records import Record, decode_record
from .group_readers import FieldValues
from .group_values import (
    AssignmentEpoch,
    ConsumerMember,
    Current,
    GroupEpoch,
    PartitionMetadata,
    ResolvedRegex,
    ShareMember,
    ShareStates,
    Target,
)
from .layouts import Release
from .outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from .streams_values import ResolvedTopics, StreamsCurrent, StreamsEpoch, StreamsMember, StreamsTarget, Topology

Value: TypeAlias = (
    GroupEpoch
    | PartitionMetadata
    | ConsumerMember
    | ShareMember
    | AssignmentEpoch
    | Target
    | Current
    | ResolvedRegex
    | ShareStates
    | StreamsEpoch
    | StreamsMember
    | StreamsTarget
    | StreamsCurrent
    | Topology
    | ResolvedTopics
)

EARLY_ACCESS: Release = (3, 7)
_CURRENT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """One record. `member` is the regular expression for type 16 and None where the key names none.

    `value` is None for a tombstone. `unknown_tags` counts tagged fields that nobody has described.
    """

    type: int
    group: str
    member: str | None
    value: Value | None
    unknown_tags: int = 0


def decode_group_record(key: bytes | None, value: bytes | None, release: Release | None = None) -> Outcome[GroupRecord]:
    """The record as brokers of `release` read it, or by trial where none is given.

    `Ignored` for offset commits, classic groups and unknown types; `remaining` counts the value's bytes left over.
    """
    outcome = decode_record(key, value, release)
    match outcome:
        case Decoded(record):
            read = _READERS.get(record.type)
            if read is None:
                return Ignored(f"not a record of such a group: type {record.type}")
            if release is None and _odd_state(record):
                record = _as_early_access(key, value, record)
            return _typed(record, read)
        case Tombstone() | Ignored() | Unreadable():
            return outcome
        case _:
            assert_never(outcome)


def _odd_state(record: Record) -> bool:
    fields = record.fields
    return record.type == _CURRENT and fields is not None and fields.get("state", 0) not in group_readers.STATES


def _as_early_access(key: bytes | None, value: bytes | None, record: Record) -> Record:
    early = decode_record(key, value, EARLY_ACCESS)
    return early.value if isinstance(early, Decoded) and early.value.value_remaining == 0 else record


def _typed(record: Record, read: Callable[[FieldValues], Value]) -> Outcome[GroupRecord]:
    typed = GroupRecord(
        type=record.type,
        group=record.key["groupId"],
        member=record.key.get("memberId", record.key.get("regularExpression")),
        value=None if record.fields is None else read(record.fields),
        unknown_tags=len(record.unknown_tags),
    )
    return Decoded(typed, record.value_remaining)


_READERS: Mapping[int, Callable[[FieldValues], Value]] = {
    3: group_readers.read_group_epoch,
    4: group_readers.read_metadata,
    5: group_readers.read_consumer_member,
    6: group_readers.read_assignment_epoch,
    7: group_readers.read_target,
    _CURRENT: group_readers.read_current,
    9: group_readers.read_metadata,
    10: group_readers.read_share_member,
    11: group_readers.read_group_epoch,
    12: group_readers.read_assignment_epoch,
    13: group_readers.read_target,
    14: group_readers.read_current,
    15: group_readers.read_share_states,
    16: group_readers.read_regex,
    17: streams_readers.read_streams_epoch,
    18: group_readers.read_metadata,
    19: streams_readers.read_streams_member,
    20: group_readers.read_assignment_epoch,
    21: streams_readers.read_streams_target,
    22: streams_readers.read_streams_current,
    23: streams_readers.read_topology,
    24: streams_readers.read_resolved_topics,
}
