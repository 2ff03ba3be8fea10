"""What a session may offer beside judging records. The fold asks each session for what it derives from, and no more.

TopicReader    its records lie in topics beside the coordinator's log, too
Awaits          a record may wait for evidence
Moments        records mean something only together: those of one moment of the coordinator
Timed          its rules have timers
Doubting       how much time has passed may be doubtful, and is told apart
Holds          its members read partitions
Followed       records of another lifecycle may tell that nobody is left
RunsBehind     some things are told only when what came from elsewhere has caught up
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.clocks.coordinator import Passing
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import Gap, Row
from rebalance_monitor.streaming.core.model.results import Source
from .lifecycle import Session


class TopicReader(ABC):
    """A session that reads topics of its lifecycle. Rows come first, in the order of each partition."""

    @abstractmethod
    def read(self, row: Row, *, hole: bool) -> Sequence[Output]:
        """A row of such a topic. `hole`: rows before it in its partition are missing."""

    @abstractmethod
    def unreadable(self, row: Row) -> None:
        """A record of such a topic that could not be read."""

    @abstractmethod
    def gap(self, row: Row, gap: Gap) -> None:
        """Records of such a topic that were gone before they were read."""

    @abstractmethod
    def lost_records(self, offset: int) -> None:
        """Records of the group itself, from this offset on, were gone before they were read."""

    @abstractmethod
    def recreated(self, topic: str) -> None:
        """A topic of the lifecycle was deleted and created again."""

    @abstractmethod
    def begins_anew(self, row: Row) -> bool:
        """Whether this row shows that its topic was created again, where topics have no ids."""

    @abstractmethod
    def collect(self) -> None:
        """All rows of this call have come; records are judged next."""


class Awaits(ABC):
    """A session whose records may wait for evidence."""

    @abstractmethod
    def missing(self, row: Row) -> str | None:
        """Which evidence must arrive before this record can be judged; None if none."""

    def never_came(self, row: Row, missing: str) -> Reason:
        """Why a record is judged without its evidence."""
        return Reason(ReasonKind.EVIDENCE_MISSING, missing)

    def sample_from_ms(self) -> int | None:
        """A record waits for a sample of the topics that is asked at this time or later, by the monitor's clock; None
        if none does."""
        return None


class Moments(ABC):
    """A session that keeps records until the moment that they belong to is closed."""

    @abstractmethod
    def take(self, row: Row) -> Sequence[Output]:
        """A record that is no generation by itself."""

    @abstractmethod
    def closed_before(self, row: Row) -> Sequence[Output]:
        """What the records of an earlier moment say, where this record, which comes next, is none of them."""

    @abstractmethod
    def closed_by(self, at_ms: int) -> Sequence[Output]:
        """The same at a time by which every record of them has come."""

    @abstractmethod
    def closes_ms(self) -> int | None:
        """When the moment that was begun is over, by the monitor's clock; None where none was."""


class Timed(Session, ABC):
    """A session whose rules have timers, by the coordinator's clock."""

    @abstractmethod
    def due_ms(self) -> int | None:
        """When the next timer is due; None if none is."""

    @abstractmethod
    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        """The timers that are due at this time."""

    @abstractmethod
    def rebase(self, passing: Passing) -> Sequence[Output]:
        """Before a record: how much of the time since the last one has surely passed. Timers move accordingly."""

    def timed_from(self) -> tuple[Source, int] | None:
        """Place and time of the record whose timers run."""
        last = None if self.due_ms() is None else self.last()
        return None if last is None else (last.source, last.at_ms)


class Doubting(Timed):
    """A session that also says what its timers would find at a time that nobody confirms."""

    @abstractmethod
    def doubts(self, at_ms: int, by: str) -> Sequence[Output]:
        """What the timers would find at this time, as possible; `by`: by which clock alone."""

    @abstractmethod
    def passed_over(self, row: Row) -> None:
        """The record, which time was moved for, was a copy of an earlier one: it moves nothing."""

    @abstractmethod
    def live(self, at_ms: int) -> None:
        """The group is read as it goes on, at this time."""

    @abstractmethod
    def live_due_ms(self) -> int | None:
        """When the group must be folded by the live clock; None if it need not."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The partitions (`topic-number`) that each member may read and commit, by the newest record. `since_ms`: since
    when somebody has surely held them, by the coordinator's clock; `busy_ms`: how long a member may be busy between two
    polls. None where nobody knows. `taken_ms`: when a member took a partition that it may have to restore state for
    before it reads it, or a later time, by the coordinator's clock."""

    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    since_ms: int | None = None
    busy_ms: int | None = None
    taken_ms: Mapping[str, int] = field(default_factory=dict)


class Holds(ABC):
    """A session that knows what its members read."""

    @abstractmethod
    def holdings(self) -> Holdings | None:
        """Who may read what; None where nobody knows."""


class Followed(Session, ABC):
    """A session of a group whose members may leave it under another lifecycle: records without members name none."""

    @abstractmethod
    def nobody_left(self) -> None:
        """A record of another lifecycle says that the group has no members."""


class RunsBehind(ABC):
    """A session that tells of some things, the lane EVENTS, some time behind the records."""

    @abstractmethod
    def tell(self, end_ms: int | None, *, end_of_input: bool) -> Sequence[Output]:
        """Events as far as they have come. `end_ms`: the input has ended, surely not before this time; None where
        nobody knows."""

    @abstractmethod
    def events_due_ms(self, attention_ms: int | None) -> int | None:
        """When there are events to tell, by the monitor's clock; `attention_ms`: when an incident of the lane EVENTS is
        to be notified, by the time of that lane."""
