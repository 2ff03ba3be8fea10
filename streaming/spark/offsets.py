"""Spark's offset of one cluster, and the plan from one offset to the next. Pure: no Kafka, no clock, no Spark.

The offset is JSON of our own:

    {"partitions": {"<topic>|<topic id>|<partition>": next offset},
     "begins":     {same key: first offset}      for partitions that the offset before did not have,
     "gone":       {same key: why}               for partitions whose records up to the offset cannot be read any more
     "tick":       milliseconds}                 the cluster's clock, or 0 before the first caught-up point

A re-created topic has another id, so its partitions are new keys that start at their own beginning. What was known of
the topic before and not read is given up first, in a step of its own: it becomes a gap.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from rebalance_monitor.streaming.core.reading.coordinators import home_partition

COORDINATORS_LOG = "offsets"
"""What the coordinator's log holds, beside the kinds of topics that lifecycles read (`REGISTRY.topic_kinds`)."""

SMALL_SHARE = 0.1
FIRST_BATCH_RECORDS = 500
LEAST_BATCH_RECORDS, MOST_BATCH_RECORDS = 200, 1_000_000
BATCH_S = 1.5
"""How long a batch may take."""
DELETED = "topic_deleted"
MADE_ANEW = "topic_made_anew"


class SourcePartition(NamedTuple):
    """One partition of one incarnation of a topic."""

    topic: str
    topic_id: str
    partition: int

    @property
    def text(self) -> str:
        return f"{self.topic}|{self.topic_id}|{self.partition}"

    @classmethod
    def parse(cls, text: str) -> "SourcePartition":
        # A topic's name has no "|", and neither has the base64 of an id.
        topic, topic_id, partition = text.split("|")
        return cls(topic, topic_id, int(partition))


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one partition holds: offsets in [low, end), `broker` leads it."""

    low: int
    end: int
    broker: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The ends of all partitions, sampled after `tick_ms`. `complete` is False where a partition gave no answer.

    `gone` is what was last known of the partitions of topics that were deleted, or made anew, since sampling began.
    """

    tick_ms: int
    bounds: Mapping[SourcePartition, Bounds]
    complete: bool = True
    gone: Mapping[SourcePartition, Bounds] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offset:
    """Spark's offset as a value; see the module's text."""

    partitions: Mapping[SourcePartition, int] = field(default_factory=dict)
    begins: Mapping[SourcePartition, int] = field(default_factory=dict)
    tick_ms: int = 0
    gone: Mapping[SourcePartition, str] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        return {
            "partitions": {key.text: offset for key, offset in sorted(self.partitions.items())},
            "begins": {key.text: offset for key, offset in sorted(self.begins.items())},
            "gone": {key.text: why for key, why in sorted(self.gone.items())},
            "tick": self.tick_ms,
        }

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> "Offset":
        return cls(
            partitions={SourcePartition.parse(text): int(offset) for text, offset in raw["partitions"].items()},
            begins={SourcePartition.parse(text): int(offset) for text, offset in raw["begins"].items()},
            tick_ms=int(raw["tick"]),
            gone={SourcePartition.parse(text): why for text, why in raw["gone"].items()},
        )


class Span(NamedTuple):
    """Offsets [start, end) of one partition, to be read by one task."""

    key: SourcePartition
    start: int
    end: int


def backlog(start: Offset, sample: Sample) -> dict[SourcePartition, tuple[int, int]]:
    """Per sampled partition (from, to) of what is not read yet; `to` never lies below `from`, even after truncation."""
    ranges = {}
    for key, bounds in sample.bounds.items():
        begin = start.partitions.get(key, bounds.low)
        ranges[key] = (begin, max(begin, bounds.end))
    return ranges


def gone_back(start: Offset, sample: Sample) -> dict[str, str]:
    """Topic -> what of it is never read. A log that ends before its position has lost records that were read, as after
    an unclean election of a leader: offsets come a second time, and the position does not go back."""
    return {
        key.topic: f"the log of partition {key.partition} went back: records from {bounds.end} to {to} are not read"
        for key, bounds in sorted(sample.bounds.items(), reverse=True)
        if (to := start.partitions.get(key, 0)) > bounds.end
    }


