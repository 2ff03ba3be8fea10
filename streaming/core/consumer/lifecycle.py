"""The lifecycle of consumer groups, and of every classic group that no other lifecycle owns."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from streaming.core.consumer import catalogue
from streaming.core.consumer.generation import judged
from streaming.core.consumer.laws import LAWS, ConsumerLaw
from streaming.core.consumer.member_format import CONSUMER_MEMBERS
from streaming.core.consumer.member_shares import shares_of
from streaming.core.consumer.state import ConsumerState
from streaming.core.fold.clocks import Leap
from streaming.core.fold.lifecycle import GroupView, NoTopics, QuietSession, Session
from streaming.core.fold.published import MemberShares
from streaming.core.fold.state import Envelope, LastRecord
from streaming.core.incidents.notice import Output
from streaming.core.incidents.rule import Rule
from streaming.core.model.codec import dumps, loads
from streaming.core.model.reasons import Reason
from streaming.core.model.records import Body, GroupGeneration, MemberRow, Row
from streaming.core.reading.blobs import MemberFormat


class ConsumerLifecycle(NoTopics):
    """`laws`: what others know about the consumers of a group, beside the laws of this package."""

    name = "consumer"
    rules: tuple[Rule, ...] = catalogue.RULES
    outlive: frozenset[str] = frozenset()
    converts = True
    members: MemberFormat | None = CONSUMER_MEMBERS

    def __init__(self, laws: Iterable[ConsumerLaw] = ()) -> None:
        self._laws = (*LAWS, *laws)

    def owns(self, body: Body) -> bool:
        """Every classic group."""
        return isinstance(body, GroupGeneration)

    def open(self, view: GroupView, stored: str | None) -> Session:
        """Raises CodecError."""
        return ConsumerSession(view, ConsumerState() if stored is None else loads(ConsumerState, stored), self._laws)

    def salvage(self, stored: str) -> str | None:
        """Nothing: the next record teaches everything again."""
        return None


class ConsumerSession(QuietSession):
    """One consumer group in one call of the fold."""

    def __init__(self, view: GroupView, state: ConsumerState, laws: Sequence[ConsumerLaw]) -> None:
        self.view, self.state, self._laws = view, state, laws

    def last(self) -> LastRecord | None:
        """The record judged last."""
        return self.state.last

    def shares(self, member: MemberRow) -> MemberShares:
        """Its partitions."""
        return shares_of(member)

    def begin_life(self) -> None:
        """Nobody holds anything."""
        self.state = ConsumerState(last_join=self.state.last_join)

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        """The verdict, its causes, and what the rules find."""
        self.state, outputs = judged(self.view, self.state, row, self._laws)
        return outputs

    def nobody_left(self) -> None:
        """Nobody holds anything."""
        self.state = replace(self.state, holds={})

    def end(self, row: Row, *, historic: bool) -> None:
        """Nobody holds anything."""
        self.begin_life()

    def stored(self) -> str | None:
        """The state, where anything is known."""
        return None if self.state == ConsumerState() else dumps(self.state)
