"""A recorded target beside the one that the broker's assignor computes.

The coordinator's own order of members whose ids share a hash bucket is not in the records. Any of them counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum, auto
from itertools import islice

from rebalance_monitor.assignors.broker.model import BrokerGroup, BrokerResult, Outcome, member_orders
from rebalance_monitor.streaming.core.targets.group import TopicPartition

_MOST_ORDERS = 720
_MOST_WORK = 100_000
"""Members and partitions of all orders together that are tried for one target: large groups get fewer."""


class Comparison(Enum):
    """How a recorded target compares with a computed one."""

    SAME = auto()
    OTHER = auto()
    UNSURE = auto()
    """Members share places in the coordinator's map in more orders than are tried."""
    FAILED = auto()
    """The assignor throws on this input, or there is none."""


def orders_to_try(size: int) -> int:
    """How many orders of members are tried where one computation is of this size: members and what they share out."""
    return min(_MOST_ORDERS, max(1, _MOST_WORK // max(1, size)))


def compared(
    group: BrokerGroup,
    wanted: Mapping[str, frozenset[object]],
    assign: Callable[[BrokerGroup], Outcome],
    *,
    assumptions: int = 1,
) -> Comparison:
    """Whether the assignor gives each member of the group what it was given (`wanted`); under one of so many
    assumptions, which share what may be tried."""
    orders = member_orders(group.members)
    size = len(group.members) + sum(topic.partitions for topic in group.topics.values())
    ran = unsure = False
    for members in islice(orders, orders_to_try(size * assumptions)):
        outcome = assign(replace(group, members=members))
        if not isinstance(outcome, BrokerResult):
            continue
        ran = True
        if all(flat_target(outcome, one) == of for one, of in wanted.items()):
            return Comparison.SAME
        unsure |= outcome.unsure
    if unsure or next(orders, None) is not None:
        return Comparison.UNSURE
    return Comparison.OTHER if ran else Comparison.FAILED


def flat_target(result: BrokerResult, member: str) -> frozenset[TopicPartition]:
    """A member's computed target without order."""
    return frozenset((topic, number) for topic, of in result.target(member).items() for number in of)
