"""Rows as they come: each is sorted into the group's state once, whatever the order of partitions.

row of a lifecycle's topic    to its session, at once      group record    waits for its turn
record that is unreadable     the group knows less         gap             whom it concerns knows less from there on
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar, assert_never

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.incidents.book import Book
from rebalance_monitor.streaming.core.incidents.notice import Lane, Notice, Output, Passed, ReachedTime
from rebalance_monitor.streaming.core.incidents.transitions import Moment, PartKey
from rebalance_monitor.streaming.core.model.codec import loads
from rebalance_monitor.streaming.core.model.records import (
    PASSED_OVER,
    POLLED,
    Body,
    Gap,
    GroupDeleted,
    GroupGeneration,
    OtherGroup,
    Row,
    Tick,
    TopicRecord,
    Undecodable,
    Waiting,
)
from rebalance_monitor.streaming.core.model.results import GapRecord, Part, Result, Source, UndecodableRecord
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Expectations
from rebalance_monitor.streaming.core.reading import decoding
from . import sampling
from .capabilities import TopicReader
from .lifecycle import Session
from .published import blobs_of, source_of
from .registry import Registry
from .state import NOTHING, Saved, read
from .waiting import WaitingRecords

C = TypeVar("C")
MAX_LOST = 16
"""Gaps of the group's partition that are remembered."""


