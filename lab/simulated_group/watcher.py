"""A group watched without Spark: its topics through the real decoding and the pure fold, as far as they go by now.

Reads with a plain consumer that joins no group. What the job would publish about the group is what is collected here,
so a test can wait for a generation and look at its verdict at little cost.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from lab.errors import LabError
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, Observed, observe
from rebalance_monitor.streaming.core.connect.topics import StatusChange, decode_config_row, decode_status_row
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record, fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Result, Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings

OFFSETS_TOPIC = "__consumer_offsets"
BATCH = 1_000
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Judged:
    """One generation with members: as published, and as the record shows it."""

    published: Generation
    observed: Observed

    def hands(self) -> dict[str, frozenset[ConnectorOrTask]]:
        """What each worker (host:port) holds after the round."""
        return {view.worker or member_id: view.holds for member_id, view in self.observed.views.items()}

    def held(self) -> list[ConnectorOrTask]:
        """All that is held, repeats included."""
        return [job for jobs in self.hands().values() for job in jobs]


class Watcher:
    """One group's judged generations, incidents and statuses; `look` brings them up to now.

    `publish` is called with what each look publishes, and the time (ms) it was looked at.
    """

    def __init__(
        self, bootstrap: str, settings: ClusterSettings, group: str, knowledge: Knowledge = NOTHING_KNOWN
    ) -> None:
        self._settings, self._group, self._knowledge = settings, group, knowledge
        self._topics = settings.connect.get(group, ConnectSettings())
        self._state: Saved | None = None
        self._bodies: dict[Source, tuple[GroupGeneration, int]] = {}
        self._published: dict[Source, Generation] = {}
        self._order: list[Source] = []
        self.incidents: dict[str, list[Incident]] = {}
        self.statuses: list[StatusChange] = []
        self.publish: Callable[[Sequence[Result], int], None] = lambda _results, _now_ms: None
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "unused: partitions are assigned by hand and nothing is committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
                "log_level": 0,
            }
        )
        self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def _assigned(self) -> bool:
        """Whether all partitions are being read; the coordinator's topic exists only once a group has asked for it."""
        if not self._open:
            names = [OFFSETS_TOPIC, *filter(None, (self._topics.config_topic, self._topics.status_topic))]
            known = self._consumer.list_topics(timeout=10).topics
            places = [(name, number) for name in names if name in known for number in known[name].partitions]
            self._open = all(name in known for name in names)
            if self._open:
                self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])
        return self._open

    def look(self, ahead_ms: int = 0) -> None:
        """Read all that is there, then fold it in one go; `ahead_ms` by which the clock is put forward."""
        if not self._assigned():
            return
        rows: list[Row] = []
        while messages := self._consumer.consume(BATCH, POLL_S):
            rows += filter(None, map(self._row, messages))
        now_ms = time.time_ns() // 1_000_000 + ahead_ms
        outcome = fold_group(self._settings, self._group, self._state, rows, Tick(now_ms), knowledge=self._knowledge)
        self._state = outcome.state
        self.publish(outcome.results, now_ms)
        for result in outcome.results:
            match result:
                case Generation():
                    if result.source not in self._published:
                        self._order.append(result.source)
                    self._published[result.source] = result
                case Incident():
                    self.incidents.setdefault(result.incident_id, []).append(result)
                case _:
                    continue

    def _row(self, message: Message) -> Row | None:
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                return None
            raise LabError(f"topic {message.topic()} cannot be read: {error.str()}")
        place = (message.topic(), message.partition(), message.offset(), message.timestamp()[1])
        if message.topic() == OFFSETS_TOPIC:
            row = decode_offsets_record(*place, message.key(), message.value())
            if row is None or row.group != self._group:
                return None
            if isinstance(row.body, GroupGeneration):
                self._bodies[Source(row.topic, row.partition, row.offset)] = (row.body, row.timestamp_ms)
            return row
        decode = decode_config_row if message.topic() == self._topics.config_topic else decode_status_row
        row = decode(*place, message.key(), message.value())
        if row is not None and isinstance(row.body, StatusChange):
            self.statuses.append(row.body)
        return row

    @property
    def seen(self) -> int:
        """How many generations were judged, of whatever kind of group."""
        return len(self._order)

    def grades(self) -> list[Grade]:
        """Their verdicts, in the order of the log."""
        return [self._published[source].verdict.grade for source in self._order]

    def generations(self) -> list[Judged]:
        """All with members, in the order of the log."""
        return [
            Judged(self._published[source], observe(self._bodies[source][0], source, self._bodies[source][1]))
            for source in self._order
        ]

    def findings(self, since_ms: int = 0) -> list[Incident]:
        """Incidents as they were when they opened, from a record's time on."""
        opened = (transitions[0] for transitions in self.incidents.values())
        return [one for one in opened if one.opened_at_ms >= since_ms]

    def all_that_joined(self, since_ms: int = 0) -> list[Incident]:
        """The same incidents as they were when they opened and after each change, so with every part they had."""
        return [
            one
            for transitions in self.incidents.values()
            for one in transitions
            if transitions[0].opened_at_ms >= since_ms
        ]
