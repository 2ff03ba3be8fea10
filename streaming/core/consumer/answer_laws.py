"""Laws of an assignor's answer that need nothing but the record, and who held what before it (consumer.md 9).

How many partitions a topic has is not in the record. Each law is such that any count the leader may have known gives
the same finding.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rebalance_monitor.schemas.consumer_protocol import TopicPartition
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.derived import derived
from rebalance_monitor.streaming.core.model.results import Certainty, Severity, Subject
from .answer import RANGE, ROUNDROBIN, STICKY_ONES, Answer, shown, sole_owners
from .catalogue import (
    NEEDLESS_MOVES,
    NOT_COPARTITIONED,
    SWAPPED,
    TAKEN_EARLY,
    TWO_OWNERS,
    UNEVEN_RANGE,
    UNEVEN_ROUNDROBIN,
    UNEVEN_STICKY,
    UNSUBSCRIBED,
)

NAMED = 5
"""Partitions that a message names before it only counts them."""


@dataclass(frozen=True, slots=True)
class AnswerLaw:
    """A rule, and what looks for it in an answer. `subscribed`: it holds what members were given against what they
    subscribed to or held."""

    rule: Rule
    broken: Callable[[Answer], Iterator[Finding]]
    subscribed: bool = True


def _found(rule: Rule, answer: Answer, subject: Subject, message: str, *, sure: bool = True) -> Finding:
    """`sure`: not only a client that nobody knows may answer so by its own right."""
    return Finding(
        rule=rule,
        severity=rule.severity if sure else Severity.INFO,
        certainty=Certainty.CERTAIN if sure else Certainty.POSSIBLE,
        subjects=(subject,),
        message=message if sure else f"{message}; the leader's client is unknown and may answer so",
        evidence=(answer.evidence,),
    )


def _list(partitions: Iterable[TopicPartition]) -> str:
    names = [shown(one) for one in sorted(partitions)]
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + rest


def _by_topic(partitions: Iterable[TopicPartition]) -> Mapping[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = defaultdict(list)
    for partition in sorted(partitions):
        topics[partition[0]].append(partition)
    return topics


def _two_owners(answer: Answer) -> Iterator[Finding]:
    if sum(map(len, answer.given.values())) == len(answer.all_given):
        return
    owners: dict[TopicPartition, list[str]] = defaultdict(list)
    for member, share in answer.given.items():
        # A leader's fault may name a partition twice to one member, which has it once.
        for partition in dict.fromkeys(share):
            owners[partition].append(member)
    for topic, twice in _by_topic(one for one, names in owners.items() if len(names) > 1).items():
        several = sorted({name for one in twice for name in owners[one]})
        text = f"given to {' and '.join(several)} at once"
        if any(sorted(owners[one]) != several for one in twice):
            text = f"each given to several of {', '.join(several)} at once"
        yield _found(TWO_OWNERS, answer, Subject("topic", topic), f"{_list(twice)} {text}")


def _unsubscribed(answer: Answer) -> Iterator[Finding]:
    for member in answer.members:
        topics = frozenset(member.topics)
        foreign = [one for one in answer.given[member.id] if one[0] not in topics]
        if foreign:
            text = f"{member.id} was given {_list(foreign)} without a subscription to the topic"
            found = _found(UNSUBSCRIBED, answer, Subject("member", member.id), text)
            if answer.dealt_to_all:
                text = f"{text}: the leader's library deals its own topics to all members"
                found = replace(found, severity=Severity.INFO, message=text)
            yield found


def _taken_early(answer: Answer) -> Iterator[Finding]:
    if answer.assignor != COOPERATIVE_STICKY or answer.unmoved:
        return
    owner = sole_owners(answer.members)
    taken = {
        partition: member
        for member, share in answer.given.items()
        for partition in share
        if owner.get(partition, member) != member
    }
    for topic, some in _by_topic(taken).items():
        text = f"{_list(some)} given to {taken[some[0]]} while {owner[some[0]]} still owned it"
        yield _found(TAKEN_EARLY, answer, Subject("topic", topic), text)


def _uneven(rule: Rule, answer: Answer) -> Iterator[Finding]:
    sizes = [len(set(share)) for share in answer.given.values()]
    if answer.equal and max(sizes) - min(sizes) > 1:
        text = f"shares of {min(sizes)} and {max(sizes)} partitions with equal subscriptions"
        yield _found(rule, answer, Subject("group", answer.group), text, sure=answer.client_known)


def _uneven_sticky(answer: Answer) -> Iterator[Finding]:
    """Held back partitions count for nobody: the shares are even only after the next generation."""
    held_back = (
        answer.assignor == COOPERATIVE_STICKY and not answer.unmoved and not answer.claims().keys() <= answer.all_given
    )
    if answer.assignor in STICKY_ONES and not held_back:
        yield from _uneven(UNEVEN_STICKY, answer)


def _uneven_roundrobin(answer: Answer) -> Iterator[Finding]:
    """Libraries of other languages may pass over members where some are static, as kafka-python 3.0 does. kafka-go and
    sarama before 1.28 begin each topic anew, so topics with few partitions add up on one member."""
    foreign = answer.client_known and not answer.java
    if answer.assignor == ROUNDROBIN and not (foreign and answer.mixed_statics) and answer.foreign is None:
        found = tuple(_uneven(UNEVEN_ROUNDROBIN, answer))
        yield from () if found and answer.as_foreign else found


@derived
def _numbers(answer: Answer) -> Mapping[str, Mapping[str, list[int]]]:
    """Topic -> subscriber -> the numbers of its partitions, sorted."""
    topics: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for member in answer.members:
        shares: dict[str, list[int]] = {topic: [] for topic in member.topics}
        for topic, number in sorted(set(answer.given[member.id])):
            if topic in shares:
                shares[topic].append(number)
        for topic, numbers in shares.items():
            topics[topic][member.id] = numbers
    return topics


def _uneven_range(answer: Answer) -> Iterator[Finding]:
    if answer.assignor != RANGE or (answer.client_known and not answer.java):
        return  # other libraries' classes of this name share otherwise, kafka-python's where some members are static
    for topic, shares in sorted(_numbers(answer).items()):
        sizes = [len(share) for share in shares.values()]
        torn = next((one for one, share in shares.items() if share and share[-1] - share[0] >= len(share)), None)
        text = ""
        if max(sizes) - min(sizes) > 1:
            text = f"blocks of {min(sizes)} and {max(sizes)} partitions of {topic}"
        elif torn is not None and not answer.racks:
            text = f"the block of {torn} in {topic} has holes"
        if text:
            yield _found(UNEVEN_RANGE, answer, Subject("topic", topic), text, sure=answer.java)


def _not_copartitioned(answer: Answer) -> Iterator[Finding]:
    """A count is taken for known where the numbers given are 0 to n - 1 without a hole: `range` gives all it knows."""
    if answer.assignor != RANGE or answer.racks or not answer.java:
        return
    alike: dict[tuple[int, frozenset[str]], list[str]] = defaultdict(list)
    topics = _numbers(answer)
    for topic, shares in sorted(topics.items()):
        numbers = sorted(number for share in shares.values() for number in share)
        if numbers and numbers == list(range(len(numbers))):
            alike[len(numbers), frozenset(shares)].append(topic)
    for first, *others in alike.values():
        for other in others:
            if topics[first] != topics[other]:
                text = f"partitions of {first} and {other} with the same number went to different members"
                yield _found(NOT_COPARTITIONED, answer, Subject("topic", other), text)


def _swapped(answer: Answer) -> Iterator[Finding]:
    """Only Kafka's general algorithm promises it: that of different subscriptions."""
    if answer.assignor not in STICKY_ONES or answer.equal or answer.racks or not answer.java:
        return
    owners = Counter(one for share in answer.given.values() for one in set(share))
    if any(count > 1 for count in (*answer.claims().values(), *owners.values())):
        return
    holder = {one: member for member, share in answer.held.items() for one in share}
    moves: dict[str, dict[tuple[str, str], TopicPartition]] = defaultdict(dict)
    for member, share in answer.given.items():
        for partition in share:
            if holder.get(partition, member) != member:
                moves[partition[0]][holder[partition], member] = partition
    for topic, made in sorted(moves.items()):
        pair = next(((giver, taker) for giver, taker in sorted(made) if (taker, giver) in made), None)
        if pair is not None:
            giver, taker = pair
            text = f"{shown(made[giver, taker])} went from {giver} to {taker}, and {shown(made[taker, giver])} back"
            yield _found(SWAPPED, answer, Subject("topic", topic), text)


