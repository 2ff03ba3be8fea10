"""The lifecycle of Connect groups: what the fold asks, answered by the modules of this package.

config record     into the history, at one go     ConfigHistory      group record   judged        generation
status            into the sightings              statuses           time           deadlines     deadlines
"""

from collections.abc import Collection, Mapping, Sequence

from rebalance_monitor.schemas.connect_topics import NOT_JSON, OtherConfig
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.clocks.coordinator import Leap, Passing
from rebalance_monitor.streaming.core.clocks.span import FARTHEST_MS, SKEW_MS
from rebalance_monitor.streaming.core.connect.rules.catalogue_across import ALL_WORKERS_GONE
from rebalance_monitor.streaming.core.connect.rules.memory import RuleMemory, without_offsets
from rebalance_monitor.streaming.core.connect.statuses.facts import Sighting
from rebalance_monitor.streaming.core.connect.statuses.polled import PolledStatuses
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep, step_of
from rebalance_monitor.streaming.core.connect.statuses.timeline import Timeline
from rebalance_monitor.streaming.core.fold.capabilities import Awaits, Doubting, Followed, RunsBehind, TopicReader
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, Lifecycle, Session
from rebalance_monitor.streaming.core.fold.parts import part_of
from rebalance_monitor.streaming.core.fold.published import MemberShares, body_of, source_of
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.fold.timeouts import Timeouts
from rebalance_monitor.streaming.core.fold.timers import BY_COORDINATOR
from rebalance_monitor.streaming.core.fold.topics import ReadsTopics, TopicKind
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import dumps, dumps_in_parts, loads_in_parts
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import Body, Gap, GroupGeneration, MemberRow, Row, TopicRecord
from rebalance_monitor.streaming.core.model.results import Generation, Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from . import config_sanity, deadlines, evidence, foreign_workers, generation, passed_time, topics, workers_gone
from .config_history import ConfigEntry, ConfigHistory
from .member_bytes import CONNECT_MEMBERS, shares_of
from .rules import RULES
from .state import ConnectState
from .statuses import ordering, polled
from .topic_names import connect_settings
from .topics import ConfigChange, StatusChange, unreadable_config

CONNECT = "connect"


class ConnectLifecycle(Lifecycle, ReadsTopics):
    """Classic groups of protocol type `connect`, with their config and status topics."""

    name = CONNECT
    rules: tuple[Rule, ...] = RULES
    outlive = frozenset({ALL_WORKERS_GONE.code})
    converts = False
    classic = True
    members: MemberFormat | None = CONNECT_MEMBERS
    protocol_type = CONNECT
    kinds = (topics.CONFIG, topics.STATUS)

    def owns(self, body: Body) -> bool:
        """Connect's topics are nobody else's."""
        match body:
            case GroupGeneration(protocol_type=protocol_type):
                return protocol_type == CONNECT
            case ConfigChange() | StatusChange():
                return True
            case _:
                return False

    def topics(self, settings: ClusterSettings, group: str) -> Mapping[str, TopicKind]:
        """The config and the status topic of the group, configured or guessed."""
        return topics.topics_of(settings, group)

    def configured(self, settings: ClusterSettings) -> Collection[str]:
        return settings.connect

    def groups_of(self, settings: ClusterSettings, topic: str) -> list[str]:
        return topics.groups_of(settings, topic)

    def kind_of(self, settings: ClusterSettings, topic: str) -> TopicKind | None:
        return topics.kind_of(settings, topic)

    def longest_rebalance_ms(self, timeouts: Timeouts) -> int:
        """A worker that fell silent is missed only after its session time-out."""
        return timeouts.both_ms

    def written(self, record: TopicRecord) -> str:
        """What the job keeps of a config record or a status."""
        return topics.written(record)

    def topic_record(self, text: str) -> TopicRecord:
        return topics.change_of(text)

    def open(self, view: GroupView, stored: str | None) -> Session:
        state = ConnectState() if stored is None else loads_in_parts(ConnectState, stored, _owner(view))
        return ConnectSession(view, state)

    def salvage(self, stored: str) -> str | None:
        """The configuration so far: no later record teaches it again."""
        history = part_of(stored.encode("utf-8", "surrogatepass"), "history", ConfigHistory)
        return None if history is None else dumps(ConnectState(history=history))