def advance(
    start: Offset,
    sample: Sample,
    allowed_records: Mapping[int, int] | None,
    due_ms: int | None,
    heartbeat_ms: int,
) -> Offset:
    """The end of the next batch; equal to `start` when there is nothing to do.

    `allowed_records` limits each broker's share (None: no limit). The tick goes along only when the batch reaches
    every sampled end, so a timer never fires before the records that came before it were folded.
    """
    if lost := _given_up(start, sample):
        # The new life of a topic is read in the next step: in one batch its offsets would stand among the old ones.
        return Offset(
            partitions={**start.partitions, **{key: to for key, (_, to, _) in lost.items()}},
            begins={key: begin for key, (begin, _, _) in lost.items() if key not in start.partitions},
            tick_ms=start.tick_ms,
            gone={**start.gone, **{key: why for key, (_, _, why) in lost.items()}},
        )
    ranges = backlog(start, sample)
    ends = _limited(ranges, sample, allowed_records)
    moved = any(end > ranges[key][0] for key, end in ends.items()) or any(key not in start.partitions for key in ends)
    reached = sample.complete and all(end >= ranges[key][1] for key, end in ends.items())
    # Partitions without a sample now (no leader, say) keep their position; those of a deleted incarnation go.
    current_topics = {key.topic for key in sample.bounds}
    kept = {key: offset for key, offset in start.partitions.items() if key.topic not in current_topics or key in ends}
    due = due_ms is not None and due_ms <= sample.tick_ms
    beat = sample.tick_ms - start.tick_ms >= heartbeat_ms
    ticks = reached and sample.tick_ms > start.tick_ms and (moved or due or beat)
    if not moved and not ticks:
        return start
    return Offset(
        partitions={**kept, **ends},
        begins={key: ranges[key][0] for key in ends if key not in start.partitions},
        tick_ms=sample.tick_ms if ticks else start.tick_ms,
        gone={key: why for key, why in start.gone.items() if key in kept},
    )


def _given_up(start: Offset, sample: Sample) -> dict[SourcePartition, tuple[int, int, str]]:
    """Per partition that is gone (from, to, why) of what can't be read any more and was not stated yet.

    A topic that was made anew is stated even where all that is known of it was read: its state begins anew as well.
    """
    ids = {key.topic: key.topic_id for key in sample.bounds}
    read = {key.topic: key.topic_id for key in start.partitions}
    begun = {key.topic for key in start.partitions if ids.get(key.topic) == key.topic_id}
    lost = {}
    for key in {*start.partitions, *sample.gone}:
        anew = ids.get(key.topic, key.topic_id) != key.topic_id
        last = sample.gone.get(key)
        if key in start.gone or (last is None and not anew) or (anew and key.topic in begun):
            continue
        begin = start.partitions.get(key)
        if begin is not None:
            to = max(begin, last.end) if last is not None else begin
        elif last is not None and read.get(key.topic, key.topic_id) == key.topic_id:
            begin, to = last.low, last.end
        else:
            continue
        if to > begin or (anew and begin > 0 and key in start.partitions):
            lost[key] = (begin, to, MADE_ANEW if anew else DELETED)
    return lost


