"""What most lifecycles have in common: no topics beside the coordinator's log, sessions without timers or events."""

from collections.abc import Sequence

from rebalance_monitor.streaming.core.fold.clocks import Passing
from rebalance_monitor.streaming.core.fold.lifecycle import Holdings
from rebalance_monitor.streaming.core.fold.state import LastRecord
from rebalance_monitor.streaming.core.fold.timeouts import Timeouts
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.codec import CodecError
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import Gap, Row, TopicRecord
from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


class QuietSession:
    """A session of a lifecycle that has no topics, timers or events; it still has to judge."""

    def last(self) -> LastRecord | None:
        return None

    def take(self, row: Row, *, hole: bool) -> Sequence[Output]:
        return ()

    def unreadable(self, row: Row) -> None:
        pass

    def gap(self, row: Row, gap: Gap) -> None:
        pass

    def lost_records(self, offset: int) -> None:
        """The envelope has it."""

    def recreated(self, topic: str) -> None:
        pass

    def begins_anew(self, row: Row) -> bool:
        return False

    def collect(self) -> None:
        pass

    def missing(self, row: Row) -> str | None:
        """Everything stands in the record."""
        return None

    def never_came(self, row: Row, missing: str) -> Reason:
        return Reason(ReasonKind.EVIDENCE_MISSING, missing)

    def sample_from_ms(self) -> int | None:
        return None

    def live(self, at_ms: int) -> None:
        pass

    def rebase(self, passing: Passing) -> Sequence[Output]:
        return ()

    def closed_before(self, row: Row) -> Sequence[Output]:
        """Each record says all by itself."""
        return ()

    def closed_by(self, at_ms: int) -> Sequence[Output]:
        """Each record says all by itself."""
        return ()

    def passed_over(self, row: Row) -> None:
        pass

    def nobody_left(self) -> None:
        pass

    def holdings(self) -> Holdings | None:
        """No member reads partitions, or nobody knows which."""
        return None

    def due_ms(self) -> int | None:
        return None

    def live_due_ms(self) -> int | None:
        return None

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        return ()

    def doubts(self, at_ms: int, by: str) -> Sequence[Output]:
        return ()

    def timed_from(self) -> tuple[Source, int] | None:
        """The last record, where something is due."""
        return None if (last := self.last()) is None or self.due_ms() is None else (last.source, last.at_ms)

    def tell(self, end_ms: int | None, *, end_of_input: bool) -> Sequence[Output]:
        return ()

    def events_due_ms(self, attention_ms: int | None) -> int | None:
        return None


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
