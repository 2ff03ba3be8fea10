"""A law of share groups that is broken."""

from dataclasses import dataclass

from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.targets.breaches import TargetBreach
from rebalance_monitor.streaming.core.targets.group import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareBreach(TargetBreach):
    """A law that is broken. `partitions` where some are concerned."""

    rule: Rule
    partitions: frozenset[TopicPartition] = frozenset()
