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
    given, owned = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    for numbers, shares in ((given, observed.values()), (owned, (one.owned for one in members))):
        for topic, number in (partition for share in shares for partition in share):
            if topic in unsure:
                numbers[topic].add(number)
    first = _counted(given)
    if first is None:
        return
    yield first
    second = _counted({topic: given[topic] | owned[topic] for topic in given.keys() | owned.keys()})
    if second is not None and second != first:
        yield second


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
