"""A fourth kind of group with targets, invented: leases. Whoever comes first by name is given everything.

What it needed: one value of `Kind`, an assignor (`first_of_all`), and words (four rules). No module of the product
knows it.
"""

from collections.abc import Sequence
from dataclasses import replace

from rebalance_monitor.assignors.broker.model import BrokerGroup, BrokerResult, Outcome, Share
from rebalance_monitor.streaming.core.targets import rules_consumer
from rebalance_monitor.streaming.core.targets.kind import Kind, KindWords
from rebalance_monitor.streaming.core.targets.kinds import judged_by
from rebalance_monitor.streaming.core.targets.law import Law
from rebalance_monitor.streaming.core.targets.member import StatedPart
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.topics import KnownTopics
from rebalance_monitor.streaming.core.targets.verdict import Assigning, Assumption

ASSIGNOR = "first-of-all"


def first_of_all(group: BrokerGroup) -> Outcome:
    """Every partition of every topic, for the first member by name."""
    shares: dict[str, Share | None] = {member.id: {} for member in group.members}
    shares[min(shares)] = {topic.id: set(range(topic.partitions)) for topic in group.topics.values()}
    return BrokerResult(shares=shares)


def _choices(_computed: Computed, views: Sequence[KnownTopics]) -> list[Assumption]:
    return [
        Assumption(assignor=ASSIGNOR, era=">=1.0", assign=first_of_all, topics=view.topics, why=view.why)
        for view in views
    ]


TWO_LESSEES = replace(
    rules_consumer.TWO_HOLDERS, code="LEASE-1", title="leased_twice", alert="LeasedTwice", wrong="Two hold one lease."
)
LAGGING = replace(
    rules_consumer.LAGGING, code="LEASE-2", title="lessee_lagging", alert="LesseeLagging", wrong="A lessee is late."
)
NO_TARGET = replace(
    rules_consumer.NO_TARGET, code="LEASE-3", title="lease_overdue", alert="LeaseOverdue", wrong="No leases are given."
)
UNLEASED = replace(
    rules_consumer.WITHOUT_OWNER, code="LEASE-4", title="unleased", alert="Unleased", wrong="Nobody holds a lease."
)
LEASES = Kind(
    name="lease",
    parts={
        103: StatedPart.EPOCH,
        104: StatedPart.METADATA,
        105: StatedPart.MEMBER,
        106: StatedPart.ASSIGNED,
        107: StatedPart.TARGET,
        108: StatedPart.CURRENT,
    },
    rules={
        Law.SEVERAL_HOLDERS: TWO_LESSEES,
        Law.LAGGING: LAGGING,
        Law.NO_TARGET: NO_TARGET,
        Law.TARGET_INCOMPLETE: UNLEASED,
    },
    words=KindWords(of_member={Law.LAGGING: "has not come for its leases of epoch {target} since {since}"}),
    judge=judged_by(Assigning(lambda group: ASSIGNOR, _choices)),
)
