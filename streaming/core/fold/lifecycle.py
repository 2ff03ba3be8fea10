"""What one kind of group brings to the fold. The fold knows lifecycles by this protocol alone.

A `Lifecycle` is declared once, in the registry. For one call of the fold it opens a `Session` on one group: the session
takes the group's rows, judges its records, keeps the timers of its rules, and gives back its body of the state.

    rows        TopicReader.read …     in the order of each partition      the body learns, nothing is concluded
    record      Awaits.missing, judge   in the order of the group           results and notices
    time        Timed.due_ms, fire     between two records, and at a tick  notices
    events      RunsBehind.tell        some time behind the records        results and notices of the lane EVENTS

Only `judge` is asked of every session; the others are capabilities. A session never opens or ends an incident: it
returns notices, and the fold settles them in its book.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from rebalance_monitor.streaming.core.clocks.coordinator import Leap
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.incidents.notice import Lane, Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.transitions import Moment, PartKey
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, MemberRow, Row, Tick
from rebalance_monitor.streaming.core.model.results import Part
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from .published import MemberShares
from .state import Envelope
from .timeouts import Timeouts
from .waiting import WaitingRecords


class GroupView(Protocol):
    """What a session may know of its group beside its own body; it changes as the fold goes on, and is not to be
    changed by a session."""

    @property
    def settings(self) -> ClusterSettings:
        """The settings of the group's cluster."""

    @property
    def knowledge(self) -> Knowledge:
        """What is known of the cluster beside its groups."""

    @property
    def group(self) -> str:
        """The group id."""

    @property
    def tick(self) -> Tick | None:
        """The clock of this call."""

    @property
    def finite(self) -> bool:
        """Whether this is a whole input that nobody read as it was written."""

    @property
    def envelope(self) -> Envelope:
        """The envelope as it is now."""

    @property
    def waiting(self) -> WaitingRecords:
        """The records that wait for their turn, the first of them the one that is judged."""

    @property
    def shown_until_ms(self) -> int | None:
        """Until when the group surely was as it was polled last; None where its records are read."""

    def open(self, lane: Lane = Lane.RECORDS) -> Mapping[PartKey, Part]:
        """The open parts of incidents of a lane."""

    def moment(self, at_ms: int, *, generation: int | None = None, historic: bool | None = None) -> Moment:
        """A moment of the group, by default of its newest generation, and of history if its newest record is."""


class Session(Protocol):
    """One group in one call of the fold: what every session does. What it may do beside is in `capabilities`."""

    def shares(self, member: MemberRow) -> MemberShares:
        """What a member's bytes say."""

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        """One record whose turn has come, and what follows from it. `before`: the envelope before the record."""

    def last(self) -> LastRecord | None:
        """The record judged last in this life of the group; None before the first."""

    def begin_life(self) -> None:
        """The group id begins a new life: what the life before taught of members is forgotten."""

    def end(self, row: Row, *, historic: bool) -> None:
        """The group was deleted, or goes on under another protocol."""

    def stored(self) -> str | None:
        """The body as text of one line; None if there is nothing to keep."""


class Lifecycle(Protocol):
    """One kind of group. One that reads topics of its own is a `ReadsTopics`, too."""

    @property
    def name(self) -> str:
        """The name under which bodies are stored."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Everything that its sessions can find."""

    @property
    def outlive(self) -> frozenset[str]:
        """Codes of rules whose incidents outlive the group's deletion."""

    @property
    def converts(self) -> bool:
        """Whether a group may go on under another protocol: then a tombstone of it may be no end
        (coordinator-log.md 5, last part)."""

    @property
    def classic(self) -> bool:
        """Whether its records are generations of the classic protocol."""

    @property
    def members(self) -> MemberFormat | None:
        """How its members' bytes are read; None where no record of a classic group carries them."""

    def owns(self, body: Body) -> bool:
        """Whether records with this body are of this kind of group, or rows of a topic of the lifecycle."""

    def longest_rebalance_ms(self, timeouts: Timeouts) -> int:
        """How long each of the two states of a rebalance may last at most, ms: the coordinator waits for the longest
        rebalance time-out."""
        return timeouts.rebalance_ms

    def open(self, view: GroupView, stored: str | None) -> Session:
        """A session on the group with this body; None: its first. Raises CodecError."""

    def salvage(self, stored: str) -> str | None:
        """What of a body no later record teaches again, as the body of a group that is begun anew; None if nothing."""
        return None
