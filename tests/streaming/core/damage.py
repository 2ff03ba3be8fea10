"""Damaged captures: a stretch of a real capture with bytes and records changed, one seed for each.

What is damaged: blobs of members and values of config and status records (cut, emptied, flipped, another's, nonsense
that is valid JSON), fields of group records, whole records (dropped, doubled, swapped, dated otherwise, another key).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

from rebalance_monitor.schemas.connect_protocol import (
    ConnectAssignment,
    Entries,
    decode_assignment,
    decode_worker_state,
    encode_assignment,
    encode_worker_state,
)
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import decode_group_metadata, encode_group_metadata
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord
from tests.vector_files import VECTORS

CLASSIC_KEY = b"\x00\x02"
GROUP_RECORDS = 14
"""Group records in a stretch."""
NUMBERS = (-1, -(2**31), 2**31 - 1, 0, 1, 2**15, 1_000_000)
OFFSETS = (-1, -(2**63), 2**63 - 1, 0, 1, 7)
NAMES = ("", "\x00", "a" * 5_000, "é\ud7ff", "{", "connect-1", "c", "http://host:8083/", "http://[::1", "NOTUSED", "//")

URLS = (*NAMES, "http://[host:8083/", "http://h\u2100t:8083", "http://h:x/", "HTTP://A:1/", "http://\x00:1/", "\ud7ff")


@dataclass(frozen=True, slots=True)
class Damaged:
    """The records as they lie in their topics, and what was done to them."""

    settings: ClusterSettings
    records: tuple[RawRecord, ...]
    done: tuple[str, ...]


@cache
def capture(folder: str, name: str) -> tuple[ClusterSettings, tuple[RawRecord, ...]]:
    path = VECTORS / folder / name
    known = settings_of(path)
    records = [one for one in records_of(path) if one.topic != OFFSETS_TOPIC or (one.key or b"")[:2] == CLASSIC_KEY]
    return known, tuple(sorted(records, key=lambda one: one.timestamp_ms))


@cache
def names() -> tuple[tuple[str, str], ...]:
    """Every capture with classic groups; Connect clusters count three times."""
    connect = [("captures", path.name) for path in sorted((VECTORS / "captures").iterdir()) if path.is_dir()]
    return (*connect * 3, ("captures-groups", "java-classic"), ("captures-groups", "python-clients"))


def stretch(dice: Random) -> tuple[ClusterSettings, list[RawRecord]]:
    """Some group records in a row and what was written with them, and all config records before."""
    known, records = capture(*dice.choice(names()))
    rounds = [at for at, one in enumerate(records) if one.topic == OFFSETS_TOPIC]
    first = dice.randrange(max(1, len(rounds) - GROUP_RECORDS))
    start, end = rounds[first], rounds[min(first + GROUP_RECORDS, len(rounds) - 1)]
    configs = {one.config_topic for one in known.connect.values()}
    kept = [one for at, one in enumerate(records[: end + 1]) if at >= start or one.topic in configs]
    return known, kept


def damaged(seed: int) -> Damaged:
    """One to eight damages to a stretch of a capture."""
    dice = Random(seed)
    known, records = stretch(dice)
    done = []
    for _ in range(dice.choice((1, 1, 2, 3, 5, 8))):
        damage = dice.choice(DAMAGES)
        done.append(damage.__name__)
        damage(records, dice)
    return Damaged(known, tuple(records), tuple(done))


def spoilt(raw: bytes, dice: Random, others: Sequence[bytes] = ()) -> bytes:
    """The bytes cut, emptied, flipped, lengthened, repeated, or another's."""
    if not raw:
        return dice.randbytes(dice.randrange(12))
    at = dice.randrange(len(raw))
    match dice.randrange(7):
        case 0:
            return raw[:at]
        case 1:
            return b""
        case 2:
            return raw[:at] + bytes([raw[at] ^ 1 << dice.randrange(8)]) + raw[at + 1 :]
        case 3:
            return raw + raw[at:]
        case 4:
            return raw[:at] + dice.randbytes(4) + raw[at + 4 :]
        case 5:
            return raw[:at] + raw[at + 1 :]
        case _:
            return dice.choice(others) if others else raw[::-1]


def members(change: Callable[[GroupMember, Random, Sequence[GroupMember]], GroupMember], count: int) -> Any:
    """A damage to up to `count` members of one group record."""

    def damage(records: list[RawRecord], dice: Random) -> None:
        def changed(group: GroupMetadata) -> GroupMetadata:
            listed = list(group.members)
            for _ in range(dice.randint(1, count)):
                if listed:
                    at = dice.randrange(len(listed))
                    listed[at] = change(listed[at], dice, group.members)
            return replace(group, members=tuple(listed))

        in_group_record(records, dice, changed)

    damage.__name__ = change.__name__
    return damage


