"""The general way of sticky leaders up to 2.8: a start of its own, then `sticky_balance`.

For each partition the claim of the highest generation wins and the next one is remembered as the place to which it may
go back. Of equal generations the first member counts; of members that name none, the last. Each member's list comes in
the order of a Java map of partitions, and where all subscribe to the same topics, leaders up to 2.5.0 walk all
partitions by emptying the fullest member again and again.

Leaders 2.5.1 to 2.8 look for equal subscriptions before that and read the user data of members on the way. They do not
go back to the beginning of the bytes: members read so far mostly claim nothing any more.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from rebalance_monitor.assignors.java_table import JavaTable
from .model import NOT_SAID, TopicPartition
from .sticky_balance import Balancing, Held
from .sticky_claims import claim_of, claim_repeated
from .sticky_eras import EqualSubscriptions
from .sticky_group import Group
from .sticky_moves import partition_hash


def balanced(group: Group, read: int) -> tuple[Balancing, bool]:
    """The group after placing and balancing, and whether a Java order is in doubt. `read`: members whose user data was
    read before."""
    claimed: dict[TopicPartition, dict[int, str]] = {}
    for number, member in enumerate(group.members):
        claim = (claim_repeated if number < read else claim_of)(member, group.era, group.cooperative)
        generation = NOT_SAID if claim.generation is None else claim.generation
        for tp in claim.partitions:
            by_generation = claimed.setdefault(tp, {})
            if claim.generation is None or generation not in by_generation:
                by_generation[generation] = member.id
    walked, unsure = _map_order(list(claimed))
    owners: dict[TopicPartition, str] = {}
    before: dict[TopicPartition, str] = {}
    for tp in walked:
        newest, *older = sorted(claimed[tp], reverse=True)
        owners[tp] = claimed[tp][newest]
        if older:
            before[tp] = claimed[tp][older[0]]
    held: Held = {member.id: [] for member in group.members}
    for tp, owner in owners.items():
        if tp[1] in range(group.counts.get(tp[0], 0)):
            held[owner].append(tp)
    all_held = {name: list(own) for name, own in held.items()}
    revokes = False
    for name, own in held.items():
        subscribed = frozenset(group.by_id[name].topics)
        held[name] = [tp for tp in own if tp[0] in subscribed]
        revokes = revokes or len(held[name]) != len(own)
    balancing = Balancing(group, held, {tp: name for name, own in all_held.items() for tp in own})
    if owners and group.era.equal is EqualSubscriptions.AS_ANY_OTHER and len(set(balancing.subscribed)) == 1:
        before_order, before_unsure = _map_order(list(before))
        everything, rest_unsure = _fullest_first(group, all_held, before_order)
        unsure = unsure or before_unsure or rest_unsure
    else:
        rank = group.topic_rank
        everything = group.partitions_of(
            sorted(group.counts, key=lambda topic: (len(balancing.consumers[topic]), rank[topic]))
        )
    kept = {tp for own in held.values() for tp in own}
    balancing.balance(everything, [tp for tp in everything if tp not in kept], before, revokes=revokes)
    return balancing, unsure


def _map_order(partitions: Sequence[TopicPartition]) -> tuple[list[TopicPartition], bool]:
    order: JavaTable[TopicPartition] = JavaTable(partition_hash)
    for tp in partitions:
        order.add(tp)
    return order.keys(), order.unsure


def _fullest_first(group: Group, held: Held, before: Sequence[TopicPartition]) -> tuple[list[TopicPartition], bool]:
    """Again and again one partition of the fullest member, those held by another before in front; then the others."""
    queues: dict[int, list[TopicPartition]] = {}
    for name, own in held.items():
        mine = frozenset(own)
        moved = [tp for tp in before if tp in mine]
        first = frozenset(moved)
        queues[group.member_rank[name]] = [*moved, *(tp for tp in own if tp not in first)][::-1]
    fullest = [(-len(queue), -rank) for rank, queue in queues.items()]
    heapify(fullest)
    walked: list[TopicPartition] = []
    while fullest:
        size, rank = heappop(fullest)
        if size < 0:
            walked.append(queues[-rank].pop())
            heappush(fullest, (size + 1, rank))
    seen = frozenset(walked)
    rest, unsure = _map_order(group.partitions_of(list(group.counts)))
    return [*walked, *(tp for tp in rest if tp not in seen)], unsure
