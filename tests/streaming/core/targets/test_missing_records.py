"""Records of groups with targets that are missing: none of it becomes an accusation, and wrong records stay found."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from rebalance_monitor.schemas.group_records import decode_group_record
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row
from rebalance_monitor.streaming.core.reading import holes
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, replay
from tests.profile import LONG
from tests.vector_files import GROUP_CAPTURES

GROUPS = (
    ("kip848-a", "k-uniform"),
    ("kip848-a", "k-regex"),
    ("kip848-a", "k-migrate-static"),
    ("streams-kip1071-4.3.1", "app-a"),
    ("share-groups", "share-mixed"),
)
PLACES = 2
COMMIT = b"\x00\x01"
"""How the key of an offset commit begins: nobody reads on."""
Found = tuple[set[tuple[str, str]], set[int]]


@cache
def records(capture: str, group: str) -> tuple[RawRecord, ...]:
    """What the capture has of one group, and of all others that there was a record."""
    return tuple(
        one if group_of(one) == group else replace(one, key=COMMIT, value=None)
        for one in records_of(GROUP_CAPTURES / capture)
    )


def group_of(record: RawRecord) -> str | None:
    outcome = decode_group_record(record.key or b"", record.value)
    if isinstance(outcome, Decoded):
        return outcome.value.group
    row = decode_offsets_record(
        record.topic, record.partition, record.offset, record.timestamp_ms, record.key, record.value
    )
    return None if row is None else row.group


def found(capture: str, some: Iterable[RawRecord]) -> Found:
    """Incidents above info, and the generations that are unexplained."""
    told = replay(some, settings_of(GROUP_CAPTURES / capture), knowledge=knowledge_of(GROUP_CAPTURES / capture)).objects
    harmful = {
        (one["code"], str(one["subjects"])) for one in told if one["kind"] == "violation" and one["severity"] != "info"
    }
    wrong = {
        one["generation"] for one in told if one["kind"] == "generation" and one["verdict"]["grade"] == "unexplained"
    }
    return harmful, wrong


def compacted(some: Sequence[RawRecord]) -> list[RawRecord]:
    """The newest record of each key."""
    newest = {one.key: one for one in some}
    return [one for one in some if one.key == COMMIT or newest[one.key] is one]


def own(every: Sequence[RawRecord]) -> list[int]:
    """The places of the group's records."""
    return [at for at, one in enumerate(every) if one.key != COMMIT]


@pytest.mark.parametrize(("capture", "group"), GROUPS)
def test_neighbouring_records_left_out_accuse_nobody(capture: str, group: str) -> None:
    every = records(capture, group)
    at = own(every)
    left_out = [at[first : first + count] for count in (1, 2, 3) for first in range(1, len(at) - count)]
    for hole in left_out if LONG else Random(group).sample(left_out, PLACES):
        harmful, wrong = found(capture, [one for place, one in enumerate(every) if place not in hole])
        assert not harmful, hole
        assert not wrong, hole


@pytest.mark.parametrize(("capture", "group"), GROUPS)
def test_records_that_were_compacted_in_between_accuse_nobody(capture: str, group: str) -> None:
    """As after a time in which nobody read, while the log was compacted."""
    every, dice = records(capture, group), Random(group)
    for _ in range(40 if LONG else PLACES):
        start = dice.choice(own(every)[1:-20])
        end = min(start + dice.randint(5, 120), len(every))
        harmful, wrong = found(capture, (*every[:start], *compacted(every[start:end]), *every[end:]))
        assert not harmful, (start, end)
        assert not wrong, (start, end)


def row(offset: int, at_ms: int, group: str = "g") -> Row:
    return Row(
        topic=OFFSETS_TOPIC, partition=0, offset=offset, timestamp_ms=at_ms, group=group, body=OtherGroup("consumer")
    )


def after_holes(rows: Sequence[Row], *others: int) -> list[int]:
    """Offsets of the rows before which a record of their group may be missing; `others` were read and concern no
    group."""
    offsets = {(OFFSETS_TOPIC, 0): [*(one.offset for one in rows), *others]}
    newest, found = dict[str | None, int](), []
    for row in holes.marked(rows, offsets):
        if isinstance(row.body, OtherGroup) and row.body.hole > newest.get(row.group, row.offset) + 1:
            found.append(row.offset)
        newest[row.group] = row.offset
    return found


def test_a_hole_is_told_to_the_next_record_of_every_group() -> None:
    assert after_holes([row(1, 10), row(2, 10), row(4, 20), row(5, 20)]) == [4]
    assert after_holes([row(1, 10), row(2, 10), row(4, 20), row(5, 20)], 3) == []
    assert after_holes([row(1, 10), row(3, 20, "other"), row(4, 30)]) == [4]
    assert after_holes([row(5, 10), row(6, 20)]) == [], "nothing is known of what was before the first record"


def test_many_holes_between_operations_are_markers_or_commits() -> None:
    between = [row(2 * number, 10 * number) for number in range(40)]
    assert after_holes(between) == []
    torn = [row(100, 500), row(102, 500)]
    assert len(after_holes([*between, *torn])) == 41


