"""What most lifecycles have in common: no topics beside the coordinator's log."""

from rebalance_monitor.streaming.core.fold.timeouts import Timeouts
from rebalance_monitor.streaming.core.model.codec import CodecError
from rebalance_monitor.streaming.core.model.records import TopicRecord
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


class NoTopics:
    """What holds of a lifecycle whose records all lie in the coordinator's log."""

    def topics(self, settings: ClusterSettings, group: str) -> frozenset[str]:
        return frozenset()

    def longest_rebalance_ms(self, timeouts: Timeouts) -> int:
        """The coordinator waits for the longest rebalance time-out."""
        return timeouts.rebalance_ms

    def written(self, record: TopicRecord) -> str:
        """Nobody asks for it. Raises TypeError."""
        raise TypeError(f"no topic of this lifecycle has a {type(record).__name__}")

    def topic_record(self, text: str) -> TopicRecord:
        """Nobody wrote one. Raises CodecError."""
        raise CodecError("no topic of this lifecycle has records")
