"""The fold: a group's rows in, generations with verdicts and incident transitions out. Pure; live and replay share it.

Theory. Only the order inside a partition is real. Config and status rows are therefore stored the moment they come, and
a group record waits, together with all later records of its group, until the config records it refers to have arrived:
leader memory flows from generation to generation, so judging out of order would change it. Whatever the interleaving
of partitions and the cuts of batches, each generation is judged once, from the same inputs. Time-outs follow the
records' own times, and the cluster's tick when nothing comes.

    rows: group offset 7 (config offset 12)      -> waits: config seen up to 9        published: pending
    rows: config offsets 9, 10, 11               -> 12 is reached: judged             published: match
    tick beyond arrival + judge.wait_ms          -> judged without                    published: not_judged, why
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from schemas.connect_topics import NOT_JSON, OtherConfig
from streaming.core import attention, clocks, evidence, foreign, judge_group
from streaming.core import timers as group_timers
from streaming.core.codec import dumps, loads
from streaming.core.config_history import ConfigEntry, ConfigHistory
from streaming.core.incidents import Moment, resolved, settle
from streaming.core.published import blobs_of, body_of
from streaming.core.records import (
    ConfigChange,
    Gap,
    GroupDeleted,
    GroupGeneration,
    OtherGroup,
    Row,
    StatusChange,
    Tick,
    Undecodable,
)
from streaming.core.results import (
    GapRecord,
    Result,
    Source,
    Standing,
    UndecodableRecord,
)
from streaming.core.routing import connect_settings
from streaming.core.rules.memory import without_offsets
from streaming.core.settings import ClusterSettings, ConnectSettings
from streaming.core.state import STATE_VERSION, GroupState, Waiting
from streaming.core.statuses import Sighting
from streaming.core.steps import steps_of
from streaming.core.timeline import blind
from streaming.core.timeline import run as telling
from streaming.core.timeline.step import Step
from streaming.core.unreadable import unreadable_config

__all__ = ["STATE_VERSION", "FoldOutcome", "fold_group"]


@dataclass(frozen=True, slots=True)
class FoldOutcome:
    """The group's next state as stored bytes, when its next timer is due, and what is to be published."""

    state: bytes
    due_ms: int | None
    results: tuple[Result, ...]
    blobs: dict[str, bytes] = field(default_factory=dict)


def fold_group(
    settings: ClusterSettings,
    group: str,
    state: bytes | None,
    rows: Sequence[Row],
    tick: Tick | None,
    *,
    end_of_input: bool = False,
) -> FoldOutcome:
    """Fold these rows, then the tick. `end_of_input` judges what still waits without its missing evidence."""
    before = loads(GroupState, state) if state is not None else GroupState()
    fold = _Fold(settings, group, before, tick)
    for row in sorted(rows, key=lambda one: (one.topic, one.partition, one.offset)):
        fold.take(row)
    fold.settle(end_of_input=end_of_input)
    after = fold.state
    text = dumps(after).encode("utf-8", "surrogatepass")
    return FoldOutcome(text, _due_ms(settings, group, after), tuple(fold.results), fold.blobs)


def _due_ms(settings: ClusterSettings, group: str, state: GroupState) -> int | None:
    timers = [one.arrived_ms + settings.judge_wait_ms for one in state.waiting]
    own_ms = group_timers.due_ms(settings, group, state)
    own_ms = None if own_ms is None else clocks.monitors_time(state, own_ms)
    others = (own_ms, telling.due_ms(settings, group, state.timeline))
    return min([*timers, *(one for one in others if one is not None)], default=None)


