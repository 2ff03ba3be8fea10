"""Kafka's `sticky` assignor: everybody keeps what it held, and shares end as even as subscriptions allow.

The leader learns from each member what it held (`sticky_claims`) and settles claims that collide. Then it goes one of
two ways: members with equal subscriptions are dealt by quota (`sticky_quota`; `sticky_queues` up to 2.8), others are
balanced move by move (`sticky_general`, `sticky_own_start` up to 2.8, `sticky_balance`). What a release changes is
declared in `sticky_eras`.

    a:5, generation 7; m1 claims a-0 a-1 a-2 of generation 7, m2 claims a-2 a-3 of generation 6, m3 is new
    m1 [a-0 a-1]   m2 [a-3 a-4]   m3 [a-2]

A leader keeps the highest generation it has ever seen as long as its process lives; here it is that of the snapshot.
The two differ only after a group's generations began anew.
"""

from collections.abc import Sequence
from typing import TypeAlias

from . import sticky_general, sticky_own_start, sticky_queues, sticky_quota
from .model import ConsumerMember, ConsumerResult, TopicPartition, TopicRacks
from .sticky_claims import Claims, settle
from .sticky_eras import NEWEST, EqualSubscriptions, StickyEra
from .sticky_group import Group, group_of

Shares: TypeAlias = dict[str, list[TopicPartition]]
Transfers: TypeAlias = dict[TopicPartition, str]


def recompute(members: Sequence[ConsumerMember], topics: TopicRacks, *, era: StickyEra = NEWEST) -> ConsumerResult:
    """Every member's partitions in the order of the leader's lists, and whether Java's hash order could be followed.
    Raises CannotAssign where Kafka's class fails."""
    group = group_of(members, topics, era, cooperative=False)
    shares, _, unsure = deal(group)
    return result(members, shares, order_unsure=unsure)


def deal(group: Group) -> tuple[Shares, Transfers | None, bool]:
    """Shares, the partitions that change hands with whom they go to, and whether a Java order is in doubt. Only the
    short cuts tell what changes hands."""
    if not group.members:
        return {}, {}, False
    claims = Claims(equal=False)
    if group.era.equal is not EqualSubscriptions.AS_ANY_OTHER:
        claims = settle(group)
    unsure = group.order_unsure or claims.order_unsure
    if claims.equal:
        by_quota = group.era.equal is EqualSubscriptions.BY_QUOTA
        shares, transfers = (sticky_quota if by_quota else sticky_queues).deal(group, claims)
        return shares, transfers, unsure
    if group.era.own_start:
        balancing, start_unsure = sticky_own_start.balanced(group, claims.read if group.era.rereads else 0)
        unsure = unsure or start_unsure
    else:
        balancing = sticky_general.balanced(group, claims)
    return balancing.shares(), None, unsure or balancing.moves.order_unsure


def result(members: Sequence[ConsumerMember], shares: Shares, *, order_unsure: bool) -> ConsumerResult:
    """The answer in the order of `members`."""
    return ConsumerResult(shares={member.id: tuple(shares[member.id]) for member in members}, order_unsure=order_unsure)
