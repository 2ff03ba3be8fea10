"""Who held what before: what members claim, and how a sticky leader settles claims that collide.

A member claims partitions and says of which generation they are. `sticky` carries both in its user data;
`cooperative-sticky` carries the partitions in the subscription, and the generation in the user data or, newer, in the
subscription too. A generation that is not named counts as -1. Claims on topics that the leader does not know are
dropped; claims on partitions that no longer exist are not.

    m1 claims a-0 a-1 of generation 7, m2 claims a-1 a-2 of generation 6
    per partition: a-1 stays with m1, a-2 with m2;  by the highest generation: m2 keeps nothing at all
    both of generation 7: a-1 belongs to neither, and is "claimed twice"

A quirk is part of the result: `sticky` takes the rival's generation from its subscription, not from its user data.
"""

from dataclasses import dataclass, field

from .model import NOT_SAID, Claim, ConsumerMember, TopicPartition, hash_ordered
from .sticky_eras import Conflict, StickyEra
from .sticky_group import Group


@dataclass(slots=True)
class Claims:
    """Settled claims. `held`: by member, in the order of a map of its own. `twice`: claimed twice in one generation.

    `equal`: all members subscribe to the same topics. `newest`: the highest generation claimed. `read`: of how many
    members the claim was read before subscriptions turned out to differ (older eras stop there).
    """

    held: dict[str, list[TopicPartition]] = field(default_factory=dict)
    twice: set[TopicPartition] = field(default_factory=set)
    equal: bool = True
    newest: int = NOT_SAID
    read: int = 0
    order_unsure: bool = False


def claim_of(member: ConsumerMember, era: StickyEra, cooperative: bool) -> Claim:
    """What a leader takes as the member's claim."""
    if not cooperative:
        return member.claim
    if era.reads_subscribed_generation and member.generation >= 0:
        return Claim(member.owned, member.generation)
    return Claim(member.owned, member.claim.generation if era.reads_sent_generation else None)


def claim_repeated(member: ConsumerMember, era: StickyEra, cooperative: bool) -> Claim:
    """The same, where a leader has already read the user data once and goes on from there."""
    if not cooperative:
        return member.claim_again
    return Claim(member.owned, member.claim_again.generation if era.reads_sent_generation else None)


def settle(group: Group) -> Claims:
    """Read and settle the claims of all members."""
    claims = Claims()
    owners: dict[TopicPartition, str] = {}
    leading: list[str] = []
    first: frozenset[str] = frozenset()
    for member in group.members:
        if not first:
            first = frozenset(member.topics)
        elif claims.equal and not (len(member.topics) == len(first) and first.issuperset(member.topics)):
            claims.equal = False
            if group.era.rereads:
                break
        claims.read += 1
        claim = claim_of(member, group.era, group.cooperative)
        known = [tp for tp in claim.partitions if tp[0] in group.counts]
        if group.era.conflict is Conflict.PER_PARTITION:
            _per_partition(group, claims, member.id, claim, known, owners)
        else:
            _by_highest(group, claims, member.id, claim, known, owners, leading)
    names, claims.order_unsure = hash_ordered(claims.held)
    claims.held = {name: claims.held[name] for name in names}
    return claims


def _per_partition(
    group: Group,
    claims: Claims,
    member: str,
    claim: Claim,
    known: list[TopicPartition],
    owners: dict[TopicPartition, str],
) -> None:
    generation = NOT_SAID if claim.generation is None else claim.generation
    claims.newest = max(claims.newest, generation)
    fresh = dict.fromkeys(known, member)
    if len(fresh) == len(known) and owners.keys().isdisjoint(fresh):
        claims.held[member] = known
        owners.update(fresh)
        return
    own = claims.held[member] = []
    for tp in known:
        rival = owners.get(tp)
        if rival is None:
            own.append(tp)
            owners[tp] = member
            continue
        rivals = max(group.by_id[rival].generation, NOT_SAID)
        if generation == rivals:
            claims.twice.add(tp)
            _drop(claims.held[rival], tp)
        elif generation > rivals:
            own.append(tp)
            _drop(claims.held[rival], tp)
        elif not group.era.loser_counts_as_owner:
            continue
        owners[tp] = member


def _by_highest(
    group: Group,
    claims: Claims,
    member: str,
    claim: Claim,
    known: list[TopicPartition],
    owners: dict[TopicPartition, str],
    leading: list[str],
) -> None:
    """`leading`: the members of the highest generation so far."""
    own = claims.held[member] = []
    if claim.generation is None:
        if claims.newest != NOT_SAID:
            return
    elif claim.generation < claims.newest:
        return
    elif claim.generation > claims.newest:
        owners.clear()
        claims.twice.clear()
        for name in leading:
            claims.held[name].clear()
        leading.clear()
        claims.newest = claim.generation
    leading.append(member)
    if group.era.conflict is Conflict.UNCHECKED:
        own += known
        return
    for tp in known:
        rival = owners.get(tp)
        if rival is None:
            owners[tp] = member
            own.append(tp)
        else:
            _drop(claims.held[rival], tp)
            claims.twice.add(tp)


def _drop(held: list[TopicPartition], partition: TopicPartition) -> None:
    """Remove the first occurrence, if there is one."""
    if partition in held:
        held.remove(partition)
