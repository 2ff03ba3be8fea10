"""What a consumer's bytes say, as they are published."""

from schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from streaming.core.fold.published import MemberShares
from streaming.core.model.records import MemberRow
from streaming.core.model.results import ConsumerShare


def shares_of(member: MemberRow) -> MemberShares:
    """The partitions it is given, and those it owned when it joined."""
    wanted, given = member.subscription, member.assignment
    return MemberShares(
        assigned=ConsumerShare(given.partitions) if isinstance(given, ConsumerAssignment) else None,
        owned=ConsumerShare(wanted.owned) if isinstance(wanted, ConsumerSubscription) else None,
    )