class _Fold:
    """One call of `fold_group`: the state as it moves, and the results so far."""

    def __init__(self, settings: ClusterSettings, group: str, state: GroupState, tick: Tick | None) -> None:
        self.settings, self.group, self.state, self.tick = settings, group, state, tick
        self.results: list[Result] = []
        self.blobs: dict[str, bytes] = {}
        self.sightings: list[Sighting] = []
        self.config: list[ConfigEntry] = []  # put into the history at one go: a topic read from its beginning is long
        self.steps: list[Step] = []
        self.topics = connect_settings(settings, group) if group else ConnectSettings()
        self.lost: list[int] = []  # partitions of the status topic with a gap

    def take(self, row: Row) -> None:
        """Sort one row into the state; rows that were folded before are dropped."""
        self._recreated(row)
        place = f"{row.topic}-{row.partition}"
        if row.offset < self.state.next_offsets.get(place, 0):
            return
        hole = row.offset > self.state.next_offsets.get(place, 0)
        self.state = replace(self.state, next_offsets={**self.state.next_offsets, place: row.offset + 1})
        source = Source(row.topic, row.partition, row.offset)
        match row.body:
            case ConfigChange(record=record):
                if self.state.history.begins_ms is None:
                    begun = replace(self.state.history, begins_ms=row.timestamp_ms)
                    self.state = replace(self.state, history=begun)
                self.config.append(ConfigEntry(row.offset, record))
                if isinstance(record, OtherConfig) and record.what == NOT_JSON:
                    self.results.append(unreadable_config(self.settings.name, source, record))
            case GroupGeneration() | GroupDeleted():
                if isinstance(row.body, GroupGeneration):
                    self.blobs.update(blobs_of(row.body))
                row = clocks.timed(row)
                arrived_ms = self.tick.now_ms if self.tick else row.timestamp_ms
                historic = self.tick.historic if self.tick else False
                ticked = self.tick is not None and not historic
                waiting = Waiting(row, arrived_ms, historic, ticked=ticked)
                self.state = replace(self.state, waiting=(*self.state.waiting, waiting))
            case Undecodable():
                self._not_read(row, source, row.body)
            case Gap():
                self._missing(row, row.body)
            case StatusChange(record=record):
                historic = self.tick.historic if self.tick else False
                at_ms = clocks.written_ms(self.state, row.timestamp_ms, self.tick)
                if hole:
                    timeline = blind.with_hole(self.state.timeline, row.partition, at_ms)
                    self.state = replace(self.state, timeline=timeline)
                self.sightings.append(telling.sighting_of(row, record, at_ms, historic=historic))
            case OtherGroup():
                return

    def _not_read(self, row: Row, source: Source, body: Undecodable) -> None:
        """A record of the group, or of its config topic, that could not be read. Rows of topics are published by the
        fold of group ""; here they only say what is not known."""
        if row.group is not None:
            self.state = replace(self.state, unread=source)
        elif row.topic == self.topics.config_topic:
            self._put_config()
            self.state = replace(self.state, history=self.state.history.with_unread(row.offset))
        if row.group is not None or not self.group:
            self.results.append(
                UndecodableRecord(
                    cluster=self.settings.name,
                    source=source,
                    reason=body.reason,
                    size_bytes=body.size_bytes,
                    sample=body.sample,
                )
            )

    def _missing(self, row: Row, body: Gap) -> None:
        """Records that were gone before they were read."""
        if row.topic == self.topics.config_topic:
            self._put_config()
            self.state = replace(self.state, history=self.state.history.without(row.offset, body.to_offset))
        elif row.topic == self.topics.status_topic:
            self.sightings = [one for one in self.sightings if one.partition != row.partition]
            self.lost.append(row.partition)
        else:
            self.state = replace(self.state, seen_from_start=False)
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

    def _put_config(self) -> None:
        self.state = replace(self.state, history=self.state.history.extended(self.config))
        self.config = []

    def _recreated(self, row: Row) -> None:
        """A topic of another id begins anew: its offsets, and the config history if it is the config topic."""
        known = self.state.topic_ids.get(row.topic)
        if known == row.topic_id or not row.topic_id:
            return
        state = replace(self.state, topic_ids={**self.state.topic_ids, row.topic: row.topic_id})
        if known is not None:
            offsets = {place: at for place, at in state.next_offsets.items() if place.rpartition("-")[0] != row.topic}
            state = replace(state, next_offsets=offsets)
            if row.topic == self.topics.config_topic:
                self.config.clear()
                state = replace(state, history=ConfigHistory(), rule_memory=without_offsets(state.rule_memory))
        self.state = state

    def settle(self, *, end_of_input: bool) -> None:
        """Judge every waiting record whose evidence is there, in order; then the timers of the tick."""
        self._put_config()
        waiting = list(self.state.waiting)
        while waiting:
            head = waiting[0]
            if not self._judge(head, end_of_input=end_of_input):
                break
            waiting.pop(0)
        self.state = replace(self.state, waiting=tuple(self._announce(waiting)))
        # A timer never fires in history: what it saw may long be over further on in the log.
        if self.tick is not None and not self.tick.historic and not waiting:
            now_ms = self.tick.now_ms if end_of_input else clocks.groups_time(self.state, self.tick.now_ms)
            self._timers(now_ms)
        self._tell(end_of_input=end_of_input)

    def _tell(self, *, end_of_input: bool) -> None:
        """What follows from statuses and records together, as far as both have come."""
        clock = telling.clock_of(self.settings, self.tick, self.state.waiting, end_of_input=end_of_input)
        if self.lost:
            timeline, results, self.steps = blind.after_gap(
                self.settings, self.group, self.state.timeline, self.steps, frozenset(self.lost)
            )
            self.state = replace(self.state, timeline=timeline)
            self.results.extend(results)
        timeline, results = telling.advance(
            self.settings, self.group, self.state.timeline, self.sightings, self.steps, clock
        )
        self.results.extend(results)
        if end_of_input:
            timeline, results = telling.finish(self.settings, self.group, timeline)
            self.results.extend(results)
        self.state = replace(self.state, timeline=timeline)

    def _judge(self, head: Waiting, *, end_of_input: bool) -> bool:
        row = head.row
        if isinstance(row.body, GroupDeleted):
            self._deleted(row)
            self._stands("Dead", row)
            return True
        missing = evidence.missing(self.settings, self.group, self.state, row)
        late = self.tick is not None and self.tick.now_ms >= head.arrived_ms + self.settings.judge_wait_ms
        if missing is not None and not (late or end_of_input):
            return False
        self.state = replace(self.state, history=self.state.history.seen_with(row.timestamp_ms))
        why = None
        if missing is not None:
            why = f"evidence missing: {missing}{foreign.ahead(body_of(row), self.state.history)}"
        before = self.state
        self.state, doubtful = clocks.rebased(before, head)
        if doubtful:
            self._doubt(before, row)
        self.state, results = judge_group.generation(
            self.settings, self.group, self.state, row, missing=why, historic=head.historic
        )
        self.state = clocks.read(self.state, head, live=not end_of_input)
        self.results.extend(results)
        self._stands("Stable" if self.state.member_ids else "Empty", row)
        self.steps.extend(steps_of(self.settings, self.group, before, self.state, row, results))
        return True

    def _doubt(self, before: GroupState, row: Row) -> None:
        """What only the clocks of two coordinators together would bring up."""
        found = group_timers.unsure(self.group, self.state, before, row.timestamp_ms)
        if found:
            moment = self._moment(row)
            incidents, opened = settle(self.state.incidents, found, moment, frozenset())
            state = replace(self.state, incidents=incidents)
            self.state, told = attention.follow(self.settings, state, opened, row.timestamp_ms)
            self.results.extend(told)

    def _moment(self, row: Row) -> Moment:
        return Moment(
            cluster=self.settings.name,
            group=self.group,
            incarnation=self.state.incarnation,
            generation=self.state.generation or 0,
            at_ms=row.timestamp_ms,
            historic=self.state.historic,
        )

    def _stands(self, state: str, row: Row) -> None:
        self.results.append(Standing(cluster=self.settings.name, group=self.group, state=state, at_ms=row.timestamp_ms))

    def _announce(self, waiting: list[Waiting]) -> list[Waiting]:
        """Publish what waits, once, as pending."""
        announced = []
        for one in waiting:
            if not one.announced and isinstance(one.row.body, GroupGeneration) and one.row.body.members:
                until_ms = one.arrived_ms + self.settings.judge_wait_ms
                self.results.append(
                    judge_group.pending(self.settings, self.group, self.state, one.row, until_ms, historic=one.historic)
                )
            announced.append(replace(one, announced=True))
        return announced

    def _deleted(self, row: Row) -> None:
        if self.state.generation is None and not self.state.incidents:
            self.state = replace(self.state, seen_from_start=True)
            return
        moment = replace(self._moment(row), historic=False)
        ended = [resolved(one, moment) for one in self.state.incidents.values()]
        self.state = replace(self.state, deleted=True, last=None, incidents={}, unassigned_since_ms={}, holds={})
        self.state, results = attention.follow(self.settings, self.state, ended, row.timestamp_ms)
        self.results.extend(results)

    def _timers(self, now_ms: int) -> None:
        self.state, results = group_timers.overdue(self.settings, self.group, self.state, now_ms, historic=False)
        self.results.extend(results)
