"""Kafka's `cooperative-sticky` assignor: `sticky`, but nobody is given what another member has not let go yet.

A partition that changes hands is held back: the old owner sees that it lost it, stops it and re-joins, and the next
generation gives it to somebody.

    t:3, m1 owns t-0 t-1 t-2, m2 is new
    generation 1   m1 [t-0 t-1]  m2 []       t-2 belongs to m2, but m1 still has it
    generation 2   m1 [t-0 t-1]  m2 [t-2]

The short cuts for equal subscriptions tell which partitions change hands; otherwise they are those that one member
owned and lost and another did not own and got. What members own is what their subscriptions say (since version 1).
"""

from collections.abc import Sequence

from . import sticky
from .model import ConsumerMember, ConsumerResult, TopicPartition, TopicRacks
from .sticky_eras import NEWEST, NoSuchEra, StickyEra
from .sticky_group import Group, group_of


def recompute(members: Sequence[ConsumerMember], topics: TopicRacks, *, era: StickyEra = NEWEST) -> ConsumerResult:
    """Every member's partitions in the order of the leader's lists, and whether Java's hash order could be followed.
    Raises CannotAssign where Kafka's class fails, NoSuchEra for an era without this assignor."""
    if not era.cooperative:
        raise NoSuchEra(f"Kafka {era.name} has no cooperative-sticky")
    group = group_of(members, topics, era, cooperative=True)
    shares, transfers, unsure = sticky.deal(group)
    if transfers is None:
        transfers = _changes_hands(group, shares)
    for tp, member in transfers.items():
        if tp in shares[member]:
            shares[member].remove(tp)
    return sticky.result(members, shares, order_unsure=unsure)


def _changes_hands(group: Group, shares: sticky.Shares) -> sticky.Transfers:
    added: sticky.Transfers = {}
    lost: set[TopicPartition] = set()
    for name, share in shares.items():
        owned = frozenset(group.by_id[name].owned)
        added.update((tp, name) for tp in share if tp not in owned)
        lost.update(owned.difference(share))
    return {tp: member for tp, member in added.items() if tp in lost}