def _limited(
    ranges: Mapping[SourcePartition, tuple[int, int]], sample: Sample, allowed_records: Mapping[int, int] | None
) -> dict[SourcePartition, int]:
    """Ends cut down so that no broker sends more than allowed. Little is read whole and much is cut, each to the same
    number, so no partition waits for another one's backlog; every partition with news gets a share.

    100 are allowed, 10, 40 and 500 wanted: 10, 40 and 50
    """
    if allowed_records is None:
        return {key: to for key, (_, to) in ranges.items()}
    of_broker: dict[int, list[SourcePartition]] = {}
    for key in sorted(ranges, key=lambda one: (ranges[one][1] - ranges[one][0], one)):
        of_broker.setdefault(sample.bounds[key].broker, []).append(key)
    ends = {}
    for broker, keys in of_broker.items():
        allowed = left = max(0, allowed_records.get(broker, 0))
        for number, key in enumerate(keys):
            begin, to = ranges[key]
            share = min(to - begin, max(left // (len(keys) - number), 1 if allowed else 0))
            ends[key] = begin + share
            left = max(0, left - share)
    return ends


def spans(start: Offset, end: Offset) -> list[Span]:
    """What lies between two offsets, partition by partition."""
    found = []
    for key, to in sorted(end.partitions.items()):
        begin = start.partitions.get(key, end.begins.get(key, to))
        if to > begin or key not in start.partitions or (key in end.gone and key not in start.gone):
            found.append(Span(key, begin, to))
    return found


def with_homes(groups: Mapping[str, Sequence[str]], log: str, partitions: int) -> dict[str, tuple[str, ...]]:
    """The groups, each with its home: where that is not known (empty), the one where a broker puts its records.
    `partitions`: how many the topic `log` has."""
    return {
        group: (home or f"{log}-{home_partition(group, partitions)}", *topics)
        for group, (home, *topics) in groups.items()
    }


@dataclass(frozen=True, slots=True)
class BundleOf:
    """What one task reads: spans, and the groups with topics of their own whose partitions are among them."""

    spans: tuple[Span, ...] = ()
    groups: tuple[str, ...] = ()


def bundles(
    todo: Sequence[Span], at_most: int, most_records: int, groups: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[BundleOf]:
    """Spans in bundles of about equal size; a single one when little is to be read of what a batch may hold.

    `groups`: groups with topics of their own, each with its home (`topic-number`) and its topics. What concerns one of
    them is never parted: its home and all partitions of its topics are in one bundle.
    """
    if not todo:
        return []
    total, parts = _size(todo), _together(todo, groups)
    count = 1 if total <= most_records * SMALL_SHARE else min(at_most, len(parts))
    made: list[tuple[list[Span], list[str]]] = [([], []) for _ in range(count)]
    sizes = [0] * count
    for spans_, names in sorted(parts, key=lambda part: (-_size(part[0]), part[0][0].key)):
        smallest = sizes.index(min(sizes))
        made[smallest][0].extend(spans_)
        made[smallest][1].extend(names)
        sizes[smallest] += _size(spans_)
    return [BundleOf(tuple(spans_), tuple(names)) for spans_, names in made]


def _size(some: Iterable[Span]) -> int:
    return sum(span.end - span.start for span in some)


def _together(todo: Sequence[Span], groups: Mapping[str, Sequence[str]]) -> list[tuple[list[Span], list[str]]]:
    """Spans that must not be parted, with the groups for whose sake."""
    root: dict[str, str] = {}

    def find(place: str) -> str:
        while (above := root.setdefault(place, place)) != place:
            place = above
        return place

    for home, *topics in groups.values():
        for topic in topics:
            root[find(topic)] = find(home)
    parts: dict[str, tuple[list[Span], list[str]]] = {}
    for span in todo:
        place = span.key.topic if span.key.topic in root else f"{span.key.topic}-{span.key.partition}"
        parts.setdefault(find(place), ([], []))[0].append(span)
    for group, (home, *_) in groups.items():
        if (part := parts.get(find(home))) is not None:
            part[1].append(group)
    return list(parts.values())


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """How many records a batch may hold, so that none takes long: others wait while one is folded.

    `most` begins small, because nobody knows what a record costs before one was folded.
    """

    most: int = FIRST_BATCH_RECORDS

    def after(self, records: int, seconds: float) -> "BatchLimit":
        """The limit after a batch of so many records took so long."""
        if records < self.most // 2 and seconds < BATCH_S:
            return self  # it was no test of what is possible
        fitting = int(records * BATCH_S / max(seconds, 0.001))
        most = min(max(fitting, self.most // 8, LEAST_BATCH_RECORDS), self.most * 4, MOST_BATCH_RECORDS)
        changes = abs(most - self.most) >= self.most // 5  # less is not worth a write
        return BatchLimit(most) if changes else self


class TokenBucket:
    """Bytes that may still be asked for, per broker. Time is given, never taken."""

    def __init__(self, bytes_per_second: int, burst_bytes: int) -> None:
        self.rate, self.burst = bytes_per_second, burst_bytes
        self._tokens: dict[int, float] = {}
        self._at_s: dict[int, float] = {}

    def available(self, broker: int, now_s: float) -> int:
        """Bytes that may be read from this broker now."""
        since = max(0.0, now_s - self._at_s.get(broker, now_s))
        tokens = min(self.burst, self._tokens.get(broker, self.burst) + since * self.rate)
        self._tokens[broker], self._at_s[broker] = tokens, now_s
        return int(tokens)

    def take(self, broker: int, taken_bytes: float) -> None:
        """Account for bytes that were asked for."""
        self._tokens[broker] = self._tokens.get(broker, self.burst) - taken_bytes
