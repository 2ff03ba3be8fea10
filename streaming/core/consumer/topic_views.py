"""What a consumer group's leader may have known of its topics: partition counts and the racks of their replicas.

A leader refreshes its metadata by itself, so it may know less than a sample taken before the record, or more: what the
next sample shows may have been true at any time after the one before. Racks change with brokers: a dead broker's rack
is unknown to the leader, in all topics at once, from some moment between two samples on; a leader may know the brokers
that came back one by one (consumer.md 1).

    10:00:00 sample      racks a, b, c
    10:00:07 record      the leader already knows that b's broker is dead: racks a, c
    10:00:15 sample      racks a, c
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product
from typing import TypeAlias

from rebalance_monitor.streaming.core.cluster.topics import (
    CLOCKS_APART_MS,
    METADATA_MAX_AGE_MS,
    Racks,
    SampleMoment,
    TopicHistory,
)

TopicRacks: TypeAlias = Mapping[str, Racks]

SAMPLE_AGE_MS = 30_000
"""How much older than its time stamp what a sample shows may be: the brokers asked learn of a dead one by its session
time-out, and may answer from what they knew before."""
MOST_EARLIER = 2
MOST_LATER = 3
MOST_COMBINED_RACKS = 4
"""Racks of which every combination is tried; of more, one that is not known and all but one."""
MOST_SEARCHED = 16
"""Changes before the record in which racks are looked for that the last ones lack."""
MAX_MIXED = 256


def current(history: TopicHistory, wanted: Sequence[str], at_ms: int) -> dict[str, Racks] | None:
    """What the last sample until then shows of these topics; None without a sample."""
    return history.shown(wanted, at_ms) if history.racks and history.racks[0].at_ms <= at_ms else None


@dataclass(frozen=True, slots=True)
class GivenNumbers:
    """What an answer says of topics: the highest partition number that was given of each. `all_given`: the assignor
    holds nothing back, so a topic whose partitions nobody has was not known to the leader."""

    highest: Mapping[str, int]
    all_given: bool

    def may_be(self, topic: str, racks: Racks | None) -> bool:
        """Whether a leader that gave this answer may have known the topic so."""
        highest = self.highest.get(topic)
        if highest is None:
            return racks is None or not racks or not self.all_given
        return racks is not None and (len(racks) == highest + 1 if self.all_given else len(racks) > highest)


def others(history: TopicHistory, wanted: Sequence[str], at_ms: int, given: GivenNumbers) -> Iterator[dict[str, Racks]]:
    """What else the leader may have known: whole samples, then other racks, then each topic by any of the samples or
    not at all, as far as its answer allows."""
    moments = history.moments(wanted)
    near = list(_near(history, moments, wanted, at_ms))
    yield from near[1:]
    before = [one for one in moments if one.at_ms <= at_ms][-MOST_SEARCHED:]
    yield from _other_racks(near, _all_racks([*near, *(history.shown(wanted, one.at_ms) for one in before)]))
    yield from (one for one in _old(history, moments, wanted, at_ms) if one not in near)
    yield from islice(_mixed(near, wanted, given), MAX_MIXED)


def near(history: TopicHistory, wanted: Sequence[str], at_ms: int) -> Iterator[dict[str, Racks]]:
    """What samples around this time show."""
    return _near(history, history.moments(wanted), wanted, at_ms)


def unsure(history: TopicHistory, wanted: Sequence[str], at_ms: int) -> frozenset[str]:
    """The topics whose partitions at this time no sample tells: none before shows them, or samples around this time
    differ in their number."""
    if current(history, wanted, at_ms) is None:
        return frozenset(wanted)
    moments = history.moments(wanted)
    shown = (*_near(history, moments, wanted, at_ms), *_old(history, moments, wanted, at_ms))
    counts = [{name: len(racks) for name, racks in one.items()} for one in shown]
    return frozenset(name for name in wanted if None in (found := {one.get(name) for one in counts}) or len(found) > 1)


def _near(
    history: TopicHistory, moments: Sequence[SampleMoment], wanted: Sequence[str], at_ms: int
) -> Iterator[dict[str, Racks]]:
    """The last sample, those before it, those after it; each content once. A change after `at_ms` counts if it may have
    happened before, by the monitor's clock."""
    before = [one for one in moments if one.at_ms <= at_ms]
    later = [one for one in moments if one.at_ms > at_ms and one.after_ms <= at_ms + CLOCKS_APART_MS]
    found: list[dict[str, Racks]] = []
    for samples, most in ((reversed(before), 1 + MOST_EARLIER), (iter(later), MOST_LATER)):
        distinct = 0
        for moment in samples:
            shown = history.shown(wanted, moment.at_ms)
            if distinct < most and shown not in found:
                found.append(shown)
                distinct += 1
                yield shown


def _old(
    history: TopicHistory, moments: Sequence[SampleMoment], wanted: Sequence[str], at_ms: int
) -> Iterator[dict[str, Racks]]:
    """What a leader may still know that has not refreshed its metadata since, newest first: the contents that held at
    any time so long before."""
    before = [one for one in moments if one.at_ms <= at_ms]
    oldest_ms = at_ms - METADATA_MAX_AGE_MS - CLOCKS_APART_MS
    recent = [one for one in before if one.at_ms > oldest_ms]
    for moment in reversed(before[-len(recent) - 1 :][-MOST_SEARCHED:]):
        yield history.shown(wanted, moment.at_ms)


def _other_racks(
    near: Sequence[Mapping[str, Racks]], known: Mapping[str, Sequence[frozenset[str]]]
) -> Iterator[dict[str, Racks]]:
    """With each choice of the racks that are `known` of partitions, as not known to the leader. A broker that restarts,
    comes back or dies between two samples shows in none of them, so any may be among them."""
    everything = sorted({rack for partitions in known.values() for racks in partitions for rack in racks})
    if not everything:
        return
    for sample, unknown in product(near, _choices(everything)):
        yield {
            topic: tuple(known[topic][number] - unknown for number in range(len(partitions)))
            for topic, partitions in sample.items()
        }


def _all_racks(near: Iterable[Mapping[str, Racks]]) -> dict[str, list[frozenset[str]]]:
    """For each partition the racks that any of the samples shows."""
    known: dict[str, list[frozenset[str]]] = {}
    for sample in near:
        for topic, partitions in sample.items():
            merged = known.setdefault(topic, [])
            merged += [frozenset()] * (len(partitions) - len(merged))
            for number, racks in enumerate(partitions):
                merged[number] |= racks
    return known


def _choices(racks: Sequence[str]) -> Iterator[frozenset[str]]:
    sizes = range(len(racks)) if len(racks) <= MOST_COMBINED_RACKS else (0, 1, len(racks) - 1)
    return map(frozenset, chain.from_iterable(combinations(racks, size) for size in sizes))


def _mixed(
    near: Sequence[Mapping[str, Racks]], wanted: Sequence[str], given: GivenNumbers
) -> Iterator[dict[str, Racks]]:
    """A client may learn of one topic's change before another's, and may not know a new topic at all."""
    choices = [
        [one for one in dict.fromkeys([None, *(view.get(topic) for view in near)]) if given.may_be(topic, one)]
        for topic in wanted
    ]
    for combination in product(*choices):
        yield {topic: racks for topic, racks in zip(wanted, combination, strict=True) if racks is not None}