class ConnectSession(TopicReader, Awaits, Doubting, Followed, RunsBehind):
    """One Connect group in one call of the fold."""

    def __init__(self, view: GroupView, state: ConnectState) -> None:
        self.view, self.state = view, state
        self.topics: ConnectSettings = connect_settings(view.settings, view.group)
        self._sightings: list[Sighting] = []
        self._config: list[ConfigEntry] = []  # put into the history at one go: a topic read from its beginning is long
        self._steps: list[RecordStep] = []
        self._lost: list[int] = []  # partitions of the status topic with a gap
        self._lost_from: int | None = None  # offset of the newest gap in the group's own partition
        self._as_it_was = state  # before the record whose turn it is was looked at by its time

    # -- rows ------------------------------------------------------------------------------------------------------

    def read(self, row: Row, *, hole: bool) -> Sequence[Output]:
        match row.body:
            case ConfigChange(record=record):
                self._dated(row.timestamp_ms)
                self._config.append(ConfigEntry(row.offset, record, self._by_now(row.timestamp_ms)))
                if isinstance(record, OtherConfig) and record.what == NOT_JSON:
                    return [unreadable_config(self.view.settings.name, source_of(row), record)]
            case StatusChange(record=record):
                tick, timeline = self.view.tick, self.state.timeline
                live = not self.view.finite and timeline.in_time
                newest_ms, clock = self._newest_ms(), tick if live else None
                read_ms = clocks.read_ms(self.view.envelope, newest_ms, row.timestamp_ms, clock)
                read_ms = None if read_ms is None else read_ms + timeline.carry_ms
                if hole and not self._polled:
                    at_ms = row.timestamp_ms if read_ms is None else min(row.timestamp_ms, read_ms)
                    timeline = timeline.with_hole(row.partition, at_ms)
                    self.state = replace(self.state, timeline=timeline)
                historic = tick.historic if tick else False
                sighting = ordering.sighting_of(row, record, historic=historic, read_ms=read_ms)
                self._sightings.append(sighting)
            case _:
                pass
        return ()

    def _newest_ms(self) -> int:
        """The time of the newest record read, judged yet or not; 0 before the first."""
        queue, last = self.view.waiting.queue, self.state.last
        return queue.last_ms if queue.end else 0 if last is None else last.at_ms

    def _by_now(self, at_ms: int) -> int:
        """When a record of this time was written at the latest, by the clock of the group's coordinator: a record that
        is read as it comes was written by then, whatever its writer's clock says."""
        tick = self.view.tick
        if tick is None or tick.historic or self.view.finite:
            return at_ms
        return min(at_ms, tick.now_ms - clocks.surely_behind_ms(self.view.envelope))

    def _dated(self, at_ms: int) -> None:
        history = self.state.history
        if history.begins_ms is None or history.newest_ms < at_ms:
            begins_ms = at_ms if history.begins_ms is None else history.begins_ms
            history = replace(history, begins_ms=begins_ms, newest_ms=max(history.newest_ms, at_ms))
            self.state = replace(self.state, history=history)

    def unreadable(self, row: Row) -> None:
        """A config record that may be behind what nothing explains."""
        if row.topic == self.topics.config_topic:
            self.collect()
            self.state = replace(self.state, history=self.state.history.with_unread(row.offset))

    def gap(self, row: Row, gap: Gap) -> None:
        """What the lost records would have said is not known."""
        if row.topic == self.topics.config_topic:
            self.collect()
            self.state = replace(self.state, history=self.state.history.without(row.offset, gap.to_offset))
        else:
            self._sightings = [one for one in self._sightings if one.partition != row.partition]
            self._lost.append(row.partition)

    def lost_records(self, offset: int) -> None:
        self._lost_from = offset

    def recreated(self, topic: str) -> None:
        """The configuration so far was that of the topic before."""
        if topic == self.topics.config_topic:
            self._config = []
            memory = without_offsets(self.state.rule_memory)
            self.state = replace(self.state, history=ConfigHistory(), rule_memory=memory)

    def begins_anew(self, row: Row) -> bool:
        """Whether a config record is of another topic of that name: its offset was read before, and it is newer than
        all that was read. One that is only read again has its old time."""
        if row.topic != self.topics.config_topic or not isinstance(row.body, ConfigChange):
            return False
        read = row.offset < self.view.envelope.next_offsets.get(f"{row.topic}-{row.partition}", 0)
        return read and 0 < self.state.history.newest_ms < row.timestamp_ms

    def collect(self) -> None:
        before = self.state.history
        history = config_sanity.extended(before, self._config)
        read_ms = self._surely_by(history.newest_ms)
        self.state = replace(self.state, history=history if read_ms is None else history.read_at(before, read_ms))
        self._config = []

    def _surely_by(self, newest_ms: int) -> int | None:
        """The present at the latest, by the clock of the group's coordinator; None where all that there is may have
        been read, or the tick is no time of day beside records of this time."""
        tick = self.view.tick
        if tick is None or tick.historic or self.view.finite or newest_ms - tick.now_ms > FARTHEST_MS:
            return None
        return tick.now_ms - clocks.surely_behind_ms(self.view.envelope) + SKEW_MS

    # -- records ---------------------------------------------------------------------------------------------------

    def last(self) -> LastRecord | None:
        """The record judged last, and the config offset that its leader stated."""
        last = self.state.last
        return None if last is None else LastRecord(last.source, last.at_ms)

    def shares(self, member: MemberRow) -> MemberShares:
        return shares_of(member)

    def missing(self, row: Row) -> str | None:
        """Config records up to the offset that the leader had read."""
        return evidence.missing(self.view.settings, self.view.group, self.state, row)

    def never_came(self, row: Row, missing: str) -> Reason:
        """Which evidence, and who has read it."""
        text = f"evidence missing: {missing}{foreign_workers.ahead(body_of(row), self.state.history)}"
        return Reason(ReasonKind.EVIDENCE_MISSING, text)

    def live(self, at_ms: int) -> None:
        """A group found empty in history is timed from here on."""
        self.state = workers_gone.read_live(self.state, at_ms)

    def rebase(self, passing: Passing) -> Sequence[Output]:
        """What waits has waited as long as is sure; the rest is possible, no more."""
        at_ms = passing.head.row.timestamp_ms
        self.state = replace(self.state, history=self.state.history.seen_with(at_ms))
        self._as_it_was = before = self.state
        self.state, doubtful = passed_time.rebased(before, passing)
        self.state = replace(self.state, hidden_ms=passed_time.hidden_ms(self.state, passing))
        if not doubtful:
            return ()
        found = deadlines.unsure(self.view, before, at_ms, BY_COORDINATOR, sure=self.state)
        if body_of(passing.head.row).members:  # workers are there at this very moment
            found = tuple(one for one in found if one.rule is not ALL_WORKERS_GONE)
        return self._doubted(found, at_ms)

    def passed_over(self, row: Row) -> None:
        """Time is as it was: what a copy shows of a delay was so when it was written first."""
        self.state = replace(self._as_it_was, apart_ms=0)

    def nobody_left(self) -> None:
        """The members of the last record are not those before the next one."""
        self.state = replace(self.state, last=None)

    def doubts(self, at_ms: int, by: str) -> Sequence[Output]:
        return self._doubted(deadlines.unsure(self.view, self.state, at_ms, by), at_ms)

    def _doubted(self, found: tuple[Finding, ...], at_ms: int) -> Sequence[Output]:
        return [Notice(moment=self.view.moment(at_ms), found=found)] if found else ()

    def begin_life(self) -> None:
        """What processes remember outlives the group, who holds what does not."""
        self.state = replace(self.state, last=None, unassigned_since_ms={}, declared={}, rule_memory=RuleMemory())

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        """The verdict, its causes, and what the rules find; then the step that the statuses are held against."""
        again = generation.copy_of_last(self.view, self.state, row)
        if again is not None:
            self.state = replace(self.state, apart_ms=0, hidden_ms=0)
            return [again]
        last = self.state.last
        self.state, outputs = generation.judged(self.view, self.state, row, never_came)
        self.state = replace(self.state, apart_ms=0, hidden_ms=0)
        now = self.state.last
        if now is None or now.source != source_of(row):
            return outputs
        # A status names the generation of its worker, which nobody knows of what was polled.
        if body_of(row).sampled is not None:
            self.state = replace(self.state, polled=polled.given(self._of_polled(), now, row.timestamp_ms))
        else:
            published = next((one for one in outputs if isinstance(one, Generation)), None)
            self._steps.append(step_of(self.view, before, last, now, row, published, leap))
        return outputs

    def end(self, row: Row, *, historic: bool) -> None:
        """Nobody holds anything; that the group has no worker goes on."""
        first = self.view.envelope.generation is None and not self.view.open()
        self.state = workers_gone.deleted(self.view, self.state, row, historic=historic)
        if not first:
            self.state = replace(self.state, last=None, unassigned_since_ms={})

    # -- time ------------------------------------------------------------------------------------------------------

    def due_ms(self) -> int | None:
        return deadlines.due_ms(self.view, self.state)

    def live_due_ms(self) -> int | None:
        """At once for a group that was found empty in history."""
        return workers_gone.unread_live_ms(self.view, self.state)

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        self.state, notices = deadlines.fired(self.view, self.state, at_ms, historic=historic)
        return notices

    def timed_from(self) -> tuple[Source, int] | None:
        """A generation, or the record that shows the group empty."""
        if self.state.emptied is not None:
            return self.state.emptied.source, self.state.emptied.at_ms
        last = self.state.last
        return (last.source, last.at_ms) if last is not None and last.views else None

    def tell(self, end_ms: int | None, *, end_of_input: bool) -> Sequence[Output]:
        """What follows from statuses and records together, as far as both have come."""
        if self._polled:
            return self._tell_polled()
        if self.state.polled is not None:
            self.state = replace(self.state, timeline=polled.resumed(self.state.polled), polled=None)
        timeline, outputs = self.state.timeline, list[Output]()
        clock = ordering.clock_of(self.view, timeline.carry_ms, end_ms, end_of_input=end_of_input)
        steps: Sequence[RecordStep] = self._steps
        if self._lost_from is not None:
            timeline, steps = timeline.after_lost_records(steps, self._lost_from)
        if self._lost:
            timeline, said, steps = timeline.after_gap(self.view, steps, frozenset(self._lost))
            outputs += said
        sightings: Sequence[Sighting] = self._sightings
        if not self.view.finite:
            timeline, sightings = timeline.read_late(sightings, self._newest_generation())
        timeline, said = ordering.advance(self.view, timeline, sightings, steps, clock)
        outputs += said
        if end_of_input:
            timeline, said = ordering.finish(self.view, timeline)
            outputs += said
        self.state = replace(self.state, timeline=timeline)
        self._steps, self._sightings, self._lost, self._lost_from = [], [], [], None
        return outputs

    @property
    def _polled(self) -> bool:
        """Whether the group is polled. One that was polled is so until a record of it is read."""
        return self.view.settings.polled or self.view.envelope.polled is not None

    def _of_polled(self) -> PolledStatuses:
        """What is known of the jobs of a polled group; of one that was read so far, what its statuses have said."""
        known, timeline = self.state.polled, self.state.timeline
        if known is None:
            known = polled.begun(timeline)
            kept = [one for one in timeline.sightings if one.partition not in self._lost]
            self._sightings = [*kept, *self._sightings]
            self.state = replace(self.state, timeline=Timeline())
        return known

    def _tell_polled(self) -> Sequence[Output]:
        """What statuses say of a polled group: no order of records and statuses is known."""
        known, outputs = polled.after_statuses(
            self.view, self._of_polled(), self.state.last, self._sightings, self._lost
        )
        self.state = replace(self.state, polled=None if known == PolledStatuses() else known)
        self._steps, self._sightings, self._lost, self._lost_from = [], [], [], None
        return outputs

    def _newest_generation(self) -> int:
        """That of the newest record read, judged yet or not; -1 before the first."""
        waiting, judged = self.view.waiting.queue.generation, self.view.envelope.generation
        return waiting if waiting >= 0 or judged is None else judged

    def events_due_ms(self, attention_ms: int | None) -> int | None:
        """The earlier of what is told by the monitor's clock and what is due by the coordinator's."""
        if self._polled:
            return polled.due_ms(self.view, self.state.polled or PolledStatuses(), attention_ms)
        timeline = self.state.timeline
        told_ms, timers_ms = ordering.due_ms(self.view, timeline, attention_ms)
        if timers_ms is not None:
            timers_ms = clocks.monitors_time(self.view.envelope, timers_ms - timeline.carry_ms)
        return min((one for one in (told_ms, timers_ms) if one is not None), default=None)

    def stored(self) -> str | None:
        return None if self.state == ConnectState() else dumps_in_parts(self.state, _owner(self.view))


def _owner(view: GroupView) -> tuple[str, str]:
    """Whose parts of a state these are."""
    return view.settings.name, view.group
