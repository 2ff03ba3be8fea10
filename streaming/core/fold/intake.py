"""Rows as they come: each is sorted into the group's state once, whatever the order of partitions.

config record     into the history, at one go        group record    waits for its turn
status            into the sightings                 gap             whom it concerns knows less from there on
"""

from dataclasses import replace

from schemas.connect_topics import NOT_JSON, OtherConfig
from streaming.core.connect import config_sanity
from streaming.core.connect.config_history import ConfigEntry, ConfigHistory
from streaming.core.connect.rules.memory import without_offsets
from streaming.core.connect.statuses import gaps, late
from streaming.core.connect.statuses import ordering as telling
from streaming.core.connect.statuses.facts import Sighting
from streaming.core.connect.statuses.round_change import Step
from streaming.core.fold import clocks
from streaming.core.fold.published import blobs_of
from streaming.core.fold.routing import connect_settings
from streaming.core.fold.state import GroupState, Waiting
from streaming.core.model.records import (
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
from streaming.core.model.results import GapRecord, Result, Source, UndecodableRecord
from streaming.core.model.settings import ClusterSettings, ConnectSettings
from streaming.core.reading.unreadable import unreadable_config

MAX_LOST = 16
"""Gaps of the group's partition that are remembered."""


class Intake:
    """The state as rows are sorted into it, and the results so far."""

    def __init__(self, settings: ClusterSettings, group: str, state: GroupState, tick: Tick | None) -> None:
        self.settings, self.group, self.state, self.tick = settings, group, state, tick
        self.finite = False  # nobody has read along: the tick is the end of the input
        self.results: list[Result] = []
        self.blobs: dict[str, bytes] = {}
        self.sightings: list[Sighting] = []
        self.config: list[ConfigEntry] = []  # put into the history at one go: a topic read from its beginning is long
        self.steps: list[Step] = []
        self.topics = connect_settings(settings, group) if group else ConnectSettings()
        self.lost: list[int] = []  # partitions of the status topic with a gap
        self.lost_from: int | None = None  # offset of the newest gap in the group's own partition

    def take(self, row: Row) -> None:
        """Sort one row into the state; rows that were folded before are dropped."""
        self._recreated(row)
        place = f"{row.topic}-{row.partition}"
        if isinstance(row.body, Gap) and self._elsewhere(row.topic, place):
            return
        if row.offset < self.state.next_offsets.get(place, 0):
            return
        hole = row.offset > self.state.next_offsets.get(place, 0)
        self.state = replace(self.state, next_offsets={**self.state.next_offsets, place: row.offset + 1})
        source = Source(row.topic, row.partition, row.offset)
        match row.body:
            case ConfigChange(record=record):
                self._dated(row.timestamp_ms)
                self.config.append(ConfigEntry(row.offset, record, self._by_now(row.timestamp_ms)))
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
                live = not self.finite and late.in_time(self.state.timeline)
                read_ms = clocks.read_ms(self.state, row.timestamp_ms, self.tick if live else None)
                if hole:
                    at_ms = row.timestamp_ms if read_ms is None else min(row.timestamp_ms, read_ms)
                    timeline = gaps.with_hole(self.state.timeline, row.partition, at_ms)
                    self.state = replace(self.state, timeline=timeline)
                self.sightings.append(telling.sighting_of(row, record, historic=historic, read_ms=read_ms))
            case OtherGroup():
                return

    def _by_now(self, at_ms: int) -> int:
        """When a record of this time was written at the latest, by the clock of the group's coordinator: a record that
        is read as it comes was written by then, whatever its writer's clock says."""
        if self.tick is None or self.tick.historic or self.finite:
            return at_ms
        return min(at_ms, clocks.groups_time(self.state, self.tick.now_ms))

    def _dated(self, at_ms: int) -> None:
        """A config record of this time."""
        history = self.state.history
        if history.begins_ms is None or history.newest_ms < at_ms:
            begins_ms = at_ms if history.begins_ms is None else history.begins_ms
            history = replace(history, begins_ms=begins_ms, newest_ms=max(history.newest_ms, at_ms))
            self.state = replace(self.state, history=history)

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
        elif self.group:
            newest = Source(row.topic, row.partition, body.to_offset - 1)
            lost = (*self.state.lost, (row.offset, body.to_offset))[-MAX_LOST:]
            self.state = replace(self.state, unread=newest, lost=lost)
            self.lost_from = row.offset
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

    def _elsewhere(self, topic: str, place: str) -> bool:
        """Whether a gap of the coordinator's log lies in another partition than this group's records."""
        own_topics = (self.topics.config_topic, self.topics.status_topic)
        return bool(self.group) and topic not in own_topics and not self._at_home(topic, place)

    def _at_home(self, topic: str, place: str) -> bool:
        waiting = (f"{one.row.topic}-{one.row.partition}" for one in self.state.waiting)
        last = self.state.last
        return place in waiting or (last is not None and place == f"{last.source.topic}-{last.source.partition}")

    def _put_config(self) -> None:
        self.state = replace(self.state, history=config_sanity.extended(self.state.history, self.config))
        self.config = []

    def _recreated(self, row: Row) -> None:
        """A topic of another id begins anew: its offsets, and the config history if it is the config topic."""
        known = self.state.topic_ids.get(row.topic)
        anew = self._stands_where_older_stood(row)
        if (known == row.topic_id or not row.topic_id) and not anew:
            return
        state = self.state
        if row.topic_id:
            state = replace(state, topic_ids={**state.topic_ids, row.topic: row.topic_id})
        if known is not None or anew:
            offsets = {place: at for place, at in state.next_offsets.items() if place.rpartition("-")[0] != row.topic}
            state = replace(state, next_offsets=offsets)
            if row.group is not None:
                state = replace(state, written=())  # a record of the new topic is no copy of one of the old
            if row.topic == self.topics.config_topic:
                self.config.clear()
                state = replace(state, history=ConfigHistory(), rule_memory=without_offsets(state.rule_memory))
        self.state = state

    def _stands_where_older_stood(self, row: Row) -> bool:
        """Whether a config record from a source that knows no ids is of another topic of that name: its offset was read
        before, and it is newer than all that was read. One that is only read again has its old time."""
        if row.topic_id or row.topic != self.topics.config_topic or not isinstance(row.body, ConfigChange):
            return False
        read = row.offset < self.state.next_offsets.get(f"{row.topic}-{row.partition}", 0)
        return read and 0 < self.state.history.newest_ms < row.timestamp_ms
