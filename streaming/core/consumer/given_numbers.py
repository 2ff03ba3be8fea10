"""What an answer tells of the topics that its leader knew: every partition of them is given, or held back.

given            t-0 t-1 t-3
range            the leader did not know t with 4 partitions: t-2 would be given
cooperative      it did, if a member reports to own t-2 and has to give it up first
nothing of u     the leader did not know u at all

Where no sample tells how many partitions a topic had, the numbers do. An assignor gives every partition of a topic it
knows to somebody, so the highest number that was given, or that a cooperative member still owns, tells how many there
were. This may be wrong (a partition may be held back, an answer may be wrong at its end), so what fits such counts is
explainable at best, and what does not fit is no finding.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.assignors.consumer.model import ConsumerMember, TopicRacks
from rebalance_monitor.schemas.consumer_protocol import TopicPartition
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY, STICKY

Numbers = Mapping[str, frozenset[int]]
NOBODYS = frozenset[int]()


@dataclass(frozen=True, slots=True)
class GivenNumbers:
    """By topic, the partition numbers that were given. `held`: those that members reported to have had, which a sticky
    leader may go on to give when the topic has them no more. `held_back`: those that it may give to nobody."""

    given: Numbers
    held: Numbers = field(default_factory=dict)
    held_back: Numbers = field(default_factory=dict)

    def may_be(self, topic: str, partitions: Sequence[object] | None) -> bool:
        """Whether a leader that gave this answer may have known the topic with these partitions; None: not at all."""
        given = self.given.get(topic, frozenset())
        if not partitions:
            return not given
        count = len(partitions)
        known = given | self.held_back.get(topic, frozenset())
        beyond = {number for number in given if number >= count}
        return beyond <= self.held.get(topic, frozenset()) and all(number in known for number in range(count))


def given_numbers(
    assignor: str, members: Sequence[ConsumerMember], observed: Mapping[str, Sequence[TopicPartition]]
) -> GivenNumbers:
    """Those of an answer of this assignor."""
    given = _numbers(observed.values())
    if assignor == STICKY:
        return GivenNumbers(
            given, _numbers(part for one in members for part in (one.claim.partitions, one.claim_again.partitions))
        )
    if assignor == COOPERATIVE_STICKY:
        owned = _numbers(one.owned for one in members)
        return GivenNumbers(given, owned, owned)
    return GivenNumbers(given)


def _numbers(shares: Iterable[Sequence[TopicPartition]], topics: frozenset[str] | None = None) -> Numbers:
    """The partition numbers in these shares, of these topics alone where some are named."""
    found = defaultdict[str, set[int]](set)
    for share in shares:
        for topic, number in share:
            found[topic].add(number)
    return {topic: frozenset(numbers) for topic, numbers in found.items() if topics is None or topic in topics}


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
    if all(numbers <= given.get(topic, NOBODYS) for topic, numbers in owned.items()):
        return
    second = _counted(
        {topic: given.get(topic, NOBODYS) | owned.get(topic, NOBODYS) for topic in given.keys() | owned.keys()}
    )
    if second is not None and second != first:
        yield second


def _counted(numbers: Numbers) -> TopicRacks | None:
    counts = {topic: max(known) + 1 for topic, known in numbers.items() if known}
    if any(min(numbers[topic]) < 0 or count - len(numbers[topic]) > MOST_HOLES for topic, count in counts.items()):
        return None
    return {topic: (frozenset[str](),) * count for topic, count in counts.items()}
