"""What a consumer's bytes say, as they are published."""

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment
from rebalance_monitor.streaming.core.consumer.short_subscription import subscription_of
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.model.records import MemberRow
from rebalance_monitor.streaming.core.model.results import ConsumerShare


def shares_of(member: MemberRow) -> MemberShares:
    """The partitions it is given, and those it owned when it joined."""
    wanted, given = subscription_of(member), member.assignment
    return MemberShares(
        assigned=ConsumerShare(given.partitions) if isinstance(given, ConsumerAssignment) else None,
        owned=None if wanted is None else ConsumerShare(wanted.owned),
    )
