"""A drill as records of a real broker: under a name of its own, and moved in time.

Whatever states a time moves with the record: the moment of a classic group's state, and when a Streams leader wants
the next rebalance.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lab.bench.topic import TOPIC, group_key
from rebalance_monitor.schemas.consumer_protocol import decode_assignment, encode_assignment
from rebalance_monitor.schemas.group_metadata import GroupMember
from rebalance_monitor.schemas.offsets_topic import decode_group_metadata, encode_group_metadata
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.schemas.streams_assignment import decode_assignment_info, encode_assignment_info
from rebalance_monitor.schemas.streams_tasks import NO_REBALANCE_MS
from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.replay import RawRecord
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.stories.drills import ANSWERS, VECTORS

_GROUP_RECORD = b"\x00\x02"
_TIME = "%Y-%m-%d %H:%M:%S UTC"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
_SPAN = re.compile(r" \((?:in [\d.]+ \w+|[\d.]+ \w+ ago)\)")
_NEXT = re.compile(r"; the next probing rebalance is due at (.* UTC)")
_WRITTEN = re.compile(r"[\d.]+(?= were written)|(?<=it was )\d+(?= behind)")


@dataclass(frozen=True, slots=True)
class Drill:
    """`answer`: the golden text's name; `told`: the group's records as they are told, `was`: its name in them, and
    `until_ms`: when the answer is due, by their times. `by_ms`: how much later everything happens, in whole seconds."""

    answer: str
    group: str
    partition: int
    told: Sequence[RawRecord]
    was: str
    until_ms: int
    by_ms: int = 0

    def at(self, now_ms: int, told_ms: int) -> "Drill":
        """What is told of one moment happens now, or up to a second before."""
        return replace(self, by_ms=(now_ms - told_ms) // 1000 * 1000)

    def reading(self, topic_id: bytes, real_id: bytes) -> "Drill":
        """Of a topic that has this id on the broker."""
        told = [
            one if one.value is None else replace(one, value=one.value.replace(topic_id, real_id)) for one in self.told
        ]
        return replace(self, told=told)

    @property
    def first_ms(self) -> int:
        return min(one.timestamp_ms for one in self.told)

    @property
    def due_ms(self) -> int:
        return self.until_ms + self.by_ms

    def timed(self) -> Iterator[tuple[int, RawRecord]]:
        """As `playing.Copy` has it. The coordinator's records are numbered anew: others of their partition are left
        out."""
        reached: dict[tuple[str, int], int] = {}
        number = 0
        for one in sorted(self.told, key=lambda one: (one.topic, one.partition, one.offset)):
            at_ms = reached[one.topic, one.partition] = max(
                reached.get((one.topic, one.partition), 0), one.timestamp_ms + self.by_ms
            )
            if one.topic != TOPIC:
                named = replace(one, topic=one.topic.replace(self.was, self.group, 1))
                yield at_ms, replace(named, timestamp_ms=one.timestamp_ms + self.by_ms)
                continue
            assert one.key is not None
            key = one.key[:2] + group_key(self.group)[2:] + one.key[len(group_key(self.was)) :]
            value = one.value
            if one.key.startswith(_GROUP_RECORD) and value is not None:
                value = _moved(value, self.by_ms)
            yield at_ms, RawRecord(
                topic=TOPIC, partition=self.partition, offset=number, timestamp_ms=one.timestamp_ms + self.by_ms,
                key=key, value=value,
            )  # fmt: skip
            number += 1

    def records(self) -> Iterator[RawRecord]:
        return (record for _, record in self.timed())

    def six_lines(self, now_ms: int) -> dict[str, str]:
        """The golden text as it is then, without spans of time."""
        text = (ANSWERS / f"{self.answer}.txt").read_text(encoding="utf-8")
        lines = {line[:11].strip(): plain(_MOMENT.sub(self._later, line[11:])) for line in text.splitlines()}
        due = _NEXT.search(lines["ends"])
        if due is not None and _ms(due[1]) + 1000 <= now_ms:
            lines["ends"] = lines["ends"].replace(due[0], "")
        return lines

    def _later(self, told: re.Match[str]) -> str:
        return (datetime.strptime(told[0], _TIME) + timedelta(milliseconds=self.by_ms)).strftime(_TIME)


def of_story(answer: str, group: str, partition: int, story: Story) -> Drill:
    """Due with the last record, or when that leads to something by itself."""
    last_ms = story.rows[-1].timestamp_ms
    later = [one.opened_at_ms for one in story.fold() if isinstance(one, Incident) and one.opened_at_ms > last_ms]
    return Drill(answer, group, partition, story.written, GROUP, max([last_ms, *later]))


def of_capture(answer: str, group: str, partition: int, capture: str, was: str, moment: str) -> Drill:
    told = recorded(capture, was, moment)
    return Drill(answer, group, partition, told, was, max(one.timestamp_ms for one in told))


def recorded(capture: str, group: str, moment: str) -> list[RawRecord]:
    """The group's own records in a capture, until this moment."""
    until_ms = int(datetime.fromisoformat(moment).timestamp() * 1000)
    return [
        one
        for one in records_of(VECTORS / capture)
        if one.timestamp_ms <= until_ms and (one.topic != TOPIC or one.key == group_key(group))
    ]


def plain(line: str) -> str:
    """Without spans of time, and without how fast a topic was written meanwhile: it is written here at another pace."""
    return _WRITTEN.sub("#", _SPAN.sub("", line))


def _ms(moment: str) -> int:
    return int(datetime.strptime(moment.replace("UTC", "+0000"), _TIME.replace("UTC", "%z")).timestamp() * 1000)


def _moved(value: bytes, by_ms: int) -> bytes:
    group = decode_group_metadata(value)
    assert isinstance(group, Decoded)
    told = group.value
    members = tuple(_member(one, by_ms) for one in told.members) if told.protocol == "stream" else told.members
    return encode_group_metadata(replace(told, state_ms=told.state_ms + by_ms, members=members))


def _member(member: GroupMember, by_ms: int) -> GroupMember:
    given = decode_assignment(member.assignment)
    assert isinstance(given, Decoded)
    if given.value.user_data is None:
        return member
    info = decode_assignment_info(given.value.user_data)
    assert isinstance(info, Decoded)
    if info.value.next_rebalance_ms in (0, NO_REBALANCE_MS):
        return member
    later = replace(info.value, next_rebalance_ms=info.value.next_rebalance_ms + by_ms)
    return replace(member, assignment=encode_assignment(replace(given.value, user_data=encode_assignment_info(later))))