def _needless_moves(answer: Answer) -> Iterator[Finding]:
    """Equal subscriptions, even shares, and each member reports what the record before gave it."""
    if answer.assignor not in STICKY_ONES or not answer.equal or answer.racks or answer.unmoved:
        return
    names = {member.id: member.instance_id or member.id for member in answer.members}
    if {names[one] for one in names} != answer.before.keys():
        return
    held = {one: {shown(partition) for partition in share} for one, share in answer.held.items()}
    given = {one: {shown(partition) for partition in share} for one, share in answer.given.items()}
    sizes = [len(share) for share in held.values()]
    unchanged = all(held[one] == answer.before[name] for one, name in names.items())
    same_partitions = sorted(one for share in held.values() for one in share) == sorted(
        one for share in given.values() for one in share
    )
    if unchanged and same_partitions and max(sizes) - min(sizes) <= 1 and held != given:
        moved = sum(len(given[one] - held[one]) for one in names)
        text = f"{moved} partitions changed hands between the same members with the same subscriptions"
        yield _found(NEEDLESS_MOVES, answer, Subject("group", answer.group), text, sure=answer.client_known)


ANSWER_LAWS = (
    AnswerLaw(TWO_OWNERS, _two_owners, subscribed=False),
    AnswerLaw(UNSUBSCRIBED, _unsubscribed),
    AnswerLaw(TAKEN_EARLY, _taken_early),
    AnswerLaw(UNEVEN_STICKY, _uneven_sticky),
    AnswerLaw(UNEVEN_ROUNDROBIN, _uneven_roundrobin),
    AnswerLaw(UNEVEN_RANGE, _uneven_range),
    AnswerLaw(NOT_COPARTITIONED, _not_copartitioned),
    AnswerLaw(SWAPPED, _swapped),
    AnswerLaw(NEEDLESS_MOVES, _needless_moves),
)
