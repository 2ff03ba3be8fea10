"""Typed records of KIP-848, share and Streams groups, against records of Kafka's classes and of real brokers."""

from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from rebalance_monitor.schemas.coordinator_records import decode_record
from rebalance_monitor.schemas.group_records import EARLY_ACCESS, GroupRecord, decode_group_record
from rebalance_monitor.schemas.group_values import (
    AssignmentEpoch,
    ConsumerMember,
    Current,
    GroupEpoch,
    MemberState,
    ResolvedRegex,
    Target,
    TopicPartitions,
    UnknownState,
)
from rebalance_monitor.schemas.layouts import UNKNOWN_TAGS, Release, as_of
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Unreadable
from rebalance_monitor.schemas.record_layouts import VALUES
from rebalance_monitor.schemas.struct_writers import writer
from tests.vector_files import VECTORS, json_lines

# Only the early-access records have them, and nobody needs them.
LEFT_OUT = {"error", "metadataVersion", "metadataBytes", "assignors", UNKNOWN_TAGS}
EARLY_EPOCH = (4, "epoch")
TOPIC = bytes(range(16))
STATES = {MemberState.STABLE: 0, MemberState.UNREVOKED: 1, MemberState.UNRELEASED: 2}


def key(type_: int, member: str | None = None) -> bytes:
    raw = type_.to_bytes(2, "big") + b"\0\1g"
    return raw if member is None else raw + len(member).to_bytes(2, "big") + member.encode()


def bytes_of(type_: int, release: Release, values: dict[str, Any]) -> bytes:
    out = bytearray(b"\0\0")
    writer(as_of(VALUES[type_], release), 0)(out, values)
    return bytes(out)


def typed(type_: int, raw: bytes | None, *, member: str | None = None, release: Release | None = None) -> GroupRecord:
    outcome = decode_group_record(key(type_, member), raw, release)
    assert isinstance(outcome, Decoded), outcome
    assert outcome.remaining == 0
    return outcome.value


def vector_records() -> Iterator[tuple[bytes, bytes]]:
    for case in json_lines(VECTORS / "consumer" / "coordinator-wire.jsonl.gz"):
        if case["kind"] == "record" and case["input"].get("value") and case["input"].get("key"):
            yield b64decode(case["input"]["key"]), b64decode(case["input"]["value"])


def captured() -> Iterator[tuple[bytes, bytes | None]]:
    for line in json_lines(VECTORS / "captures-groups" / "kip848-a" / "records.jsonl.gz"):
        yield b64decode(line["key"]), None if line["value"] is None else b64decode(line["value"])


def leaves(value: Any, first_state: int = 0) -> Iterator[Any]:
    """Every text, number and id inside; what may stand for nothing is left out."""
    match value:
        case MemberState():
            yield from leaves(STATES[value] + first_state)
        case str() | bytes() | int() | None:
            if value not in (None, "", b"", 0, -1):
                yield value
        case Mapping():
            for name in value:
                # Random records have epochs that do not fit the partitions beside them.
                odd = name == "assignmentEpochs" and len(value[name] or ()) != len(value["partitions"])
                if name not in LEFT_OUT and not odd:
                    yield from leaves(value[name], first_state)
        case list() | tuple():
            for part in value:
                yield from leaves(part, first_state)
        case _:
            assert is_dataclass(value), type(value)
            for field in fields(value):
                yield from leaves(getattr(value, field.name), first_state)


def test_typed_values_hold_every_field_of_the_record() -> None:
    seen: Counter[int] = Counter()
    for raw_key, raw in vector_records():
        outcome = decode_group_record(raw_key, raw)
        if not isinstance(outcome, Decoded):
            continue
        record, plain = outcome.value, decode_record(raw_key, raw)
        assert isinstance(plain, Decoded)
        if isinstance(record.value, Current) and record.value.state is None:
            plain = decode_record(raw_key, raw, EARLY_ACCESS)
            assert isinstance(plain, Decoded)
        first_state = 1 if record.type == 22 else 0
        read = {name: value for name, value in (plain.value.fields or {}).items() if (record.type, name) != EARLY_EPOCH}
        assert Counter(leaves(record.value, first_state)) == Counter(leaves(read)), (record.type, raw.hex())
        seen[record.type] += 1
    assert set(seen) >= {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23}


def test_offset_commits_and_classic_groups_are_none_of_these() -> None:
    for type_ in (0, 1, 2):
        outcome = decode_group_record(key(type_) + b"\0\1t\0\0\0\1", None)
        assert outcome == Ignored(f"not a record of such a group: type {type_}")
    assert decode_group_record(key(77), b"") == Ignored("unknown_type 77")
    assert isinstance(decode_group_record(None, b""), Unreadable)


