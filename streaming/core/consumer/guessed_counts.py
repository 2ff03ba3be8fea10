"""How many partitions topics had where no sample tells: taken from later samples, or from the assignment itself.

An assignor gives every partition of a topic it knows to somebody, so the highest number that was given, or that a
cooperative member still owns, tells how many there were. This may be wrong (a partition may be held back, an answer may
be wrong at its end), so what fits such counts is explainable at best, and what does not fit is no finding.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rebalance_monitor.assignors.consumer.model import ConsumerMember
from rebalance_monitor.schemas.consumer_protocol import TopicPartition
from rebalance_monitor.streaming.core.consumer.topic_views import TopicRacks

MOST_HOLES = 1_000
"""More numbers below the highest one than this, and nobody has them: then the numbers are not those of a topic."""


def guessed(
    observed: Mapping[str, Sequence[TopicPartition]], members: Iterable[ConsumerMember], unsure: frozenset[str]
) -> Iterator[TopicRacks]:
    """The topics in `unsure` with the counts that the answer shows, then with those that owned partitions show too; no
    racks. Nothing where a number is too high for a topic."""
    given = _numbers(observed.values(), unsure)
    first = _counted(given)
    if first is None:
        return
    yield first
    owned = _numbers((one.owned for one in members), unsure)
    if all(numbers <= given.get(topic, set()) for topic, numbers in owned.items()):
        return
    second = _counted(
        {topic: given.get(topic, set()) | owned.get(topic, set()) for topic in given.keys() | owned.keys()}
    )
    if second is not None and second != first:
        yield second


def _numbers(shares: Iterable[Sequence[TopicPartition]], unsure: frozenset[str]) -> dict[str, set[int]]:
    """Topic -> the partition numbers that are in these shares."""
    found = defaultdict[str, set[int]](set)
    for share in shares:
        for topic, number in share:
            found[topic].add(number)
    return {topic: numbers for topic, numbers in found.items() if topic in unsure}


def _counted(numbers: Mapping[str, set[int]]) -> TopicRacks | None:
    counts = {topic: max(known) + 1 for topic, known in numbers.items() if known}
    if any(min(numbers[topic]) < 0 or count - len(numbers[topic]) > MOST_HOLES for topic, count in counts.items()):
        return None
    return {topic: (frozenset[str](),) * count for topic, count in counts.items()}


def topics_of(topics: Iterable[str]) -> str:
    """The first of these topics, as a sentence names them."""
    names = sorted(topics)
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + rest
