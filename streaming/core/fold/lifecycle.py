"""What one kind of group brings to the fold. The fold knows lifecycles by this protocol alone.

A `Lifecycle` is declared once, in the registry. For one call of the fold it opens a `Session` on one group: the session
takes the group's rows, judges its records, keeps the timers of its rules, and gives back its body of the state.

    rows        take, unreadable, gap …    in the order of each partition      the body learns, nothing is concluded
    record      missing, judge             in the order of the group           results and notices
    time        due_ms, fire               between two records, and at a tick  notices
    events      tell                       some time behind the records        results and notices of the lane EVENTS

A session never opens or ends an incident: it returns notices, and the fold settles them in its book.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.fold.clocks import Leap, Passing
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.fold.state import Envelope, LastRecord
from rebalance_monitor.streaming.core.fold.timeouts import Timeouts
from rebalance_monitor.streaming.core.fold.waiting import WaitingRecords
from rebalance_monitor.streaming.core.incidents.notice import Lane, Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.transitions import Moment, PartKey
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, Gap, MemberRow, Row, Tick, TopicRecord
from rebalance_monitor.streaming.core.model.results import Part, Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat


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


class GroupView(Protocol):
    """What a session may know of its group beside its own body; it changes as the fold goes on, and is not to be
    changed by a session."""

    @property
    def settings(self) -> ClusterSettings:
        """The settings of the group's cluster."""
        ...

    @property
    def knowledge(self) -> Knowledge:
        """What is known of the cluster beside its groups."""
        ...

    @property
    def group(self) -> str:
        """The group id."""
        ...

    @property
    def tick(self) -> Tick | None:
        """The clock of this call."""
        ...

    @property
    def finite(self) -> bool:
        """Whether this is a whole input that nobody read as it was written."""
        ...

    @property
    def envelope(self) -> Envelope:
        """The envelope as it is now."""
        ...

    @property
    def waiting(self) -> WaitingRecords:
        """The records that wait for their turn, the first of them the one that is judged."""
        ...

    @property
    def shown_until_ms(self) -> int | None:
        """Until when the group surely was as it was polled last; None where its records are read."""
        ...

    def open(self, lane: Lane = Lane.RECORDS) -> Mapping[PartKey, Part]:
        """The open parts of incidents of a lane."""
        ...

    def moment(self, at_ms: int, *, generation: int | None = None, historic: bool | None = None) -> Moment:
        """A moment of the group, by default of its newest generation, and of history if its newest record is."""
        ...