def test_a_real_brokers_records_are_read_to_the_end() -> None:
    seen: Counter[str] = Counter()
    for raw_key, raw in captured():
        outcome = decode_group_record(raw_key, raw)
        if isinstance(outcome, Ignored):
            continue
        assert isinstance(outcome, Decoded)
        assert (outcome.remaining, outcome.value.unknown_tags) == (0, 0)
        seen[type(outcome.value.value).__name__] += 1
    assert seen.keys() == {
        "GroupEpoch",
        "ConsumerMember",
        "AssignmentEpoch",
        "Target",
        "Current",
        "ResolvedRegex",
        "NoneType",
    }


def test_a_members_own_records() -> None:
    member = {
        "instanceId": "i", "rackId": None, "clientId": "c", "clientHost": "/h", "subscribedTopicNames": ["a", "b"],
        "subscribedTopicRegex": "", "rebalanceTimeoutMs": 8000, "serverAssignor": "range",
        "classicMemberMetadata": {"sessionTimeoutMs": 9, "supportedProtocols": [{"name": "p", "metadata": b"\1"}]},
    }  # fmt: skip
    record = typed(5, bytes_of(5, (4, 3), member), member="m")
    assert (record.group, record.member, record.type) == ("g", "m", 5)
    assert isinstance(record.value, ConsumerMember)
    assert (record.value.names, record.value.regex, record.value.server_assignor) == (("a", "b"), None, "range")
    assert record.value.classic is not None
    assert [one.metadata for one in record.value.classic.protocols] == [b"\1"]


def test_epochs_targets_and_regexes() -> None:
    assert typed(3, bytes_of(3, (4, 3), {"epoch": 7, "metadataHash": 9})).value == GroupEpoch(7, 9)
    assert typed(6, bytes_of(6, (4, 3), {"assignmentEpoch": 7, "assignmentTimestamp": 5})).value == AssignmentEpoch(
        7, 5
    )
    assert typed(6, bytes_of(6, (4, 0), {"assignmentEpoch": 7})).value == AssignmentEpoch(7, None)
    target = bytes_of(7, (4, 3), {"topicPartitions": [{"topicId": TOPIC, "partitions": [3, 1]}]})
    assert typed(7, target, member="m").value == Target((TopicPartitions(TOPIC, (3, 1)),))
    regex = typed(16, bytes_of(16, (4, 3), {"topics": ["a"], "version": 4, "timestamp": 5}), member="a.*")
    assert (regex.member, regex.value) == ("a.*", ResolvedRegex(("a",), 4, 5))
    assert typed(7, None, member="m").value is None


def current(state: int, epochs: list[int] | None) -> bytes:
    assigned = [{"topicId": TOPIC, "partitions": [3, 1], "assignmentEpochs": epochs}]
    values = {"memberEpoch": 4, "previousMemberEpoch": 3, "state": state, "assignedPartitions": assigned}
    return bytes_of(8, (4, 3), {**values, "partitionsPendingRevocation": []})


@pytest.mark.parametrize(
    ("code", "state"), [(0, MemberState.STABLE), (1, MemberState.UNREVOKED), (2, MemberState.UNRELEASED)]
)
def test_states_of_a_member(code: int, state: MemberState) -> None:
    value = typed(8, current(code, [4, 2]), member="m").value
    assert value == Current(epoch=4, previous_epoch=3, state=state, assigned=(TopicPartitions(TOPIC, (3, 1), (4, 2)),))


def test_a_state_nobody_knows_and_epochs_that_do_not_fit_the_partitions() -> None:
    value = typed(8, current(9, [4]), member="m").value
    assert isinstance(value, Current)
    assert value.state == UnknownState(9)
    assert value.assigned == (TopicPartitions(TOPIC, (3, 1), None),)


def test_the_early_access_record_has_no_state() -> None:
    partitions = [{"topicId": TOPIC, "partitions": [1]}]
    raw = bytes_of(
        8, EARLY_ACCESS,
        {
            "memberEpoch": 4, "previousMemberEpoch": 3, "targetMemberEpoch": 5, "assignedPartitions": partitions,
            "partitionsPendingRevocation": [], "partitionsPendingAssignment": partitions, "error": 0,
            "metadataVersion": 0, "metadataBytes": b"",
        },
    )  # fmt: skip
    for release in (None, EARLY_ACCESS):
        value = typed(8, raw, member="m", release=release).value
        assert isinstance(value, Current)
        assert (value.state, value.target_epoch) == (None, 5)
        assert value.pending_assignment == (TopicPartitions(TOPIC, (1,)),)


def test_streams_members_have_states_of_their_own_numbers() -> None:
    roles = ("activeTasks", "standbyTasks", "warmupTasks")
    lists: dict[str, Any] = {name: [] for role in roles for name in (role, f"{role}PendingRevocation")}
    raw = bytes_of(22, (4, 3), {"memberEpoch": 4, "previousMemberEpoch": 3, "state": 3, **lists})
    record = typed(22, raw, member="m")
    assert getattr(record.value, "state", None) is MemberState.UNRELEASED
