"""The fold: a group's rows in, generations with verdicts and incident transitions out. Pure; live and replay share it.

Theory. Only the order inside a partition is real. Rows of other topics are therefore stored the moment they come, and a
group record waits, together with all later records of its group, until the rows it refers to have arrived: what a
lifecycle remembers flows from generation to generation, so judging out of order would change it. Whatever the
interleaving of partitions and the cuts of batches, each generation is judged once, from the same inputs. Time-outs
follow the records' own times, and the cluster's tick when nothing comes.

    rows: group offset 7 (config offset 12)      -> waits: config seen up to 9        published: pending
    rows: config offsets 9, 10, 11               -> 12 is reached: judged             published: match
    tick beyond arrival + judge.wait_ms          -> judged without                    published: not_judged, why

The fold names no kind of group: what a record means, its lifecycle says (`streaming.core.fold.lifecycle`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.clocks.others import OtherClocks
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, OtherGroup, Row, Tick, Waiting
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Result, Source, Standing, Verdict
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.ports import FoldError, KeptState
from . import all_groups, conversion, due, expected, group_life, recovery, sampling, timers
from .capabilities import Awaits, Doubting, Followed, Moments, RunsBehind, Timed, TopicReader
from .going_back import generation_went_back
from .intake import Intake
from .lifecycle import Session
from .published import body_of, published_as
from .registry import Registry
from .state import STATE_VERSION, Envelope, Saved, stored
from .timeouts import stated_timeouts
from .waiting import LOOK_AHEAD

__all__ = ["STATE_VERSION", "FoldOutcome", "fold_group"]
ENDED_UNREAD = "ended because this release cannot read what was stored of the group: what still holds is found again"


@dataclass(frozen=True, slots=True)
class FoldOutcome:
    """The group's next state as stored bytes, when its next timer is due, and what is to be published.

    `errors` and `kept`: where the fold failed, and the states put aside then (`streaming.core.fold.isolation`).
    `waits`: positions of the records that wait now (start, end); `wants_waiting`: the fold could go on if it were given
    more of them. `sample_from_ms`: one waits for a sample of the topics that is asked then or later, by the monitor's
    clock. `home`: the partition of the group's records, `topic-number`.
    """

    state: Saved
    due_ms: int | None
    results: tuple[Result, ...]
    blobs: dict[str, bytes] = field(default_factory=dict)
    errors: tuple[FoldError, ...] = ()
    kept: tuple[KeptState, ...] = ()
    waits: tuple[int, int] = (0, 0)
    wants_waiting: bool = False
    home: str | None = None
    sample_from_ms: int | None = None


def _nothing(_row: Row) -> None:
    """Nobody looks on."""


def fold_group(
    registry: Registry,
    settings: ClusterSettings,
    group: str,
    state: Saved | None,
    rows: Sequence[Row],
    tick: Tick | None,
    *,
    knowledge: Knowledge = NOTHING_KNOWN,
    end_of_input: bool = False,
    witnesses: OtherClocks | None = None,
    before_record: Callable[[Row], None] = _nothing,
) -> FoldOutcome:
    """Fold these rows, then the tick. `knowledge`: what is known of the cluster beside its groups; `end_of_input`
    judges what still waits without its missing evidence; `witnesses` speak for the times of a whole input that
    nobody read as it came; `before_record` is called with each record before it is taken in or judged, and may
    end the fold by raising."""
    finite = end_of_input or witnesses is not None
    fold = _Fold(registry, settings, group, state, tick, finite=finite, knowledge=knowledge)
    fold.before_record, fold.hearing = before_record, witnesses or OtherClocks()
    for row in sorted(rows, key=lambda one: (one.topic, one.partition, one.offset)):
        before_record(row)
        fold.take(row)
    fold.settle(end_of_input=end_of_input)
    queue = fold.waiting.queue
    envelope = replace(fold.envelope, book=fold.book.pages(), queue=queue)
    results = fold.results if envelope.polled is None else [sampling.marked(one) for one in fold.results]
    return FoldOutcome(
        stored(envelope, fold.bodies(), fold.waiting.stored()),
        due.folded_again_ms(fold, wants_waiting=fold.wants_waiting),
        tuple(results),
        fold.blobs,
        waits=(queue.first, queue.end),
        wants_waiting=fold.wants_waiting,
        home=envelope.home,
        sample_from_ms=due.sample_from_ms(fold),
    )


class _Fold(Intake):
    """One call of `fold_group`: what has been taken in is judged, and what only time brings up follows."""

    before_record: Callable[[Row], None]
    hearing: OtherClocks
    wants_waiting = False

    def seen_again(self, row: Row) -> None:
        all_groups.ended(self, row, self.envelope.member_ids)

    def settle(self, *, end_of_input: bool) -> None:
        """Judge every waiting record whose evidence is there, in order; then the timers of the tick."""
        for reader in self.able(TopicReader):
            reader.collect()
        self._end_orphans()
        self._judge_waiting(end_of_input=end_of_input)
        # A timer never fires in history: what it saw may long be over further on in the log.
        if end_of_input and not self.waiting.queue.end:
            self._closed(clocks.FOREVER_MS)
        if self.tick is not None and not self.tick.historic and not self.waiting.queue.end:
            now_ms = self.tick.now_ms if end_of_input else clocks.groups_time(self.envelope, self.tick.now_ms)
            now_ms = now_ms if self.shown_until_ms is None else min(now_ms, self.shown_until_ms)
            self._live(now_ms)
            self._closed(now_ms)
            timers.at_tick(self, self.hearing.until_ms(self._timed_from(), now_ms), now_ms, self.hearing.newest_ms())
            all_groups.look(self, self.tick, self._last())
        end_ms = None
        if end_of_input and self.tick is not None:
            end_ms = self.hearing.until_ms(self._timed_from(), self.tick.now_ms)
        for session in self.able(RunsBehind):
            self.publish(session.tell(end_ms, end_of_input=end_of_input))
        self.envelope, ended = recovery.recovered(self.envelope, self.book, self.moment(0), self.tick)
        self.results += ended

    def _judge_waiting(self, *, end_of_input: bool) -> None:
        """Every waiting record whose turn has come, as far as the rows that were given reach."""
        while self.waiting.queue.end:
            self.wants_waiting = not self.waiting.given(1)
            head = None if self.wants_waiting else self.waiting.head()
            if head is None:
                return
            self.before_record(head.row)
            if not self._judge(head, self.waiting.following(), end_of_input=end_of_input):
                break
            self.waiting.pop()
        if not self.wants_waiting:
            self._announce()

    def _timed_from(self) -> tuple[Source, int] | None:
        found = (one.timed_from() for one in self.able(Timed))
        return next((one for one in found if one is not None), None)

    def _last(self) -> LastRecord | None:
        found = (one.last() for one in self.sessions.values())
        return next((one for one in found if one is not None), None)

    def _live(self, at_ms: int) -> None:
        for session in self.able(Doubting):
            session.live(at_ms)

    def _closed(self, at_ms: int) -> None:
        for session in self.able(Moments):
            self._publish_targets(session.closed_by(at_ms))

    def _end_orphans(self) -> None:
        """Incidents of a state that could not be read end here, with the reason; what still holds is found again."""
        orphans = self.envelope.orphans
        if not orphans:
            return
        at_ms = self.tick.now_ms if self.tick is not None else max(one.opened_at_ms for one in orphans)
        self.envelope = replace(self.envelope, orphans=())
        self.results += self.book.end(orphans, self.moment(at_ms), ENDED_UNREAD)
        self.results += self.book.attend(at_ms)

    def _judge(self, head: Waiting, following: Row | None, *, end_of_input: bool) -> bool:
        row = head.row
        if not head.historic:
            self._live(row.timestamp_ms)
        if conversion.may_follow(self.registry, self.envelope, self.waiting, end_of_input=end_of_input):
            return False
        if isinstance(row.body, GroupDeleted):
            self._deleted(row, historic=head.historic)
            if not conversion.goes_on(row, following):
                self._stands("Dead", row)
                all_groups.deleted(self, row)
            return True
        if isinstance(row.body, OtherGroup):
            self._other(head, row.body, following, live=not end_of_input)
            return True
        session = self._owner(row)
        missing = session.missing(row) if isinstance(session, Awaits) else None
        late = self.tick is not None and self.tick.now_ms >= head.arrived_ms + self.settings.judge_wait_ms
        if missing is not None and not (late or end_of_input):
            return False
        self.wants_waiting = not self.waiting.given(LOOK_AHEAD)
        if self.wants_waiting:
            return False
        why = session.never_came(row, missing) if isinstance(session, Awaits) and missing is not None else None
        before, last = self.envelope, session.last()
        passing = self._passing(session, head)
        leap = clocks.leap(before, last, passing, finite=self.hearing.whole)
        self._rebase(session, passing)
        generation_went_back(self, row, before, last)
        self._generation(session, head, before, why, leap)
        self.envelope = recovery.counted(
            clocks.read(self.envelope, head, live=not end_of_input, leapt=leap != clocks.NO_LEAP)
        )
        self._stands("Stable" if self.envelope.member_ids else "Empty", row)
        return True

    def _passing(self, session: Session, head: Waiting) -> clocks.Passing:
        passed_ms = self.hearing.passed_ms(session.last(), head.row)
        return clocks.Passing(head, passed_ms, self.envelope.behind_ms, self.hearing.slow_ms(head.row))

    def _rebase(self, session: Session, passing: clocks.Passing) -> None:
        doubts = session.rebase(passing) if isinstance(session, Timed) else ()
        if doubts:
            self.publish(doubts)
            self.results += self.book.attend(passing.head.row.timestamp_ms)

    def _generation(
        self, session: Session, head: Waiting, before: Envelope, never_came: Reason | None, leap: clocks.Leap
    ) -> None:
        """Judge one record whose turn has come; `never_came` is the reason why its evidence is missing."""
        row, body = head.row, body_of(head.row)
        another = sampling.of_another_kind(self.envelope, body, self.registry.owner(body).name)
        if another or conversion.unseen(self.registry, self.envelope):
            self._converted(row, historic=head.historic)
        late = group_life.written_late(self, row, session.shares)
        if late is not None:
            self.results.append(replace(late, historic=head.historic))
            if isinstance(session, Doubting):
                session.passed_over(row)
            return
        life = group_life.with_incarnation(self.envelope, body)
        if life.incarnation != self.envelope.incarnation:
            for each in self.sessions.values():
                each.begin_life()
        self.envelope = replace(life, historic=head.historic, written=group_life.written(life, body))
        if body.members:
            self._timers_before(row, body)
        all_groups.ended(self, row, before.member_ids)
        self.publish(sampling.no_longer(self.registry.catalogue, body, self.open, self.moment(row.timestamp_ms)))
        all_groups.recorded(self, row, session.judge(row, never_came, before, leap), before)
        self.results += self.book.attend(row.timestamp_ms)
        if not body.members:
            for other in self.able(Followed):
                if other is not session:
                    other.nobody_left()
        ids = frozenset(member.member_id for member in body.members)
        # An id that nobody has joined yet has no protocol type (coordinator-log.md 5.2, case C).
        owner = self.registry.owner(body)
        stated = stated_timeouts(self.settings, self.group, body) if ids else None
        longest_ms = None if stated is None else owner.longest_rebalance_ms(stated)
        self.envelope = replace(
            self.envelope,
            lifecycle=owner.name if body.protocol_type else self.envelope.lifecycle,
            generation=body.generation,
            member_ids=ids,
            longest_rebalance_ms=longest_ms,
            deleted=False,
        )

    def _timers_before(self, row: Row, body: GroupGeneration) -> None:
        """Fire every timer due before this record of a generation."""
        known = self.envelope.generation
        missing = known is not None and body.skipped_since(known) > 0
        until_ms = body.sampled.after_ms or 0 if missing and body.sampled is not None else row.timestamp_ms
        timers.before(self, until_ms, missing=missing, historic=self.envelope.historic)

    def _stands(self, state: str, row: Row) -> None:
        self.results.append(Standing(cluster=self.settings.name, group=self.group, state=state, at_ms=row.timestamp_ms))

    def _announce(self) -> None:
        """Publish what waits, once, as pending."""
        for waiting in self.waiting.unannounced():
            if not isinstance(waiting.row.body, GroupGeneration) or not waiting.row.body.members:
                continue
            until_ms = waiting.arrived_ms + self.settings.judge_wait_ms
            session = self._owner(waiting.row)
            missing = session.missing(waiting.row) if isinstance(session, Awaits) else None
            missing = missing or "an earlier generation of the group"
            reason = Reason(ReasonKind.PENDING, f"pending: {missing}")
            verdict = Verdict(grade=Grade.NOT_JUDGED, reason=reason, pending_until_ms=until_ms)
            pending = published_as(self, waiting.row, shares=session.shares, verdict=verdict)
            self.results.append(replace(pending, historic=waiting.historic))

    def _other(self, head: Waiting, body: OtherGroup, following: Row | None, *, live: bool) -> None:
        """A record of a group that is no classic one, or not any more."""
        row, historic = head.row, head.historic
        session = self._owner(row)
        name = self.registry.owner(body).name
        if self.envelope.lifecycle not in (None, name) and not self.envelope.deleted and not body.deleted:
            self._converted(row, historic=historic)
        read = body.record is not None
        if read:
            self._before_other(session, head, body)
        if read and conversion.ends(row):
            self._deleted(row, historic=historic)
            if not conversion.goes_on(row, following):
                self._stands("Dead", row)
                all_groups.deleted(self, row)
            return
        outputs = session.take(row) if isinstance(session, Moments) else ()
        if conversion.goes_on(row, following):
            session.end(row, historic=historic)
            outputs = ()
        self._publish_targets(outputs)
        if read:
            self.envelope = clocks.read(self.envelope, head, live=live)
        if not body.deleted:
            self.envelope = replace(self.envelope, lifecycle=name)

    def _converted(self, row: Row, *, historic: bool) -> None:
        """The group goes on under another lifecycle. Nothing of it ends where nothing of it was published."""
        if self.envelope.generation is not None or self.open():
            self._deleted(row, historic=historic)
            return
        for session in self.sessions.values():
            session.end(row, historic=historic)

    def _before_other(self, session: Session, head: Waiting, body: OtherGroup) -> None:
        """What the moment before this record's still had to say, and the timers between the two."""
        row = head.row
        if isinstance(session, Moments):
            self._publish_targets(session.closed_before(row))
        last = session.last()
        if last is not None and last.at_ms != row.timestamp_ms:
            self._rebase(session, self._passing(session, head))
        self.envelope = replace(self.envelope, historic=head.historic)
        if not body.deleted and self.envelope.deleted:
            self.envelope = group_life.begun_anew(self.envelope)
            for each in self.sessions.values():
                each.begin_life()
        timers.before(self, row.timestamp_ms, missing=body.after_hole, historic=head.historic)

    def _publish_targets(self, outputs: Sequence[Output]) -> None:
        """What a session says of targets: their epochs count as generations of the group."""
        for output in outputs:
            if isinstance(output, Generation):
                self.envelope = group_life.counted_on(self.envelope, output.generation)
                output = replace(output, incarnation=self.envelope.incarnation)
            self.publish([output])
            if isinstance(output, Standing):
                all_groups.stands(self, output)
            if isinstance(output, Generation):
                all_groups.computed(self, output)
                self.envelope = recovery.counted(self.envelope)
                self.results += self.book.attend(output.at_ms)

    def _deleted(self, row: Row, *, historic: bool) -> None:
        first = self.envelope.generation is None and not self.open()
        if first:
            self._may_read_topics()
        for session in self.sessions.values():
            session.end(row, historic=historic)
        if first:
            self.envelope = replace(self.envelope, seen_from_start=True)
            return
        outlive = expected.outlive(self).union(*(one.outlive for one in self.registry.lifecycles))
        moment = self.moment(row.timestamp_ms, historic=False)
        over = tuple(key for key, one in self.open().items() if one.code not in outlive)
        self.envelope = replace(self.envelope, deleted=True)
        self.results += self.book.note(Notice(moment=moment, over=over))
        self.results += self.book.attend(row.timestamp_ms)

    def _may_read_topics(self) -> None:
        """Of a group first seen by its tombstone, topics of a lifecycle may tell the kind, whenever they are read."""
        for name, reader in self.registry.readers.items():
            if reader.topics(self.settings, self.group):
                self.session(name)
