"""The lifecycle of consumer groups, and of every classic group that no other lifecycle owns."""

from collections.abc import Iterable, Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.coordinator import Leap, Passing
from rebalance_monitor.streaming.core.fold import missing_members, static_members, written_again
from rebalance_monitor.streaming.core.fold.capabilities import Awaits, Followed, Holdings, Holds, Timed
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, Lifecycle, Session
from rebalance_monitor.streaming.core.fold.missing_members import MissedMembers
from rebalance_monitor.streaming.core.fold.published import MemberShares, body_of, source_of
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import Evidence, Grade, Source, Verdict
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from . import awaited_sample, catalogue, own_assignors, unowned
from .catalogue import CONTESTED
from .generation import judged
from .laws import LAWS, ConsumerLaw
from .members import ReadMembers, read_members
from .state import ConsumerState
from .subscriptions import CONSUMER_MEMBERS, shares_of
from .unowned import Waits
from .verdict import judge, surely_rests_on_samples


class ConsumerLifecycle(Lifecycle):
    """`laws`: what others know about the consumers of a group, beside the laws of this package."""

    name = "consumer"
    rules: tuple[Rule, ...] = catalogue.RULES
    outlive: frozenset[str] = frozenset()
    converts = True
    classic = True
    members: MemberFormat | None = CONSUMER_MEMBERS

    def __init__(self, laws: Iterable[ConsumerLaw] = ()) -> None:
        self._laws = (*LAWS, *laws)

    def owns(self, body: Body) -> bool:
        return isinstance(body, GroupGeneration)

    def open(self, view: GroupView, stored: str | None) -> Session:
        return ConsumerSession(view, ConsumerState() if stored is None else loads(ConsumerState, stored), self._laws)


class ConsumerSession(Awaits, Timed, Holds, Followed):
    """One consumer group in one call of the fold."""

    def __init__(self, view: GroupView, state: ConsumerState, laws: Sequence[ConsumerLaw]) -> None:
        self.view, self.state, self._laws = view, state, laws
        self._said: tuple[Source, bool, bool, Verdict] | None = None
        self._sample_from_ms: int | None = None
        self._read: tuple[Source, ReadMembers | str] | None = None

    def last(self) -> LastRecord | None:
        return self.state.last

    def shares(self, member: MemberRow) -> MemberShares:
        return shares_of(member)

    def begin_life(self) -> None:
        self.state = ConsumerState(last_join=self.state.last_join)

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        verdict = self._verdict(row)
        if never_came is not None:
            verdict = awaited_sample.without(verdict)
        self._sample_from_ms = None
        if not self._again(row) and written_again.first_may_be_missing(self.view.envelope, row):
            verdict = written_again.not_the_first(verdict)
        read, again = self._members(row), self._again(row)
        self.state, outputs = judged(self.view, self.state, row, self._laws, verdict, again=again, read=read)
        return outputs

    def missing(self, row: Row) -> str | None:
        """A sample that tells what the leader may have known, where those so far do not explain its answer."""
        topics, head = self.view.knowledge.topics, self.view.waiting.head()
        if not self.view.knowledge.asked or head is None or head.row is not row or not body_of(row).members:
            return None
        if self._again(row):
            return None
        from_ms = awaited_sample.asked_from_ms(head, racks=topics.any_racks())
        if topics.asked_ms is not None and topics.asked_ms >= from_ms:
            return None
        if not (
            surely_rests_on_samples(topics, body_of(row), self._members(row))
            or own_assignors.awaits_sample(topics, body_of(row).protocol, self._members(row), row.timestamp_ms)
            or awaited_sample.rests_on_samples(self._verdict(row))
        ):
            return None
        self._sample_from_ms = from_ms
        return awaited_sample.MISSING

    def sample_from_ms(self) -> int | None:
        return self._sample_from_ms

    def _members(self, row: Row) -> ReadMembers | str:
        """The record's members; read once, although several ask."""
        if self._read is None or self._read[0] != source_of(row):
            self._read = source_of(row), read_members(body_of(row))
        return self._read[1]

    def _verdict(self, row: Row) -> Verdict:
        """By what is known now; looked for once, although a record that need not wait asks twice."""
        body = body_of(row)
        again, first = self._again(row), self.view.envelope.generation is None
        if self._said is None or self._said[:3] != (source_of(row), again, first):
            verdict = written_again.taken_over(self.state.first, body) if again else self._recomputed(row, first=first)
            self._said = source_of(row), again, first, verdict
        return self._said[3]

    def _recomputed(self, row: Row, *, first: bool) -> Verdict:
        """By the record itself and what samples show."""
        body, knowledge, read = body_of(row), self.view.knowledge, self._members(row)
        over = awaited_sample.none_will_come(knowledge, row.timestamp_ms)
        for at_ms in awaited_sample.times_of(row, self.view.waiting.head()):
            verdict = judge(
                self.view.settings,
                knowledge.topics,
                body,
                at_ms,
                first=first,
                read=read,
                no_later_sample=over,
                answers=self.state.answers,
            )
            if verdict.grade is not Grade.UNEXPLAINED:
                break
        return written_again.otherwise(self.state.first, body, verdict)

    def _again(self, row: Row) -> bool:
        return written_again.repeats(self.view.envelope, self.state.first, body_of(row))

    def rebase(self, passing: Passing) -> Sequence[Output]:
        if self.state.last is not None:
            apart_ms = passing.since(self.state.last.at_ms).unsure_ms
            waits, missed = self.state.waits.moved(apart_ms), self.state.missed.moved(apart_ms)
            self.state = replace(self.state, waits=waits, missed=missed)
        return ()

    def nobody_left(self) -> None:
        self.state = replace(
            self.state, holds={}, held_since_ms=None, waits=Waits(), sightings={}, missed=MissedMembers()
        )

    def holdings(self) -> Holdings | None:
        """The partitions of each member; it may be busy until its rebalance time-out ends (`max.poll.interval.ms`)."""
        if self.state.last is None:
            return None
        return Holdings(self.state.holds, self.state.held_since_ms, self.view.envelope.longest_rebalance_ms)

    def due_ms(self) -> int | None:
        state = self.state
        times = (state.waits.due_ms(), static_members.due_ms(state.sightings), state.missed.due_ms(self.view))
        return min((one for one in times if one is not None), default=None)

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        moment = self.view.moment(at_ms, historic=historic)
        waits, found = unowned.fired(self.state.waits, self.view.group, self.view.knowledge.topics, at_ms)
        calm = static_members.calmed(self.state.sightings, at_ms)
        over = frozenset({CONTESTED.code}) if calm != self.state.sightings else frozenset[str]()
        last = self.state.last
        here = Evidence(source=None if last is None else last.source)
        contested = tuple(static_members.contested(CONTESTED, calm, at_ms, here)) if over else ()
        missed, told = missing_members.fired(self.view, self.state.missed, at_ms, historic=historic)
        self.state = replace(self.state, waits=waits, sightings=calm, missed=missed)
        return [Notice(moment=moment, found=(*found, *contested), evaluated=over), *told] if found or over else told

    def end(self, row: Row, *, historic: bool) -> None:
        self.begin_life()

    def stored(self) -> str | None:
        return None if self.state == ConsumerState() else dumps(self.state)
