"""The targets that the coordinator of a KIP-848 consumer group should have computed, from the records before it.

The assignor runs where the log is written: members, subscriptions and previous targets are all in the records. Only the
partition counts are not (since 4.1), so they come in as `topics`. What is not known makes the input None.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from rebalance_monitor.assignors.broker import range_assignor, uniform
from rebalance_monitor.assignors.broker.model import (
    NEWEST,
    BrokerGroup,
    BrokerMember,
    BrokerResult,
    BrokerTopic,
    Outcome,
    Release,
    member_orders,
)
from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.streaming.core.epochs.group import EpochGroup, TopicPartition, take

DEFAULT_ASSIGNOR = "uniform"
_ASSIGNORS: Mapping[str, Callable[..., Outcome]] = {"uniform": uniform.assign, "range": range_assignor.assign}
_ASSIGNED, _TARGET = 6, 7
_MOST_ORDERS = 720


def assignor_of(group: EpochGroup) -> str | None:
    """The assignor that most members prefer: the broker's default where nobody names one, None where two are even."""
    named = Counter(
        member.metadata.server_assignor
        for member in group.members.values()
        if member.metadata is not None and member.metadata.server_assignor is not None
    )
    ranked = named.most_common(2)
    if not ranked:
        return DEFAULT_ASSIGNOR
    return None if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


@dataclass(frozen=True, slots=True)
class Computed:
    """A target that an operation brought: the group just before its type-7 records, and just after the type-6 one."""

    before: EpochGroup
    after: EpochGroup


def computed_targets(group: EpochGroup, records: Sequence[GroupRecord], at_ms: int) -> list[Computed]:
    """The targets that one operation brings to `group`; several batches may share a timestamp.

    A replaced static member is given its predecessor's target by type-7 records of their own; a computed target's stand
    right before the type-6 record. What a conversion from the classic protocol brings was not computed.
    """
    found = []
    before = group
    for record in records:
        if record.type != _TARGET:
            after = take(group, record, at_ms)
            if record.type == _ASSIGNED and record.value is not None and group.assignment_epoch is not None:
                found.append(Computed(before, after))
            before = group = after
        else:
            group = take(group, record, at_ms)
    return found


def assignor_input(computed: Computed, topics: Mapping[str, BrokerTopic]) -> BrokerGroup | None:
    """What the assignor was given; None if a member's subscription is not known."""
    members = []
    for name, member in computed.after.members.items():
        if member.metadata is None:
            return None
        known = computed.before.members.get(name)
        earlier = (known.target if known is not None else None) or ()
        members.append(
            BrokerMember(
                id=name,
                names=computed.after.names_of(member),
                previous=tuple((one.topic, one.numbers) for one in earlier),
                instance_id=member.metadata.instance_id,
                rack=member.metadata.rack,
            )
        )
    return BrokerGroup(members=tuple(members), topics=topics)


def explains(computed: Computed, topics: Mapping[str, BrokerTopic], release: Release = NEWEST) -> bool | None:
    """Whether the broker's assignor computes this target from these topics; None if that cannot be told.

    The coordinator's own order of members whose ids share a hash bucket is not in the records. Any of them counts.
    """
    group, name = assignor_input(computed, topics), assignor_of(computed.after)
    assign = _ASSIGNORS.get(name or "")
    if group is None or assign is None:
        return None
    wanted = {member: view.wanted() for member, view in computed.after.members.items()}
    orders = member_orders(group.members)
    for members in islice(orders, _MOST_ORDERS):
        outcome = assign(replace(group, members=members), release=release)
        if isinstance(outcome, BrokerResult) and all(flat_target(outcome, one) == of for one, of in wanted.items()):
            return True
    return None if next(orders, None) is not None else False


def flat_target(result: BrokerResult, member: str) -> frozenset[TopicPartition]:
    """A member's computed target without order."""
    return frozenset((topic, number) for topic, of in result.target(member).items() for number in of)
