"""What a cluster said of its topics: partition counts, replicas and the racks of brokers, with the time it was said.

Theory. A sample is one answer. Between two samples that differ, the change happened at some unknown moment:

    asked 10:00:00, answered 10:00:01     t has 3 partitions
    asked 10:00:30, answered 10:00:31     t has 6 partitions
    so it has 6 since a moment from 10:00:00 (the old content was true then at the earliest) to 10:00:31

Most samples show what the one before showed, so only changes are kept (`ContentChange`), each with both ends of that
interval. This loses nothing: between two changes every sample showed the same. Replicas are broker ids, and racks are
kept by broker: a broker that restarts changes one small value, and not the replicas of every partition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from typing import Generic, TypeAlias, TypeVar

from rebalance_monitor.schemas.frozen import replace
from .end_offsets import MOST_END_SAMPLES, EndOffsets, EndSample, EndSamples, with_ends

T = TypeVar("T")

Replicas: TypeAlias = tuple[tuple[int, ...], ...]
"""For each partition of a topic, by number, the ids of the brokers that have a replica."""
Racks: TypeAlias = tuple[frozenset[str], ...]
"""For each partition of a topic, by number, the known racks of its replicas."""
RacksByReplica: TypeAlias = tuple[tuple[str | None, ...], ...]
"""For each partition of a topic, by number, the rack of each replica, None where it is not known."""

KEPT_MS = 86_400_000
"""So long a content that was replaced is kept: records may be read, or wait, so late."""
CLOCKS_APART_MS = 60_000
"""Clocks of brokers and of the monitor differ by less than this: records carry the brokers' times, samples the
monitor's."""
METADATA_MAX_AGE_MS = 300_000
"""A leader refreshes what it knows of topics at least this often (`metadata.max.age.ms`, the default)."""
MOST_CHANGES = 64
"""Changes of one topic, or of the racks, that are kept."""


@dataclass(frozen=True, slots=True)
class TopicSample:
    """One answer: the replicas of each topic, and the racks of the brokers that were alive and have one.

    Times by the monitor's clock, ms: what is shown was true at a moment between `asked_ms` and `answered_ms`. `ids`:
    the 16 bytes of topics' ids, where brokers told them. `ends`: the end offsets of some topics, each of which had the
    id in `ids` all that time.
    """

    asked_ms: int
    answered_ms: int
    topics: Mapping[str, Replicas]
    racks: Mapping[int, str] = field(default_factory=dict)
    ids: Mapping[str, bytes] = field(default_factory=dict)
    ends: Mapping[str, EndOffsets] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContentChange(Generic[T]):
    """A content, and since when it holds: a sample that was answered at `at_ms` was the first to show it; the last one
    that showed something else was asked at `after_ms`, 0 if there was none."""

    after_ms: int
    at_ms: int
    content: T


