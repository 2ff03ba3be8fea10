"""Where topics end: samples of their end offsets, and the bounds of an end offset between two of them.

Theory. An end offset never falls while its topic lives. So at any moment it lies between what a sample showed that was
answered before, and what a sample showed that was asked after:

    asked 10:00:00, answered 10:00:01     t-0 ends at 400
    leader asks, some time from 10:00:07 to 10:00:08
    asked 10:00:10, answered 10:00:11     t-0 ends at 460
    so the leader was told 400 to 460

A topic that was deleted and made anew has another id; then nothing is known of the time between. Nothing is known
either if an end offset fell, which only an unclean leader election can do while the topic lives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST_END_SAMPLES = 16
"""Samples of one topic that are kept while the job runs. While records wait there is one each second, else one each
half minute."""
EndOffsets = tuple[int, ...]
"""For each partition of a topic, by number, its end offset (the high watermark)."""


@dataclass(frozen=True, slots=True)
class EndSample:
    """One answer about one topic: the end offsets were so at a moment between `asked_ms` and `answered_ms` (by the
    monitor's clock), and the topic had this id all that time."""

    asked_ms: int
    answered_ms: int
    topic_id: bytes
    ends: EndOffsets


@dataclass(frozen=True, slots=True)
class EndBounds:
    """The least and the greatest that an end offset, or a sum of some, can have been."""

    least: int
    most: int

    def __add__(self, other: "EndBounds") -> "EndBounds":
        return EndBounds(self.least + other.least, self.most + other.most)


EndSamples = Mapping[str, tuple[EndSample, ...]]


def with_ends(
    known: EndSamples,
    told: Mapping[str, EndOffsets],
    ids: Mapping[str, bytes],
    asked_ms: int,
    answered_ms: int,
    most: int = MOST_END_SAMPLES,
) -> EndSamples:
    """With one more answer; so many of a topic are kept. Of a topic without an id nothing is kept: nobody could tell it
    from a later one."""
    new = {
        name: (*known.get(name, ()), EndSample(asked_ms, answered_ms, ids[name], ends))[-most:]
        for name, ends in told.items()
        if name in ids
    }
    return {**known, **new} if new else known


def bounds_of(samples: Sequence[EndSample], from_ms: int, until_ms: int) -> tuple[EndBounds, ...] | None:
    """Between which offsets each partition ended at any moment between these times; None where that is not known."""
    before = before_of(samples, from_ms)
    after = next((one for one in samples if one.asked_ms >= until_ms), None)
    if before is None or after is None or before.topic_id != after.topic_id or len(before.ends) != len(after.ends):
        return None
    if any(end > later for end, later in zip(before.ends, after.ends, strict=True)):
        return None
    return tuple(EndBounds(end, later) for end, later in zip(before.ends, after.ends, strict=True))


def before_of(samples: Sequence[EndSample], from_ms: int) -> EndSample | None:
    """The last sample that was surely taken before this time."""
    return next((one for one in reversed(samples) if one.answered_ms <= from_ms), None)
