"""Laws about one generation of a consumer group."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rebalance_monitor.streaming.core.consumer.catalogue import CONSUMER_UNDECODABLE
from rebalance_monitor.streaming.core.fold.unreadable_members import unreadable_members
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Evidence

CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class ConsumerLaw:
    """A rule, and what looks for it in a generation of this group id."""

    rule: Rule
    broken: Callable[[str, GroupGeneration, Evidence], Iterator[Finding]]


def _undecodable(_group: str, body: GroupGeneration, here: Evidence) -> Iterator[Finding]:
    return unreadable_members(body, here, CONSUMER_UNDECODABLE)


LAWS = (ConsumerLaw(CONSUMER_UNDECODABLE, _undecodable),)