def in_group_record(records: list[RawRecord], dice: Random, change: Callable[[GroupMetadata], GroupMetadata]) -> None:
    places = [at for at, one in enumerate(records) if one.topic == OFFSETS_TOPIC and one.value]
    if not places:
        return
    at = dice.choice(places)
    read = decode_group_metadata(records[at].value)
    if isinstance(read, Decoded):
        records[at] = replace(records[at], value=encode_group_metadata(change(read.value)))


def subscription(member: GroupMember, dice: Random, all_of: Sequence[GroupMember]) -> GroupMember:
    return replace(member, subscription=spoilt(member.subscription, dice, [other.subscription for other in all_of]))


def assignment(member: GroupMember, dice: Random, all_of: Sequence[GroupMember]) -> GroupMember:
    return replace(member, assignment=spoilt(member.assignment, dice, [other.assignment for other in all_of]))


def emptied_both(member: GroupMember, dice: Random, all_of: Sequence[GroupMember]) -> GroupMember:
    return replace(member, subscription=b"", assignment=b"")


def emptied_assignment(member: GroupMember, dice: Random, all_of: Sequence[GroupMember]) -> GroupMember:
    return replace(member, assignment=b"")


def rewritten_state(member: GroupMember, dice: Random, all_of: Sequence[GroupMember]) -> GroupMember:
    """A worker's report that is sound, and says what no worker says."""
    read = decode_worker_state(member.subscription)
    if not isinstance(read, Decoded):
        return member
    state, allocation = read.value, read.value.allocation
    odd = dice.randrange(4)
    if odd == 0:
        state = replace(state, url=dice.choice(URLS))
    elif odd == 1:
        state = replace(state, config_offset=dice.choice(OFFSETS))
    elif odd == 2 or allocation is None:
        state = replace(state, allocation=None)
    else:
        state = replace(state, allocation=odd_answer(allocation, dice))
    entries = ((), ()) if state.allocation is None else entries_of(state.allocation)
    return replace(member, subscription=encode_worker_state(state, *entries))


def rewritten_answer(member: GroupMember, dice: Random, all_of: Sequence[GroupMember]) -> GroupMember:
    """An assignment that is sound, and says what no leader says."""
    read = decode_assignment(member.assignment)
    if not isinstance(read, Decoded):
        return member
    answer = odd_answer(read.value, dice)
    return replace(member, assignment=encode_assignment(answer, *entries_of(answer)))


def odd_answer(answer: ConnectAssignment, dice: Random) -> ConnectAssignment:
    task = (dice.choice((*NAMES, "c")), dice.choice(NUMBERS))
    changes: dict[str, Any] = dice.choice(
        (
            {"leader": dice.choice(NAMES)},
            {"leader_url": dice.choice(URLS)},
            {"config_offset": dice.choice(OFFSETS)},
            {"delay_ms": dice.choice(NUMBERS)},
            {"error": dice.choice((-1, 1, 2, 32_767))},
            {"connectors": (*answer.connectors, dice.choice(NAMES))},
            {"tasks": (*answer.tasks, task)},
            {"revoked_tasks": (*answer.revoked_tasks, *answer.tasks[:2], task)},
            {"revoked_connectors": (*answer.revoked_connectors, *answer.connectors)},
            {"tasks": (), "connectors": ()},
        )
    )
    return replace(answer, **changes)


def entries_of(answer: ConnectAssignment) -> tuple[Entries, Entries]:
    """Its jobs as they are written: connectors as task -1, one entry each."""
    return (
        (*((name, (-1,)) for name in answer.connectors), *((name, (task,)) for name, task in answer.tasks)),
        (*((name, (-1,)) for name in answer.revoked_connectors), *((name, (at,)) for name, at in answer.revoked_tasks)),
    )


def renamed(member: GroupMember, dice: Random, all_of: Sequence[GroupMember]) -> GroupMember:
    name = dice.choice((*NAMES, *(other.member_id for other in all_of)))
    changes: dict[str, Any] = {dice.choice(("member_id", "client_id", "client_host", "instance_id")): name}
    return replace(member, **changes)


def timed_out(member: GroupMember, dice: Random, all_of: Sequence[GroupMember]) -> GroupMember:
    field = dice.choice(("rebalance_timeout_ms", "session_timeout_ms"))
    changes: dict[str, Any] = {field: dice.choice(NUMBERS)}
    return replace(member, **changes)


def group_field(records: list[RawRecord], dice: Random) -> None:
    field, value = dice.choice(
        (
            ("generation", dice.choice(NUMBERS)),
            ("state_ms", dice.choice(OFFSETS)),
            (
                "protocol",
                dice.choice((None, *NAMES, "default", "compatible", "sessioned", "static", "range", "sticky")),
            ),
            ("protocol_type", dice.choice(("", "connect", "consumer", "x"))),
            ("leader", dice.choice((None, *NAMES))),
            ("members", ()),
        )
    )
    changes: dict[str, Any] = {field: value}
    in_group_record(records, dice, lambda group: replace(group, **changes))


def member_gone(records: list[RawRecord], dice: Random) -> None:
    in_group_record(records, dice, lambda group: replace(group, members=group.members[1:]))


