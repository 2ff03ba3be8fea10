"""Racks of partitions that a leader does not know, although samples show them, or showed them before.

A broker that restarts, dies or comes back between two samples shows in none of them. A leader that asked meanwhile goes
on without its rack until it asks again. So every choice of racks is tried as not known to the leader:

    sample                 t-0 [a b]  t-1 [b c]
    without b              t-0 [a]    t-1 [c]
    sample without c       t-0 [a b]  t-1 [b]       c's broker was dead then; the leader may know it still: t-1 [b c]

Which brokers have a partition's replicas is what the same sample says, as far as its brokers have ever shown a rack.
Captures name racks instead of brokers, so a dead broker's rack is also taken from other samples of the partition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product

from rebalance_monitor.streaming.core.cluster.topics import Racks, TopicHistory

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
