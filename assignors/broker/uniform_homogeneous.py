"""`uniform` for a group whose members all subscribe to the same topics (KIP-848; releases since 3.8).

Every member has a quota of `low` partitions, and `extra` members have one more. Members are visited in hash order. Each
keeps what it has up to its quota; what is beyond goes to the end of the list of free partitions. Then the members
below their quota are filled from that list: first what nobody owned, then what was taken away.

    t:5; A {0, 1, 2}, B {3, 4}, C new    low 1, extra 2; hash order A B C
    A may keep 2, gives 2 away; B may keep 2 and keeps both; the extras are used up, C takes 1
    free: [2]  ->  A {0, 1}, B {3, 4}, C {2}

Since 4.0 a member that holds too little to need an extra partition leaves it to a later one, as long as enough members
are left to take them all. Up to 3.9 the first `extra` members get them.

Partitions that do not exist, or that two members claim, use up quotas. Kafka fails when partitions are left over then.
"""

from .model import JAVA, AssignorFailed, BrokerGroup, BrokerResult, Orders, Outcome, Share, TopicId, shares_of


def assign(group: BrokerGroup, *, keep_extras: bool = True, java_version: int = JAVA) -> Outcome:
    """The new targets; `keep_extras` is the rule of 4.0 about who gets an extra partition."""
    orders = Orders(group, java_version)
    members = orders.members()
    topics = orders.topic_set(members[0])
    if not topics:
        return BrokerResult(shares=dict.fromkeys((member.id for member in members), None), unsure=orders.unsure)
    counts = group.counts()
    subscribed = set(topics)
    previous = {member.id: orders.previous(member) for member in members}
    owned: dict[TopicId, set[int]] = {}
    for target in previous.values():
        for topic, numbers in target:
            owned.setdefault(topic, set()).update(numbers)
    free = [
        (topic, number) for topic in topics for number in range(counts[topic]) if number not in owned.get(topic, ())
    ]
    low, extra = divmod(sum(counts[topic] for topic in topics), len(members))
    shares: dict[str, Share] = {}
    unfilled: list[tuple[str, int]] = []
    for left, member in zip(range(len(members), 0, -1), members, strict=True):
        has_extra = extra > 0
        quota = low + has_extra
        share = shares[member.id] = {}
        for topic, numbers in previous[member.id]:
            if topic not in subscribed:
                continue
            share[topic] = set(numbers[:quota])
            free.extend((topic, number) for number in numbers[quota:])
            quota = max(0, quota - len(numbers))
        if keep_extras and has_extra and quota > 0 and left > extra:
            quota, has_extra = quota - 1, False
        if quota > 0:
            unfilled.append((member.id, quota))
        extra -= has_extra
    if not _fill(unfilled, free, shares):
        return AssignorFailed("PartitionAssignorException")
    return BrokerResult(shares=shares_of((member.id for member in members), shares), unsure=orders.unsure)


def _fill(unfilled: list[tuple[str, int]], free: list[tuple[TopicId, int]], shares: dict[str, Share]) -> bool:
    """Hand out the free partitions; whether all found a member."""
    start = 0
    for name, quota in unfilled:
        for topic, number in free[start : start + quota]:
            shares[name].setdefault(topic, set()).add(number)
        start += quota
    return start >= len(free)
