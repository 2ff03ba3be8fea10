"""The lifecycle of groups that are only counted: types of records that nobody knows, and kinds that no lifecycle reads.

Their records are not read. What is published is whether the group lives and has members, as far as keys and tombstones
tell it: `Empty` without a member, `Dead` once its epoch was deleted, and `Unknown`, Kafka's own word, for a group with
members, which may be stable or reconciling. Of a group that is polled it is what brokers say. A lifecycle for such a
kind adds the kind to `READ_KINDS` of `core/reading/decoding.py` and owns its records.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.coordinator import Leap
from rebalance_monitor.streaming.core.fold.capabilities import Moments
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, Lifecycle, Session
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, MemberRow, OtherGroup, Row
from rebalance_monitor.streaming.core.model.results import Standing
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedState:
    """`members`: known by their ids alone, whose newest record is no tombstone; `deleted`: the newest record of the
    group's epoch is one. `shown`: the state of the group that was published last."""

    members: frozenset[str] = frozenset()
    deleted: bool = False
    shown: str | None = None

    def after(self, body: OtherGroup) -> "CountedState":
        """The state after a record of which only the key counts."""
        members, deleted = self.members, self.deleted
        if body.member is not None:
            member = frozenset({body.member})
            members = members - member if body.deleted else members | member
        if body.whole:  # after the tombstone of its epoch nothing is left of a group but garbage
            deleted, members = body.deleted, frozenset() if body.deleted else members
        return replace(self, members=members, deleted=deleted)

    @property
    def word(self) -> str:
        """The group's state in Kafka's words."""
        return "Dead" if self.deleted else "Unknown" if self.members else "Empty"


class CountedLifecycle(Lifecycle):
    """Every group that no other lifecycle owns."""

    name = "counted"
    rules: tuple[Rule, ...] = ()
    outlive: frozenset[str] = frozenset()
    converts = True
    classic = False
    members: MemberFormat | None = None

    def owns(self, body: Body) -> bool:
        return isinstance(body, OtherGroup)

    def open(self, view: GroupView, stored: str | None) -> Session:
        return CountedSession(view, CountedState() if stored is None else loads(CountedState, stored))

    def salvage(self, stored: str) -> str | None:
        """What the ids say goes on to hold."""
        return stored


class CountedSession(Moments, Session):
    """One such group in one call of the fold. Each of its records says all by itself."""

    def __init__(self, view: GroupView, state: CountedState) -> None:
        self.view, self.state = view, state

    def take(self, row: Row) -> Sequence[Output]:
        body, known = row.body, self.view.envelope
        if not isinstance(body, OtherGroup):
            return ()
        self.state = self.state.after(body)
        if self.state.shown is None and known.generation is None and not known.seen_from_start:
            return ()  # a group that never was a classic one, not even by its tombstone, is not shown yet
        word = body.state or self.state.word
        if word == self.state.shown:
            return ()
        self.state = replace(self.state, shown=word)
        return [Standing(cluster=self.view.settings.name, group=self.view.group, state=word, at_ms=row.timestamp_ms)]

    def closed_before(self, row: Row) -> Sequence[Output]:
        return ()

    def closed_by(self, at_ms: int) -> Sequence[Output]:
        return ()

    def closes_ms(self) -> int | None:
        return None

    def last(self) -> LastRecord | None:
        return None

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        return ()

    def shares(self, member: MemberRow) -> MemberShares:
        return MemberShares()

    def begin_life(self) -> None:
        """Who is known by the id alone goes on to be."""
        self.state = replace(self.state, deleted=False)

    def end(self, row: Row, *, historic: bool) -> None:
        self.state = CountedState()

    def stored(self) -> str | None:
        return None if self.state == CountedState() else dumps(self.state)
