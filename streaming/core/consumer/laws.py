"""Laws about one generation of a consumer group."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.fold.unreadable_members import unreadable_members
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Subject
from .catalogue import CONSUMER_UNDECODABLE, MIXED_CLIENTS, SHORT_SUBSCRIPTION
from .members import left_out
from .subscriptions import short_members, subscription_of

CONSUMER = "consumer"
NAMED = 3
"""Members that a message names for each version before it only counts them."""


@dataclass(frozen=True, slots=True)
class ConsumerLaw:
    """A rule, and what looks for it in a generation of this group id."""

    rule: Rule
    broken: Callable[[str, GroupGeneration, Evidence], Iterator[Finding]]


def _undecodable(_group: str, body: GroupGeneration, here: Evidence) -> Iterator[Finding]:
    """Members that were left out have no share; only Kafka's own assignors write an empty one for them."""
    if not any(isinstance(blob, BadBlob) for one in body.members for blob in (one.subscription, one.assignment)):
        return iter(())
    judged = tuple(
        replace(member, subscription=subscription_of(member) or member.subscription)
        for member in body.members
        if not left_out(body, member)
    )
    return unreadable_members(replace(body, members=judged), here, CONSUMER_UNDECODABLE)


def _short_subscription(group: str, body: GroupGeneration, here: Evidence) -> Iterator[Finding]:
    """One finding of the group, whose text does not change with its members: it is said once."""
    versions = sorted({one.version for one in map(subscription_of, short_members(body)) if one is not None})
    if versions:
        text = " and ".join(map(str, versions))
        yield Finding(
            rule=SHORT_SUBSCRIPTION,
            severity=SHORT_SUBSCRIPTION.severity,
            certainty=Certainty.CERTAIN,
            subjects=(Subject("group", group),),
            message=f"subscriptions of version {text} end behind the user data and are read as version 0",
            evidence=(here,),
        )


def _mixed_clients(group: str, body: GroupGeneration, here: Evidence) -> Iterator[Finding]:
    """Members that write their subscriptions in different versions, the oldest first (consumer.md 9, C-11).

    A client always writes the newest version that it knows, but for libraries that write version 0 where they need no
    more.
    """
    members: dict[int, list[str]] = defaultdict(list)
    for member in body.members:
        subscription = subscription_of(member)
        if subscription is not None and subscription.version:
            members[subscription.version].append(member.member_id)
    if len(members) < 2:
        return
    told = " and ".join(f"in version {version} by {_several(members[version])}" for version in sorted(members))
    yield Finding(
        rule=MIXED_CLIENTS,
        severity=MIXED_CLIENTS.severity,
        certainty=Certainty.CERTAIN,
        subjects=(Subject("group", group),),
        message=f"subscriptions are written {told}: their clients differ in release or library; the leader's decides",
        evidence=(here,),
    )


def _several(names: Sequence[str]) -> str:
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(sorted(names)[:NAMED]) + rest


LAWS = (
    ConsumerLaw(CONSUMER_UNDECODABLE, _undecodable),
    ConsumerLaw(MIXED_CLIENTS, _mixed_clients),
    ConsumerLaw(SHORT_SUBSCRIPTION, _short_subscription),
)
