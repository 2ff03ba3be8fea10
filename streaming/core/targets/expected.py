"""The targets that the coordinator should have computed, from the records before them, beside the recorded ones.

The assignor runs where the log is written: members, subscriptions and previous targets are all in the records. Only the
partition counts are not (since 4.1), so they come in as `topics`. The coordinator's own order of members whose ids
share a hash bucket is not in the records, either. Any of them counts.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from itertools import islice
from typing import TypeAlias

from rebalance_monitor.assignors.broker.model import BrokerGroup, BrokerMember, BrokerResult, Outcome, member_orders
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.group_values import ConsumerMember, Target
from .operation import Computed
from .topics import Topics
from .units import TopicPartition

_MOST_ORDERS = 720
_MOST_WORK = 100_000
"""Members and partitions of all orders together that are tried for one target: large groups get fewer."""

Assign: TypeAlias = Callable[[BrokerGroup], Outcome]
"""An assignor of one release on one Java."""


class Comparison(Enum):
    """How a recorded target compares with a computed one."""

    SAME = auto()
    OTHER = auto()
    UNSURE = auto()
    """Members share places in the coordinator's map in more orders than are tried."""
    FAILED = auto()
    """The assignor throws on this input, or there is none."""


def assignor_input(computed: Computed, topics: Topics) -> BrokerGroup | None:
    """What the assignor was given; None if a member's subscription is not known."""
    members = []
    for name, member in computed.after.members.items():
        if member.metadata is None:
            return None
        known = computed.before.members.get(name)
        earlier = known.target.partitions if known is not None and isinstance(known.target, Target) else ()
        joined = member.metadata if isinstance(member.metadata, ConsumerMember) else None
        members.append(
            BrokerMember(
                id=name,
                names=computed.after.names_of(member),
                previous=tuple((one.topic, one.numbers) for one in earlier),
                instance_id=member.instance_id,
                rack=member.metadata.rack,
                pattern=joined.regex or None if joined else None,
                mixed=bool(joined and joined.regex and joined.names),
            )
        )
    return BrokerGroup(members=tuple(members), topics=topics)


def explained(computed: Computed, topics: Topics, assign: Assign, *, assumptions: int = 1) -> Comparison:
    """Whether the assignor computes the target from these topics, which is one of so many assumptions."""
    group = assignor_input(computed, topics)
    if group is None:
        return Comparison.FAILED
    wanted = {name: member.wanted() for name, member in computed.after.members.items()}
    answer = compared(group, wanted, assign, assumptions=assumptions)
    if answer is Comparison.SAME:
        return answer
    for alike in _taken_for_alike(computed, topics):
        if alike is not group.homogeneous:
            other = compared(replace(group, alike=alike), wanted, assign, assumptions=assumptions)
            answer = other if other is Comparison.SAME else answer
    return answer


def _taken_for_alike(computed: Computed, topics: Topics) -> Iterator[bool]:
    """What the coordinator may have taken the subscriptions for, other than what they are: broker-assignors.md 1."""
    if computed.before.alike is not None:
        yield computed.before.alike
    # A member with a regular expression that is not resolved yet raises no group epoch. Then the coordinator takes the
    # subscriptions for what they were before this request.
    earlier = computed.earlier
    if earlier is None or not any(map(computed.after.unresolved, computed.after.members.values())):
        return
    before = assignor_input(Computed(computed.before, earlier), topics)
    if earlier.alike is not None:
        yield earlier.alike
    elif before is not None:
        yield before.homogeneous


def compared(
    group: BrokerGroup, wanted: Mapping[str, frozenset[object]], assign: Assign, *, assumptions: int = 1
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


def orders_to_try(size: int) -> int:
    """How many orders of members are tried where one computation is of this size: members and what they share out."""
    return min(_MOST_ORDERS, max(1, _MOST_WORK // max(1, size)))


def flat_target(result: BrokerResult, member: str) -> frozenset[TopicPartition]:
    """A member's computed target without order."""
    return frozenset((topic, number) for topic, of in result.target(member).items() for number in of)
