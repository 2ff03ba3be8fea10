"""What a consumer group's leader may have known of its topics: partition counts and the racks of their replicas.

A leader refreshes its metadata by itself, so it may know less than a sample taken before the record, or more: what the
next sample shows may have been true at any time after the one before. Racks change with brokers: a dead broker's rack
is unknown to the leader, in all topics at once, from some moment between two samples on; a leader may know the brokers
that came back one by one (consumer.md 1).

    10:00:00 sample      racks a, b, c
    10:00:07 record      the leader already knows that b's broker is dead: racks a, c
    10:00:15 sample      racks a, c

A leader may not know racks that samples show, or showed before. A broker that restarts, dies or comes back between two
samples shows in none of them. A leader that asked meanwhile goes on without its rack until it asks again. So every
choice of racks is tried as not known to the leader:

    sample                 t-0 [a b]  t-1 [b c]
    without b              t-0 [a]    t-1 [c]
    sample without c       t-0 [a b]  t-1 [b]       c's broker was dead then; the leader may know it still: t-1 [b c]

Which brokers have a partition's replicas is what the same sample says, as far as its brokers have ever shown a rack.
Captures name racks instead of brokers, so a dead broker's rack is also taken from other samples of the partition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, product

from rebalance_monitor.streaming.core.cluster.topics import (
    CLOCKS_APART_MS,
    METADATA_MAX_AGE_MS,
    Racks,
    SampleMoment,
    TopicHistory,
)
from .given_numbers import GivenNumbers

MOST_COMBINED_RACKS = 4
"""Racks of which every combination is tried; of more, one that is not known and all but one."""


def without_some(
    history: TopicHistory, wanted: Sequence[str], times: Sequence[int], more_times: Sequence[int]
) -> Iterator[dict[str, Racks]]:
    """What the samples of these times show, with each choice of racks as not known. `more_times`: racks are also looked
    for in the samples of these."""
    racks = history.every_rack()
    whole = [history.shown(wanted, one, racks) for one in times]
    merged = _merged([*whole, *(history.shown(wanted, one) for one in more_times)])
    filled = [{name: tuple(merged[name][: len(found)]) for name, found in one.items()} for one in whole]
    everything = sorted({rack for found in merged.values() for known in found for rack in known})
    if everything:
        for sample, unknown in product([*whole, *filled], list(_choices(everything))):
            yield {name: tuple(known - unknown for known in found) for name, found in sample.items()}


def _merged(samples: Iterable[Mapping[str, Racks]]) -> dict[str, list[frozenset[str]]]:
    """For each partition the racks that any of the samples shows."""
    known: dict[str, list[frozenset[str]]] = {}
    for sample in samples:
        for topic, partitions in sample.items():
            merged = known.setdefault(topic, [])
            merged += [frozenset()] * (len(partitions) - len(merged))
            for number, racks in enumerate(partitions):
                merged[number] |= racks
    return known


def _choices(racks: Sequence[str]) -> Iterator[frozenset[str]]:
    sizes = range(len(racks)) if len(racks) <= MOST_COMBINED_RACKS else (0, 1, len(racks) - 1)
    return map(frozenset, chain.from_iterable(combinations(racks, size) for size in sizes))


SAMPLE_AGE_MS = 30_000
"""How much older than its time stamp what a sample shows may be: the brokers asked learn of a dead one by its session
time-out, and may answer from what they knew before."""
MOST_EARLIER = 2
MOST_LATER = 3
MOST_SEARCHED = 16
"""Contents of the last minutes before the record that are tried."""
MAX_MIXED = 256
MOST_OTHERS = 320
"""Views that are tried of one generation."""


def current(history: TopicHistory, wanted: Sequence[str], at_ms: int) -> dict[str, Racks] | None:
    """What the last sample until then shows of these topics; None without a sample."""
    return history.shown(wanted, at_ms) if history.racks and history.racks[0].at_ms <= at_ms else None


def others(
    history: TopicHistory, wanted: Sequence[str], at_ms: int, given: GivenNumbers, *, racked: bool
) -> Iterator[dict[str, Racks]]:
    """What else the leader may have known: whole samples, then other racks, then each topic by any of the samples or
    not at all; each only once, and only what its answer allows. `racked`: a member states a rack; else racks are
    nothing that a leader looks at, and all are left out."""
    first = _looked_at(history.shown(wanted, at_ms), racked=racked)
    found = {tuple(map(first.get, wanted))}
    for view in _others(history, wanted, at_ms, given, racked=racked):
        if len(found) > MOST_OTHERS:
            return
        seen = _looked_at(view, racked=racked)
        content = tuple(map(seen.get, wanted))
        if content not in found and all(map(given.may_be, wanted, content)):
            found.add(content)
            yield seen


def _looked_at(view: Mapping[str, Racks], *, racked: bool) -> dict[str, Racks]:
    return {topic: racks if racked else (frozenset[str](),) * len(racks) for topic, racks in view.items()}


def _others(
    history: TopicHistory, wanted: Sequence[str], at_ms: int, given: GivenNumbers, *, racked: bool
) -> Iterator[Mapping[str, Racks]]:
    moments = history.moments(wanted)
    times = list(_near(history, moments, wanted, at_ms))
    near = [history.shown(wanted, one) for one in times]
    old = [history.shown(wanted, one) for one in _old(moments, at_ms)]
    searched = [one.at_ms for one in moments if one.at_ms <= at_ms][-MOST_SEARCHED:]
    fewer_racks = list(without_some(history, wanted, times, searched)) if racked else []
    yield from near
    yield from fewer_racks
    yield from old
    yield from islice(_mixed([*near, *old], wanted, given), MAX_MIXED)
    for view in fewer_racks:
        yield from islice(_mixed([view], wanted, given), MAX_MIXED)


def near(history: TopicHistory, wanted: Sequence[str], at_ms: int) -> Iterator[dict[str, Racks]]:
    """What samples around this time show."""
    return (history.shown(wanted, one) for one in _near(history, history.moments(wanted), wanted, at_ms))


def unsure(history: TopicHistory, wanted: Sequence[str], at_ms: int) -> frozenset[str]:
    """The topics whose partitions at this time no sample tells: none before shows them, or samples around this time
    differ in their number."""
    if current(history, wanted, at_ms) is None:
        return frozenset(wanted)
    moments = history.moments(wanted)
    times = (*_near(history, moments, wanted, at_ms), *_old(moments, at_ms))
    counts = [{name: len(racks) for name, racks in history.shown(wanted, one).items()} for one in times]
    return frozenset(name for name in wanted if None in (found := {one.get(name) for one in counts}) or len(found) > 1)


def _near(history: TopicHistory, moments: Sequence[SampleMoment], wanted: Sequence[str], at_ms: int) -> Iterator[int]:
    """When the last sample was taken, those before it, those after it; each content once. A change after `at_ms` counts
    if it may have happened before, by the monitor's clock."""
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
                yield moment.at_ms


def _old(moments: Sequence[SampleMoment], at_ms: int) -> Iterator[int]:
    """When samples were taken whose content a leader may still know that has not refreshed its metadata since, newest
    first: all that held at any time so long before."""
    before = [one for one in moments if one.at_ms <= at_ms]
    oldest_ms = at_ms - METADATA_MAX_AGE_MS - CLOCKS_APART_MS
    recent = [one for one in before if one.at_ms > oldest_ms]
    return (one.at_ms for one in reversed(before[-len(recent) - 1 :][-MOST_SEARCHED:]))


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
