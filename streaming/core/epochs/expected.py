"""The targets that the coordinator of a KIP-848 consumer group should have computed, from the records before it.

The assignor runs where the log is written: members, subscriptions and previous targets are all in the records. Only the
partition counts are not (since 4.1), so they come in as `topics`. What is not known makes the input None.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from rebalance_monitor.assignors.broker import range_assignor, uniform
from rebalance_monitor.assignors.broker.model import (
    JAVA,
    BrokerGroup,
    BrokerMember,
    BrokerTopic,
    Outcome,
    Release,
    javas_of,
)
from rebalance_monitor.schemas.group_values import ConsumerMember
from rebalance_monitor.streaming.core.epochs.group import EpochGroup
from rebalance_monitor.streaming.core.targets.expected import Comparison, compared
from rebalance_monitor.streaming.core.targets.operation import Computed

DEFAULT_ASSIGNOR = "uniform"
_ASSIGNORS: Mapping[str, Callable[..., Outcome]] = {"uniform": uniform.assign, "range": range_assignor.assign}


def preferred(group: EpochGroup) -> tuple[str, ...]:
    """The assignor that most members prefer, several where these are even; the broker's default where nobody names
    one."""
    named = Counter(_named(group))
    most = max(named.values(), default=0)
    return tuple(sorted(name for name, count in named.items() if count == most)) or (DEFAULT_ASSIGNOR,)


def names_one(group: EpochGroup) -> bool:
    """Whether any member names an assignor."""
    return bool(_named(group))


def _named(group: EpochGroup) -> list[str]:
    known = (member.metadata for member in group.members.values())
    named = (one.server_assignor for one in known if isinstance(one, ConsumerMember))
    return [name for name in named if name is not None]


def converted(computed: Computed[EpochGroup]) -> bool:
    """Whether a conversion from the classic protocol brought the target, so that no assignor of the broker computed it:
    it brings members of the classic protocol alone, and the first target."""
    members = computed.after.members.values()
    return computed.before.assignment_epoch is None and all(one.classic is not None for one in members)


def assignor_input(computed: Computed[EpochGroup], topics: Mapping[str, BrokerTopic]) -> BrokerGroup | None:
    """What the assignor was given; None if a member's subscription is not known."""
    members = []
    for name, member in computed.after.members.items():
        if not isinstance(member.metadata, ConsumerMember):
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


def javas(computed: Computed[EpochGroup], topics: Mapping[str, BrokerTopic]) -> tuple[int, ...]:
    """The releases of Java that may give other targets, the likeliest first."""
    group = assignor_input(computed, topics)
    return (JAVA,) if group is None else javas_of(group)


def run(
    computed: Computed[EpochGroup],
    topics: Mapping[str, BrokerTopic],
    assignor: str,
    release: Release,
    java_version: int = JAVA,
) -> Outcome | None:
    """What the assignor gives for the members in the order of the view; None if the input is not known."""
    group = assignor_input(computed, topics)
    return None if group is None else _ASSIGNORS[assignor](group, release=release, java_version=java_version)


def explained(
    computed: Computed[EpochGroup],
    topics: Mapping[str, BrokerTopic],
    assignor: str,
    release: Release,
    java_version: int = JAVA,
    *,
    assign: Callable[..., Outcome] | None = None,
    assumptions: int = 1,
) -> Comparison:
    """Whether this assignor of the release computes the target from these topics, which is one of so many assumptions;
    `assign`: its function, if not ours."""
    group = assignor_input(computed, topics)
    if group is None:
        return Comparison.FAILED
    wanted = {member: view.wanted() for member, view in computed.after.members.items()}
    known = assign or partial(_ASSIGNORS[assignor], java_version=java_version)
    return compared(group, wanted, partial(known, release=release), assumptions=assumptions)
