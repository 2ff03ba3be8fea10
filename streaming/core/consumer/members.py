"""A member's subscription as the assignors take it."""

from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember
from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription
from rebalance_monitor.schemas.outcomes import Decoded, Outcome
from rebalance_monitor.schemas.sticky_user_data import (
    COOPERATIVE_STICKY,
    GENERATION_BYTES,
    STICKY,
    UNREADABLE_GENERATION,
    StickyUserData,
    decode_sticky_user_data,
    decode_what_is_left,
)


def as_member(
    member_id: str, instance_id: str | None, subscription: ConsumerSubscription, assignor: str, *, again: bool = False
) -> ConsumerMember:
    """The member, with what a leader reads in its user data if the assignor is a sticky one.

    `again`: what a second reading finds is wanted too (`StickyEra.rereads`).
    """
    cooperative = assignor == COOPERATIVE_STICKY
    user_data = subscription.user_data if assignor in (STICKY, COOPERATIVE_STICKY) else None
    return ConsumerMember(
        id=member_id,
        instance_id=instance_id,
        topics=subscription.topics,
        rack=subscription.rack,
        owned=subscription.owned,
        generation=subscription.generation,
        claim=Claim() if user_data is None else _claim(decode_sticky_user_data(user_data, cooperative=cooperative)),
        claim_again=_again(user_data, cooperative=cooperative) if again else Claim(),
    )


_UNREADABLE = Claim((), UNREADABLE_GENERATION)


def _again(user_data: bytes | None, *, cooperative: bool) -> Claim:
    """What a second reading finds; nothing is left behind the one number that `cooperative-sticky` sends."""
    if user_data is None:
        return Claim()
    if cooperative and len(user_data) == GENERATION_BYTES:
        return _UNREADABLE
    return _claim(decode_what_is_left(user_data, cooperative=cooperative))


def _claim(read: Outcome[StickyUserData]) -> Claim:
    if isinstance(read, Decoded):
        return Claim(read.value.partitions, read.value.generation)
    return _UNREADABLE