class Session(Protocol):
    """One group in one call of the fold. Rows come first, then records, timers and events."""

    def take(self, row: Row, *, hole: bool) -> Sequence[Output]:
        """A row of a topic of the lifecycle, or a record of the group that is no generation. `hole`: rows before it in
        its partition are missing."""
        ...

    def unreadable(self, row: Row) -> None:
        """A record of such a topic that could not be read."""
        ...

    def gap(self, row: Row, gap: Gap) -> None:
        """Records of such a topic that were gone before they were read."""
        ...

    def lost_records(self, offset: int) -> None:
        """Records of the group itself, from this offset on, were gone before they were read."""
        ...

    def recreated(self, topic: str) -> None:
        """A topic of the lifecycle was deleted and created again."""
        ...

    def begins_anew(self, row: Row) -> bool:
        """Whether this row shows that its topic was created again, where topics have no ids."""
        ...

    def collect(self) -> None:
        """All rows of this call have come; records are judged next."""
        ...

    def shares(self, member: MemberRow) -> MemberShares:
        """What a member's bytes say."""
        ...

    def missing(self, row: Row) -> str | None:
        """Which evidence must arrive before this record can be judged; None if none."""
        ...

    def never_came(self, row: Row, missing: str) -> Reason:
        """Why a record is judged without its evidence."""
        ...

    def sample_from_ms(self) -> int | None:
        """A record waits for a sample of the topics that is asked at this time or later, by the monitor's clock; None
        if none does."""
        ...

    def live(self, at_ms: int) -> None:
        """The group is read as it goes on, at this time."""
        ...

    def rebase(self, passing: Passing) -> Sequence[Output]:
        """Before a record: how much of the time since the last one has surely passed. Timers move accordingly."""
        ...

    def begin_life(self) -> None:
        """The group id begins a new life: what the life before taught of members is forgotten."""
        ...

    def closed_before(self, row: Row) -> Sequence[Output]:
        """What records that only mean something together say, where this record, which comes next, is none of them."""
        ...

    def closed_by(self, at_ms: int) -> Sequence[Output]:
        """The same at a time by which every record of them has come."""
        ...

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        """One record whose turn has come, and what follows from it. `before`: the envelope before the record."""
        ...

    def passed_over(self, row: Row) -> None:
        """The record was a copy of an earlier one: it moves nothing."""
        ...

    def nobody_left(self) -> None:
        """A record of another lifecycle says that the group has no members."""
        ...

    def last(self) -> LastRecord | None:
        """The record judged last in this life of the group; None before the first."""
        ...

    def holdings(self) -> Holdings | None:
        """Who may read what; None where this kind of group reads no partitions, or nobody knows which."""
        ...

    def due_ms(self) -> int | None:
        """When the next timer is due, by the coordinator's clock."""
        ...

    def live_due_ms(self) -> int | None:
        """When the group must be folded by the live clock; None if it need not."""
        ...

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        """The timers that are due at this time."""
        ...

    def doubts(self, at_ms: int, by: str) -> Sequence[Output]:
        """What the timers would find at a time that nobody confirms, as possible; `by`: by which clock alone."""
        ...

    def timed_from(self) -> tuple[Source, int] | None:
        """Place and time of the record whose timers run."""
        ...

    def tell(self, end_ms: int | None, *, end_of_input: bool) -> Sequence[Output]:
        """Events as far as they have come. `end_ms`: the input has ended, surely not before this time; None where
        nobody knows."""
        ...

    def events_due_ms(self, attention_ms: int | None) -> int | None:
        """When there are events to tell, by the monitor's clock; `attention_ms`: when an incident of the lane EVENTS is
        to be notified, by the time of that lane."""
        ...

    def end(self, row: Row, *, historic: bool) -> None:
        """The group was deleted, or goes on under another protocol."""
        ...

    def stored(self) -> str | None:
        """The body as text of one line; None if there is nothing to keep."""
        ...


class Lifecycle(Protocol):
    """One kind of group."""

    @property
    def name(self) -> str:
        """The name under which bodies are stored."""
        ...

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Everything that its sessions can find."""
        ...

    @property
    def outlive(self) -> frozenset[str]:
        """Codes of rules whose incidents outlive the group's deletion."""
        ...

    @property
    def converts(self) -> bool:
        """Whether a group may go on under another protocol: then a tombstone of it may be no end
        (coordinator-log.md 5, last part)."""
        ...

    @property
    def classic(self) -> bool:
        """Whether its records are generations of the classic protocol."""
        ...

    @property
    def members(self) -> MemberFormat | None:
        """How its members' bytes are read; None where no record of a classic group carries them."""
        ...

    def owns(self, body: Body) -> bool:
        """Whether records with this body are of this kind of group, or rows of a topic of the lifecycle."""
        ...

    def topics(self, settings: ClusterSettings, group: str) -> frozenset[str]:
        """Topics beside the coordinator's log whose rows concern the group."""
        ...

    def longest_rebalance_ms(self, timeouts: Timeouts) -> int:
        """How long each of the two states of a rebalance may last at most, ms."""
        ...

    def written(self, record: TopicRecord) -> str:
        """A row of a topic of the lifecycle as text of one line, without what nobody may store."""
        ...

    def topic_record(self, text: str) -> TopicRecord:
        """What `written` wrote. Raises CodecError."""
        ...

    def open(self, view: GroupView, stored: str | None) -> Session:
        """A session on the group with this body; None: its first. Raises CodecError."""
        ...

    def salvage(self, stored: str) -> str | None:
        """What of a body no later record teaches again, as the body of a group that is begun anew; None if nothing."""
        ...