def member_doubled(records: list[RawRecord], dice: Random) -> None:
    in_group_record(records, dice, lambda group: replace(group, members=(*group.members, *group.members[:1])))


def patched(records: list[RawRecord], dice: Random) -> None:
    """Eight bytes of a member's blob replaced by an extreme number: offsets, delays, counts."""

    def changed(group: GroupMetadata) -> GroupMetadata:
        listed = list(group.members)
        if not listed:
            return group
        at = dice.randrange(len(listed))
        which = dice.choice(("subscription", "assignment"))
        raw = getattr(listed[at], which)
        place = dice.randrange(max(1, len(raw) - 8))
        number = dice.choice(OFFSETS).to_bytes(8, "big", signed=True)[dice.choice((0, 4)) :]
        blob = raw[:place] + number + raw[place + len(number) :]
        listed[at] = replace(listed[at], **{which: blob})
        return replace(group, members=tuple(listed))

    in_group_record(records, dice, changed)


def value_spoilt(records: list[RawRecord], dice: Random) -> None:
    at = dice.randrange(len(records))
    others = [one.value for one in records if one.value and one.topic == records[at].topic]
    records[at] = replace(records[at], value=spoilt(records[at].value or b"", dice, others))


def topic_value_spoilt(records: list[RawRecord], dice: Random) -> None:
    """A config or status record, which are few beside the rest."""
    places = [at for at, one in enumerate(records) if one.topic != OFFSETS_TOPIC]
    if places:
        at = dice.choice(places)
        records[at] = replace(records[at], value=spoilt(records[at].value or b"", dice))


def key_spoilt(records: list[RawRecord], dice: Random) -> None:
    at = dice.randrange(len(records))
    others = [one.key for one in records if one.key]
    records[at] = replace(records[at], key=spoilt(records[at].key or b"", dice, others))


def json_spoilt(records: list[RawRecord], dice: Random) -> None:
    """Sound JSON that no worker writes: other types, huge counts, deep nesting, halves of surrogate pairs."""
    places = [at for at, one in enumerate(records) if one.topic != OFFSETS_TOPIC]
    if not places:
        return
    at = dice.choice(places)
    try:
        value = json.loads(records[at].value or b"")
    except (ValueError, RecursionError):
        value = {}
    value = value if isinstance(value, dict) else {}
    odd: Any = dice.choice(
        (None, True, -1, 10**30, 2**31 - 1, 1e300, "", "\ud800", "x" * 3_000, [], {}, [[]], {"": {"": None}}, "\x00")
    )
    name = dice.choice((*value, "tasks", "state", "properties", "worker_id", "generation", "trace"))
    text = dice.choice((json.dumps({**value, name: odd}), json.dumps(odd), "[" * 100_000, json.dumps([value])))
    records[at] = replace(records[at], value=text.encode())


def dropped(records: list[RawRecord], dice: Random) -> None:
    if len(records) > 5:
        at = dice.randrange(len(records))
        del records[at : at + dice.randint(1, 5)]


def doubled(records: list[RawRecord], dice: Random) -> None:
    """Written twice: the records behind it move up by one."""
    at = dice.randrange(len(records))
    record = records[at]
    place = (record.topic, record.partition)
    moved = [
        replace(other, offset=other.offset + 1)
        if (other.topic, other.partition) == place and other.offset > record.offset
        else other
        for other in records
    ]
    records[:] = [*moved[: at + 1], replace(record, offset=record.offset + 1), *moved[at + 1 :]]


def swapped(records: list[RawRecord], dice: Random) -> None:
    """Two records of one topic in each other's place."""
    place = dice.randrange(len(records))
    same = [at for at, other in enumerate(records) if other.topic == records[place].topic]
    two = dice.choice(same)
    first, second = records[place], records[two]
    records[place] = replace(first, key=second.key, value=second.value, timestamp_ms=second.timestamp_ms)
    records[two] = replace(second, key=first.key, value=first.value, timestamp_ms=first.timestamp_ms)


def dated(records: list[RawRecord], dice: Random) -> None:
    at = dice.randrange(len(records))
    records[at] = replace(records[at], timestamp_ms=dice.choice((*OFFSETS, records[at].timestamp_ms + 10**9)))


def deleted(records: list[RawRecord], dice: Random) -> None:
    at = dice.randrange(len(records))
    records[at] = replace(records[at], value=None)


DAMAGES: tuple[Callable[[list[RawRecord], Random], None], ...] = (
    *(members(one, 3) for one in (subscription, assignment, emptied_both, emptied_assignment, renamed, timed_out)),
    members(rewritten_state, 2),
    members(rewritten_answer, 2),
    members(subscription, 3),
    members(assignment, 3),
    group_field,
    member_gone,
    member_doubled,
    patched,
    patched,
    value_spoilt,
    topic_value_spoilt,
    json_spoilt,
    key_spoilt,
    dropped,
    doubled,
    swapped,
    dated,
    deleted,
)
