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
        """Nothing was judged."""
        return None

    def take(self, row: Row, *, hole: bool) -> Sequence[Output]:
        """No topic."""
        return ()

    def unreadable(self, row: Row) -> None:
        """No topic."""

    def gap(self, row: Row, gap: Gap) -> None:
        """No topic."""

    def lost_records(self, offset: int) -> None:
        """The envelope has it."""

    def recreated(self, topic: str) -> None:
        """No topic."""

    def begins_anew(self, row: Row) -> bool:
        """No topic."""
        return False

    def collect(self) -> None:
        """Nothing was put aside."""

    def missing(self, row: Row) -> str | None:
        """Everything stands in the record."""
        return None

    def never_came(self, row: Row, missing: str) -> Reason:
        """Nothing is waited for."""
        return Reason(ReasonKind.EVIDENCE_MISSING, missing)

    def sample_from_ms(self) -> int | None:
        """Nothing is waited for."""
        return None

    def live(self, at_ms: int) -> None:
        """Nothing is timed."""

    def rebase(self, passing: Passing) -> Sequence[Output]:
        """Nothing waits."""
        return ()

    def closed_before(self, row: Row) -> Sequence[Output]:
        """Each record says all by itself."""
        return ()

    def closed_by(self, at_ms: int) -> Sequence[Output]:
        """Each record says all by itself."""
        return ()

    def passed_over(self, row: Row) -> None:
        """Nothing moved."""

    def nobody_left(self) -> None:
        """Nothing is kept of members."""

    def holdings(self) -> Holdings | None:
        """No member reads partitions, or nobody knows which."""
        return None

    def due_ms(self) -> int | None:
        """No timers."""
        return None

    def live_due_ms(self) -> int | None:
        """No timers."""
        return None

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        """No timers."""
        return ()

    def doubts(self, at_ms: int, by: str) -> Sequence[Output]:
        """No timers."""
        return ()

    def timed_from(self) -> tuple[Source, int] | None:
        """The last record, where something is due."""
        return None if (last := self.last()) is None or self.due_ms() is None else (last.source, last.at_ms)

    def tell(self, end_ms: int | None, *, end_of_input: bool) -> Sequence[Output]:
        """No events."""
        return ()

    def events_due_ms(self, attention_ms: int | None) -> int | None:
        """No events."""
        return None


class NoTopics:
    """What holds of a lifecycle whose records all lie in the coordinator's log."""

    def topics(self, settings: ClusterSettings, group: str) -> frozenset[str]:
        """None."""
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
