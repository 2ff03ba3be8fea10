"""What a consumer's bytes say, as they are published."""

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.model.records import MemberRow
from rebalance_monitor.streaming.core.model.results import ConsumerShare


def shares_of(member: MemberRow) -> MemberShares:
    """The partitions it is given, and those it owned when it joined."""
    wanted, given = member.subscription, member.assignment
    return MemberShares(
        assigned=ConsumerShare(given.partitions) if isinstance(given, ConsumerAssignment) else None,
        owned=ConsumerShare(wanted.owned) if isinstance(wanted, ConsumerSubscription) else None,
    )
