"""The user data inside a consumer's subscription and assignment, told apart by the group's chosen protocol."""

from . import sticky_user_data, streams_tasks
from .outcomes import Outcome
from .sticky_user_data import StickyUserData, decode_sticky_user_data
from .streams_assignment import AssignmentInfo, decode_assignment_info
from .streams_subscription import SubscriptionInfo, decode_subscription_info


def decode_subscription_user_data(
    protocol: str | None, raw: bytes | None
) -> Outcome[StickyUserData] | Outcome[SubscriptionInfo] | None:
    """What a member of a group that chose `protocol` says beyond its subscription; None where the protocol has no user
    data of a known form. A Streams member without user data is unreadable, as it is to its leader."""
    match protocol:
        case sticky_user_data.STICKY:
            return decode_sticky_user_data(raw)
        case sticky_user_data.COOPERATIVE_STICKY:
            return decode_sticky_user_data(raw, cooperative=True)
        case streams_tasks.PROTOCOL:
            return decode_subscription_info(raw or b"")
        case _:
            return None


def decode_assignment_user_data(protocol: str | None, raw: bytes | None) -> Outcome[AssignmentInfo] | None:
    """What the leader of a group that chose `protocol` says beyond the partitions; None where it says nothing. A member
    that has no assignment yet has no user data either."""
    return decode_assignment_info(raw) if protocol == streams_tasks.PROTOCOL and raw is not None else None