def test_the_epoch_of_a_target_behind_a_hole_has_lost_the_members_targets() -> None:
    """However many holes there are: nobody else is told of markers."""
    between = [row(2 * number, 10 * number) for number in range(40)]
    for type_ in (6, 12, 20):
        at = row(80, 400)
        epoch = replace(at, body=OtherGroup("consumer", key=type_.to_bytes(2, "big") + b"\x00\x01g"))
        assert after_holes([*between, epoch, row(82, 410)]) == [80]
        assert after_holes([*between, row(79, 400), epoch]) == []


def stating(type_: int, epoch: int, at: Row) -> Row:
    """A record that states an epoch of the group, in its place."""
    value = b"\x00\x00" + epoch.to_bytes(4, "big")
    return replace(at, body=OtherGroup("consumer", key=type_.to_bytes(2, "big") + b"\x00\x01g", value=value))


@pytest.mark.parametrize(("group_epoch", "target_epoch"), [(3, 6), (11, 12), (17, 20)])
def test_holes_over_which_an_epoch_rises_by_more_than_one_are_records(group_epoch: int, target_epoch: int) -> None:
    """However many there are: those that are markers lie between epochs that follow each other."""
    first, *between, last = [row(2 * number, 10 * number) for number in range(40)]
    first = stating(group_epoch, 4, first)
    assert after_holes([first, *between, stating(group_epoch, 5, last)]) == []
    assert len(after_holes([first, *between, stating(group_epoch, 6, last)])) == 39
    assert len(after_holes([first, *between, stating(target_epoch, 5, last)])) == 39
    ended = replace(between[0], body=OtherGroup("consumer", key=group_epoch.to_bytes(2, "big") + b"\x00\x01g"))
    assert after_holes([first, ended, *between[1:], stating(group_epoch, 9, last)]) == []


def test_a_target_of_which_compaction_left_the_epoch_alone_is_not_judged() -> None:
    every = records("streams-kip1071-4.3.1", "app-a")
    targets = [at for at in own(every) if (every[at].key or b"").startswith(b"\x00\x14")]
    for at in targets if LONG else targets[3:6]:
        first = at
        while every[first - 1].timestamp_ms == every[at].timestamp_ms and every[first - 1].key != COMMIT:
            first -= 1
        left = [one for place, one in enumerate(every) if not first <= place < at]
        thinned = [one for place, one in enumerate(left) if one.key != COMMIT or place % 2]
        harmful, wrong = found("streams-kip1071-4.3.1", thinned)
        assert not harmful, at
        assert not wrong, at


@pytest.mark.parametrize(("capture", "group"), GROUPS)
def test_a_group_that_is_first_seen_in_its_midst_is_not_accused(capture: str, group: str) -> None:
    """Its static members may be away, and its epochs as low as those of a new group."""
    every = records(capture, group)
    places = own(every)[1:-1]
    for at in places if LONG else [*Random(group).sample(places, PLACES), *places[50:55:2]]:
        harmful, wrong = found(capture, every[at:])
        assert not harmful, at
        assert not wrong, at


@pytest.mark.parametrize(("capture", "group"), [*GROUPS, ("kip848-a", "k-migrate"), ("kip848-a", "k-migrate-coop")])
def test_a_group_that_is_first_seen_when_its_log_was_compacted_is_not_accused(capture: str, group: str) -> None:
    """Tombstones of a life before, and of the classic group that it was, are kept."""
    every = records(capture, group)
    places = own(every)[3:-1]
    for at in places if LONG else Random(group).sample(places, PLACES):
        harmful, wrong = found(capture, (*compacted(every[:at]), *every[at:]))
        assert not harmful, at
        assert not wrong, at


def test_a_tombstone_that_outlived_what_came_after_it_is_no_beginning() -> None:
    """A classic group was deleted, the group of that name has had six epochs since; their records were compacted."""
    every = records("kip848-a", "k-migrate")
    for at in (1495, 1508, 1520, 1528):
        assert found("kip848-a", (*compacted(every[:at]), *every[at:])) == (set(), set()), at


@pytest.mark.parametrize(("capture", "group"), GROUPS)
@pytest.mark.parametrize("later_ms", [0, 1])
def test_operations_that_are_written_twice_accuse_nobody(capture: str, group: str, later_ms: int) -> None:
    every, dice = records(capture, group), Random(group)
    places = own(every)[1:-1]
    for at in dice.sample(places, 20 if LONG else 1):
        last = every[at]
        operation = [one for one in every[: at + 1] if one.timestamp_ms == last.timestamp_ms and one.key != COMMIT]
        again = [
            replace(one, offset=last.offset + 1 + number, timestamp_ms=one.timestamp_ms + later_ms)
            for number, one in enumerate(operation)
        ]
        rest = [
            replace(one, offset=one.offset + len(again)) if one.partition == last.partition else one
            for one in every[at + 1 :]
        ]
        assert found(capture, (*every[: at + 1], *again, *rest)) == (set(), set()), at
