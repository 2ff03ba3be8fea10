"""The broker's `range` assignor of 3.7 and 3.8 (preview): every topic on its own, members keep what they have first.

For one topic every subscriber has a quota of `low` partitions, and `extra` of them one more. Members are visited in
hash order. Each keeps its lowest partitions up to the quota; one that has more keeps one extra while there are extras.
The others are filled in the same order with what is left, ascending.

    t:5; A {0, 1, 2}, B {3, 4}, C new; hash order A B C; low 1, extra 2
    A keeps 0 and the extra 1; B keeps 3 and the extra 4; C gets 2

A member without partitions gets no entry. Partitions beyond the end of a topic and partitions that two members claim
count as kept, as in Kafka; the assignor then fails where too few are left.
"""

from .model import JAVA, AssignorFailed, BrokerGroup, BrokerResult, Orders, Outcome, Share, TopicId


def assign(group: BrokerGroup, *, java_version: int = JAVA) -> Outcome:
    orders = Orders(group, java_version)
    members = orders.members()
    counts = group.counts()
    subscribers: dict[TopicId, list[str]] = {}
    for member in members:
        for topic in orders.topics_of(member):
            subscribers.setdefault(topic, []).append(member.id)
    previous = {member.id: dict(member.previous) for member in members}
    shares: dict[str, Share | None] = dict.fromkeys((member.id for member in members), None)
    for topic, names in subscribers.items():
        before = {name: sorted(set(previous[name].get(topic, ()))) for name in names}
        dealt = _deal(counts[topic], before)
        if dealt is None:
            return AssignorFailed("IndexOutOfBoundsException")
        for name, numbers in dealt.items():
            if numbers:
                share = shares[name] or {}
                share[topic] = set(numbers)
                shares[name] = share
    return BrokerResult(shares=shares, unsure=orders.unsure)


def _deal(partitions: int, before: dict[str, list[int]]) -> dict[str, list[int]] | None:
    """New partitions of each subscriber, or None where the list of free ones is too short."""
    low, extra = divmod(partitions, len(before))
    dealt: dict[str, list[int]] = {}
    missing: list[tuple[str, int]] = []
    for name, numbers in before.items():
        keeps_extra = len(numbers) > low and extra > 0
        dealt[name] = numbers[: low + keeps_extra]
        if keeps_extra:
            extra -= 1
        else:
            missing.append((name, low - len(numbers)))
    kept = {number for numbers in dealt.values() for number in numbers}
    free = [number for number in range(partitions) if number not in kept]
    start = 0
    for name, wanted in missing:
        wanted += extra > 0
        extra = max(0, extra - 1)
        if wanted > 0:
            if start + wanted > len(free):
                return None
            dealt[name] = dealt[name] + free[start : start + wanted]
            start += wanted
    return dealt