@dataclass(frozen=True, slots=True)
class SampleMoment:
    """What one sample shows of all topics, where it differs from the sample before."""

    after_ms: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class TopicHistory:
    """The changes of each topic and of the racks, oldest first. A topic's content is None while it is not there.

    `asked_ms` and `answered_ms` are those of the last sample; None before the first one. `ends`: of some topics the
    last samples of their end offsets, oldest first.
    """

    topics: Mapping[str, tuple[ContentChange[Replicas | None], ...]] = field(default_factory=dict)
    racks: tuple[ContentChange[Mapping[int, str]], ...] = ()
    asked_ms: int | None = None
    answered_ms: int | None = None
    ids: Mapping[str, tuple[ContentChange[bytes], ...]] = field(default_factory=dict)
    ends: EndSamples = field(default_factory=dict)
    _names: dict[bytes, str] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Each id's name, put together when the first is asked for: a record has many ids, a cluster many topics."""

    def with_sample(self, sample: TopicSample, most_ends: int = MOST_END_SAMPLES) -> "TopicHistory":
        """The history with one more sample. One that was answered before the last one says nothing new. `most_ends`:
        samples of the end offsets of one topic that are kept."""
        if self.answered_ms is not None and sample.answered_ms < self.answered_ms:
            return self
        changed = {
            name: (*self.topics.get(name, ()), self._change(sample, sample.topics.get(name)))
            for name in (*sample.topics, *(name for name in self.topics if name not in sample.topics))
            if self._latest(name) != sample.topics.get(name)
        }
        racks = self.racks
        if not racks or racks[-1].content != sample.racks:
            racks = (*racks, self._change(sample, dict(sample.racks)))
        topics = {**self.topics, **changed} if changed else self.topics
        told = {name: one for name, one in sample.ids.items() if self.id_of(name) != one}
        newer = {name: (*self.ids.get(name, ()), self._change(sample, one)) for name, one in told.items()}
        ids = {**self.ids, **newer} if newer else self.ids
        ends = with_ends(self.ends, sample.ends, sample.ids, sample.asked_ms, sample.answered_ms, most_ends)
        known = replace(self, topics=topics, racks=racks, ids=ids, ends=ends)
        return replace(known, asked_ms=sample.asked_ms, answered_ms=sample.answered_ms)

    def ends_of(self, name: str) -> tuple[EndSample, ...]:
        """The samples of a topic's end offsets that are kept, oldest first."""
        return self.ends.get(name, ())

    def id_of(self, name: str, at_ms: int | None = None) -> bytes | None:
        """The id of a topic, which it keeps until it is deleted, as of a time; None where nobody told it."""
        changes = self.ids.get(name, ())
        if at_ms is None:
            return changes[-1].content if changes else None
        return _content(changes, at_ms) or (changes[0].content if changes else None)

    def name_of(self, topic_id: bytes) -> str | None:
        """The name of the topic that has or had this id; None where nobody told it."""
        if not self._names:
            self._names.update((told.content, name) for name, changes in self.ids.items() for told in changes)
        return self._names.get(topic_id)

    def _latest(self, name: str) -> Replicas | None:
        changes = self.topics.get(name)
        return changes[-1].content if changes else None

    def _change(self, sample: TopicSample, content: T) -> ContentChange[T]:
        return ContentChange(self.asked_ms or 0, sample.answered_ms, content)

    def moments(self, wanted: Iterable[str]) -> list[SampleMoment]:
        """When samples showed something new of these topics or of the racks, oldest first."""
        if not self.racks:
            return []
        first_ms = self.racks[0].at_ms
        found = {one.at_ms: one.after_ms for one in self.racks}
        for name in wanted:
            found.update((one.at_ms, one.after_ms) for one in self.topics.get(name, ()) if one.at_ms >= first_ms)
            # A topic that was made anew may have as many replicas, on the same brokers.
            found.update((one.at_ms, one.after_ms) for one in self.ids.get(name, ()) if one.at_ms >= first_ms)
        return [SampleMoment(after_ms, at_ms) for at_ms, after_ms in sorted(found.items())]

    def shown(self, wanted: Iterable[str], at_ms: int, racks: Mapping[int, str] | None = None) -> dict[str, Racks]:
        """What the last sample until then showed of these topics; a topic that was not there is missing. `racks`: of
        brokers, where not those that it showed."""
        racks = (_content(self.racks, at_ms) or {}) if racks is None else racks
        return {name: _racks(replicas, racks) for name, replicas in self._replicas(wanted, at_ms)}

    def present(self) -> Iterator[tuple[str, int]]:
        """The topics of the last sample, with how many partitions each has."""
        for name, changes in self.topics.items():
            if changes[-1].content is not None:
                yield name, len(changes[-1].content)

    def replica_racks(self, wanted: Iterable[str], at_ms: int) -> dict[str, RacksByReplica]:
        """The same replica by replica: None for a broker that has no rack, or was not there."""
        racks = _content(self.racks, at_ms) or {}
        return {
            name: tuple(tuple(racks.get(broker) for broker in brokers) for brokers in replicas)
            for name, replicas in self._replicas(wanted, at_ms)
        }

    def _replicas(self, wanted: Iterable[str], at_ms: int) -> Iterator[tuple[str, Replicas]]:
        """Of these topics those that the last sample until then showed."""
        for name in wanted:
            replicas = _content(self.topics.get(name, ()), at_ms)
            if replicas is not None:
                yield name, replicas

    def every_rack(self) -> dict[int, str]:
        """The rack of each broker as the last sample that knew one showed it."""
        return {broker: rack for one in self.racks for broker, rack in one.content.items()}

    def stayed(self, name: str, since_ms: int, until_ms: int) -> bool:
        """Whether samples before and after show that a topic was there all this time, and did not change."""
        if self.asked_ms is None or self.asked_ms < until_ms or _content(self.topics.get(name, ()), since_ms) is None:
            return False
        turns = [(one.after_ms, one.at_ms) for one in self.topics.get(name, ())]
        turns += [(one.after_ms, one.at_ms) for one in self.ids.get(name, ())]
        return not any(at_ms > since_ms and after_ms < until_ms for after_ms, at_ms in turns)

    def any_racks(self) -> bool:
        """Whether any sample that is kept showed a rack."""
        return any(one.content for one in self.racks)

    def ever(self, name: str) -> bool:
        """Whether any sample that is kept showed this topic."""
        return any(one.content is not None for one in self.topics.get(name, ()))

    def kept(self, now_ms: int) -> "TopicHistory":
        """Without what was replaced too long ago, and without topics that are gone since then."""
        until_ms = now_ms - KEPT_MS
        topics = {name: _kept(changes, until_ms) for name, changes in self.topics.items()}
        gone = [name for name, (*before, last) in topics.items() if not before and last.content is None]
        gone = [name for name in gone if topics[name][0].at_ms <= until_ms]
        topics = {name: changes for name, changes in topics.items() if name not in set(gone)}
        ids = {name: _kept(changes, until_ms) for name, changes in self.ids.items() if name in topics}
        ends = {name: samples for name, samples in self.ends.items() if name in topics}
        return replace(self, topics=topics, racks=_kept(self.racks, until_ms), ids=ids, ends=ends)


