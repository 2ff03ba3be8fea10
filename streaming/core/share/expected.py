"""The targets that the coordinator of a share group should have computed, from the records before them.

Its assignor is `simple` (`assignors.broker.simple`). Members, subscriptions, previous targets and, since 4.1, the
partitions that may be assigned are all in the records.
"""

from collections.abc import Mapping
from functools import partial

from rebalance_monitor.assignors.broker import simple
from rebalance_monitor.assignors.broker.model import BrokerGroup, BrokerMember, BrokerTopic, Outcome, Release
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.targets.expected import Comparison, compared
from rebalance_monitor.streaming.core.targets.operation import Computed


def assignor_input(computed: Computed[ShareGroup], topics: Mapping[str, BrokerTopic]) -> BrokerGroup | None:
    """What the assignor was given; None if a member's subscription is not known."""
    members = []
    for name, member in computed.after.members.items():
        if member.metadata is None:
            return None
        known = computed.before.members.get(name)
        earlier = (known.target if known is not None else None) or ()
        previous = tuple((one.topic, one.numbers) for one in earlier)
        members.append(BrokerMember(id=name, names=member.names, previous=previous, rack=member.metadata.rack))
    return BrokerGroup(members=tuple(members), topics=topics)


def run(
    computed: Computed[ShareGroup], topics: Mapping[str, BrokerTopic], release: Release, java_version: int
) -> Outcome | None:
    """What the assignor gives for the members in the order of the view; None if the input is not known."""
    group = assignor_input(computed, topics)
    assignable = computed.after.initialized()
    return (
        None
        if group is None
        else simple.assign(group, release=release, java_version=java_version, assignable=assignable)
    )


def explained(
    computed: Computed[ShareGroup],
    topics: Mapping[str, BrokerTopic],
    release: Release,
    java_version: int,
    *,
    assumptions: int = 1,
) -> Comparison:
    """Whether the release's assignor computes the target from these topics, which is one of so many assumptions."""
    group = assignor_input(computed, topics)
    if group is None:
        return Comparison.FAILED
    wanted = {name: member.wanted() for name, member in computed.after.members.items()}
    assign = partial(simple.assign, release=release, java_version=java_version, assignable=computed.after.initialized())
    return compared(group, wanted, assign, assumptions=assumptions)
