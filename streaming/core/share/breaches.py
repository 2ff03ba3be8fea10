"""A law of share groups that is broken, and one that soon may be."""

from dataclasses import dataclass

from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.targets.group import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareBreach:
    """A law that is broken. `member` where one is concerned; `partitions` where some are."""

    rule: Rule
    member: str | None = None
    partitions: frozenset[TopicPartition] = frozenset()
    waited_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ShareDeadline:
    """A law about time that something may break: since when it lasts (ms), and how long it may."""

    since_ms: int
    patience_ms: int
    breach: ShareBreach

    @property
    def due_ms(self) -> int:
        """The first moment at which the law is broken."""
        return self.since_ms + self.patience_ms + 1