NO_SAMPLES = TopicHistory()


def _content(changes: Sequence[ContentChange[T]], at_ms: int) -> T | None:
    return next((one.content for one in reversed(changes) if one.at_ms <= at_ms), None)


def _racks(replicas: Replicas, racks: Mapping[int, str]) -> Racks:
    if not racks:
        return (frozenset[str](),) * len(replicas)
    return tuple(frozenset(racks[broker] for broker in brokers if broker in racks) for brokers in replicas)


def _kept(changes: tuple[ContentChange[T], ...], until_ms: int) -> tuple[ContentChange[T], ...]:
    """From the content that held at `until_ms` on."""
    first = max((at for at, one in enumerate(changes) if one.at_ms <= until_ms), default=0)
    return changes[max(first, len(changes) - MOST_CHANGES) :]


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A sample as captures hold it: topic -> for each partition the racks of its replicas, topic -> its id, and
    topic -> for each partition its end offset."""

    at_ms: int
    topics: Mapping[str, Racks]
    ids: Mapping[str, bytes] = field(default_factory=dict)
    ends: Mapping[str, EndOffsets] = field(default_factory=dict)


def history_of(metadata: Iterable[TopicMetadata]) -> TopicHistory:
    """The history of such samples, which are given in time order. Each rack stands for one broker. All end offsets are
    kept: the records between the samples are not judged yet."""
    given = list(metadata)
    names = sorted({rack for one in given for racks in one.topics.values() for rack in chain(*racks)})
    brokers = {rack: at for at, rack in enumerate(names)}
    racks = {at: rack for rack, at in brokers.items()}
    samples = (
        TopicSample(
            one.at_ms,
            one.at_ms,
            {
                name: tuple(tuple(sorted(brokers[rack] for rack in known)) for known in partitions)
                for name, partitions in one.topics.items()
            },
            racks,
            one.ids,
            one.ends,
        )
        for one in given
    )
    return reduce(lambda known, sample: known.with_sample(sample, len(given)), samples, TopicHistory())