class Intake:
    """The state as rows are sorted into it, and the results so far. It is the `GroupView` of its sessions."""

    def __init__(
        self,
        registry: Registry,
        settings: ClusterSettings,
        group: str,
        state: Saved | None,
        tick: Tick | None,
        *,
        finite: bool,
        knowledge: Knowledge = NOTHING_KNOWN,
    ) -> None:
        self.registry, self.settings, self.group, self.tick, self.finite = registry, settings, group, tick, finite
        self.knowledge = knowledge
        self.envelope, self._bodies = read(state)
        self.waiting = WaitingRecords(self.envelope.queue, state.waiting if state else NOTHING, self._waiting_of)
        self.book = Book(registry.catalogue, settings, group, self.envelope.book)
        self.results: list[Result] = []
        self.blobs: dict[str, bytes] = {}
        self.sessions: dict[str, Session] = {}
        self._readers: dict[str, TopicReader | None] = {}
        for lifecycle in registry.lifecycles:
            if lifecycle.name in self._bodies:
                self.session(lifecycle.name)

    def session(self, name: str) -> Session:
        """The session of this lifecycle on the group."""
        if name not in self.sessions:
            self.sessions[name] = self.registry.named(name).open(self, self._bodies.pop(name, None))
        return self.sessions[name]

    def able(self, capability: type[C]) -> list[C]:
        """The sessions that have this capability."""
        return [one for one in self.sessions.values() if isinstance(one, capability)]

    def bodies(self) -> dict[str, str]:
        """The bodies to be stored; one whose lifecycle this release does not have is carried on as it is."""
        texts = {name: session.stored() for name, session in self.sessions.items()}
        return {**self._bodies, **{name: text for name, text in texts.items() if text is not None}}

    @cached_property
    def expects(self) -> Expectations:
        return self.settings.expects(self.group)

    @cached_property
    def awaited(self) -> bool:
        """Whether the group must be there: it is expected by its whole name."""
        return self.settings.awaits(self.group)

    @property
    def shown_until_ms(self) -> int | None:
        return sampling.shown_until_ms(self.settings, self.knowledge, self.envelope, self.group)

    def open(self, lane: Lane = Lane.RECORDS) -> Mapping[PartKey, Part]:
        return self.book.open(lane)

    def moment(self, at_ms: int, *, generation: int | None = None, historic: bool | None = None) -> Moment:
        """A moment of the group, by default of its newest generation."""
        return Moment(
            cluster=self.settings.name,
            group=self.group,
            incarnation=self.envelope.incarnation,
            generation=(self.envelope.generation or 0) if generation is None else generation,
            at_ms=at_ms,
            historic=self.envelope.historic if historic is None else historic,
        )

    def publish(self, outputs: Sequence[Output]) -> None:
        """What a session returned, in its order: results as they are, notices as the book settles them."""
        for output in outputs:
            match output:
                case Notice():
                    if self.envelope.polled is not None:
                        output = sampling.admitted(self.registry.catalogue, output)
                    self.results += self.book.note(output)
                case Passed(at_ms=at_ms):
                    self.results += self.book.attend_until(at_ms, Lane.EVENTS)
                case ReachedTime(at_ms=at_ms):
                    self.results += self.book.attend(at_ms, Lane.EVENTS)
                case _:
                    self.results.append(output)

    def take(self, row: Row) -> None:
        """Sort one row into the state; rows that were folded before are dropped, and so is what was polled before."""
        polled = self._polled(row)
        if polled is None:
            return
        row = polled
        session = self._reader(row.topic)
        self._recreated(row, session)
        place = f"{row.topic}-{row.partition}"
        if isinstance(row.body, Gap) and session is None and self.group and not self._at_home(place):
            return  # of another partition than this group's records
        if row.offset < self.envelope.next_offsets.get(place, 0):
            return
        row = self._after_hole(row, self.envelope.next_offsets.get(place))
        hole = row.offset > self.envelope.next_offsets.get(place, 0)
        offsets = {**self.envelope.next_offsets, place: row.offset + 1}
        self.envelope = replace(self.envelope, next_offsets=offsets)
        body = row.body
        match body:
            case TopicRecord():
                if session is not None:
                    self.publish(session.read(row, hole=hole))
            case GroupGeneration() | GroupDeleted() | OtherGroup():
                if row.group is not None and body != PASSED_OVER:
                    self._wait(clocks.timed(row))
            case Undecodable():
                self._not_read(row, body, session)
            case Gap():
                self._missing(row, body, session)
            case _:
                assert_never(body)

    @staticmethod
    def _after_hole(row: Row, next_offset: int | None) -> Row:
        """The row, which says whether anything is missing between it and the group's record before."""
        body = row.body
        if not isinstance(body, OtherGroup) or not body.hole:
            return row
        missing = next_offset is not None and body.hole > next_offset
        return replace(row, body=replace(body, hole=0, after_hole=missing))

    def _polled(self, row: Row) -> Row | None:
        """A row that was polled, at its place; None if it shows what the one before showed. Any other as it is."""
        body, known = row.body, self.envelope.polled
        name: str | None = None
        if isinstance(body, GroupGeneration) and body.sampled is not None:
            name = sampling.contents_of(body)
            row = sampling.placed(self.envelope, self.waiting.queue, row, body)
            if name == known:
                self.seen_again(row)
                return None
        elif row.topic == POLLED:
            gone = not isinstance(body, OtherGroup)
            name = sampling.OF_ANOTHER_KIND + body.state if isinstance(body, OtherGroup) else sampling.GONE
            if known == name and (self.envelope.deleted or not gone):
                return None
            row = replace(
                row, offset=max(row.offset, self.envelope.next_offsets.get(f"{row.topic}-{row.partition}", 0))
            )
        elif row.group is None or known is None or not isinstance(body, GroupGeneration | GroupDeleted | OtherGroup):
            return row
        elif isinstance(body, GroupGeneration):
            self._read_again()
        self.envelope = replace(self.envelope, polled=name)
        return row

    def _read_again(self) -> None:
        """The first record of a group that was polled so far: how many assignments were seen is no generation, so the
        two are not compared."""
        envelope = self.envelope
        self.envelope = replace(envelope, incarnation=envelope.incarnation + 1, generation=None, seen_from_start=False)
        for session in self.sessions.values():
            session.begin_life()

    def seen_again(self, row: Row) -> None:
        """The group is stable, and as it was polled before."""

    def _reader(self, topic: str) -> TopicReader | None:
        """The session that reads this topic; asked for each row, so each topic is looked up once."""
        if topic not in self._readers:
            name = self.registry.of_topic(self.settings, self.group, topic)
            session = None if name is None else self.session(name)
            self._readers[topic] = session if isinstance(session, TopicReader) else None
        return self._readers[topic]

    def _owner(self, row: Row) -> Session:
        return self.session(self.registry.owner(row.body).name)

    def _wait(self, row: Row) -> None:
        if isinstance(row.body, GroupGeneration):
            self.blobs.update(blobs_of(row.body))
        arrived_ms = self.tick.now_ms if self.tick else row.timestamp_ms
        historic = self.tick.historic if self.tick else False
        ticked = self.tick is not None and not historic and not self.finite
        self.waiting.append(Waiting(row, arrived_ms, historic, ticked=ticked))
        home = f"{row.topic}-{row.partition}"
        if self.envelope.home != home:
            self.envelope = replace(self.envelope, home=home)

    def _waiting_of(self, text: bytes) -> Waiting:
        waiting = loads(Waiting, text.decode("utf-8", "surrogatepass"))
        body: Body = waiting.row.body
        if isinstance(body, GroupGeneration):
            body = self.registry.blobs.read_again(body)
        elif isinstance(body, OtherGroup):
            body = decoding.read_again(body)
        return replace(waiting, row=replace(waiting.row, body=body))

    def _not_read(self, row: Row, body: Undecodable, session: TopicReader | None) -> None:
        """A record of the group, or of a topic of its lifecycle, that could not be read. Rows of topics are published
        by the fold of group ""; here they only say what is not known."""
        if row.group is not None:
            self.envelope = replace(self.envelope, unread=source_of(row))
        elif session is not None:
            session.unreadable(row)
        if row.group is not None or not self.group:
            self.results.append(
                UndecodableRecord(
                    cluster=self.settings.name,
                    source=source_of(row),
                    reason=body.reason,
                    size_bytes=body.size_bytes,
                    sample=body.sample,
                )
            )

    def _missing(self, row: Row, body: Gap, session: TopicReader | None) -> None:
        """Records that were gone before they were read."""
        if session is not None:
            session.gap(row, body)
        elif self.group:
            newest = Source(row.topic, row.partition, body.to_offset - 1)
            lost = (*self.envelope.lost, (row.offset, body.to_offset))[-MAX_LOST:]
            self.envelope = replace(self.envelope, unread=newest, lost=lost)
            for reader in self.able(TopicReader):
                reader.lost_records(row.offset)
        else:
            self.envelope = replace(self.envelope, seen_from_start=False)
            self.results.append(
                GapRecord(
                    cluster=self.settings.name,
                    topic=row.topic,
                    partition=row.partition,
                    from_offset=row.offset,
                    to_offset=body.to_offset,
                    reason=body.reason,
                )
            )

    def _at_home(self, place: str) -> bool:
        """Whether a partition of the coordinator's log is the one of this group's records."""
        if self.envelope.home is not None:
            return place == self.envelope.home
        known = (session.last() for session in self.sessions.values())
        return place in {f"{last.source.topic}-{last.source.partition}" for last in known if last is not None}

    def _recreated(self, row: Row, session: TopicReader | None) -> None:
        """A topic of another id begins anew: its offsets, and what its lifecycle has read of it."""
        known = self.envelope.topic_ids.get(row.topic)
        anew = session is not None and not row.topic_id and session.begins_anew(row)
        if (known == row.topic_id or not row.topic_id) and not anew:
            return
        envelope = self.envelope
        if row.topic_id:
            envelope = replace(envelope, topic_ids={**envelope.topic_ids, row.topic: row.topic_id})
        if known is not None or anew:
            offsets = {at: end for at, end in envelope.next_offsets.items() if at.rpartition("-")[0] != row.topic}
            envelope = replace(envelope, next_offsets=offsets)
            if row.group is not None:
                envelope = replace(envelope, written=())  # a record of the new topic is no copy of one of the old
            if session is not None:
                session.recreated(row.topic)
        self.envelope = envelope
