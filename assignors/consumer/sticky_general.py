"""The general way of the sticky assignors since 3.0: what members keep, then `sticky_balance`.

A member keeps what it claims (`sticky_claims`), except topics it no longer subscribes to and partitions outside its
rack. Everything else is free, in the order in which leaders walk all partitions: topics with few subscribers first.
Claims of older generations than the newest are remembered as the place to which a partition may go back.
"""

from .model import NOT_SAID, TopicPartition
from .sticky_balance import Balancing, Held
from .sticky_claims import Claims, claim_of
from .sticky_group import Group
from .sticky_quota import walk


def balanced(group: Group, claims: Claims) -> Balancing:
    """The group after placing and balancing."""
    owners = {tp: member for member, own in claims.held.items() for tp in own}
    held: Held = {}
    for member, own in claims.held.items():
        subscribed = frozenset(group.by_id[member].topics)
        held[member] = [tp for tp in own if tp[0] in subscribed and not group.racks.mismatch(member, tp)]
    revokes = any(len(held[member]) != len(own) for member, own in claims.held.items())
    balancing = Balancing(group, held, owners)
    rank = group.topic_rank
    topics = sorted(group.counts, key=lambda topic: (len(balancing.consumers[topic]), rank[topic]))
    place = {topic: at for at, topic in enumerate(topics)}
    everything = group.partitions_of(topics)
    free = walk(everything, [tp for own in held.values() for tp in own], lambda tp: (place[tp[0]], tp[1]))
    balancing.balance(everything, free, _older(group, claims), revokes=revokes)
    return balancing


def _older(group: Group, claims: Claims) -> dict[TopicPartition, str]:
    """Who claimed a partition in an older generation than the newest; the last such generation counts."""
    found: dict[TopicPartition, tuple[int, str]] = {}
    for member in group.members:
        claim = claim_of(member, group.era, group.cooperative)
        generation = NOT_SAID if claim.generation is None else claim.generation
        if generation < claims.newest:
            for tp in claim.partitions:
                if tp not in found or generation > found[tp][0]:
                    found[tp] = generation, member.id
    return {tp: member for tp, (_, member) in found.items()}
