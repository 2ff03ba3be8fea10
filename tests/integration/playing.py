"""Captures of Connect clusters written to a real broker again, each under names of its own, at the pace asked for."""

import base64
import gzip
import json
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

from lab.bench.stage import create_topic
from lab.bench.topic import TOPIC
from lab.cluster import config_topic
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import RawRecord
from tests.vector_files import CAPTURES
from tests.waiting import PATIENCE_S


class Played(Protocol):
    """Records with when each may be written: no earlier than its predecessor in its partition, whose offsets begin at
    0."""

    def timed(self) -> Iterable[tuple[int, RawRecord]]: ...
    def records(self) -> Iterable[RawRecord]: ...


@dataclass(frozen=True, slots=True)
class Copy:
    """A capture of one Connect group under another name, in a partition of the offsets topic that no other copy has.
    Offsets stay, since each partition is written from its beginning; so do timestamps."""

    capture: str
    group: str
    partition: int

    def section(self) -> dict[str, Any]:
        """The Connect group's settings, as a configuration writes them."""
        (own,) = settings_of(CAPTURES / self.capture).connect.values()
        told = {one.name: getattr(own, one.name) for one in fields(own) if one.name not in ("guessed_topics",)}
        names = {"config_topic": f"{self.group}-configs", "status_topic": f"{self.group}-status"}
        return {name: dict(one) if isinstance(one, dict) else one for name, one in {**told, **names}.items()}

    def timed(self) -> Iterator[tuple[int, RawRecord]]:
        """All of the group's records."""
        folder = CAPTURES / self.capture
        ((group, own),) = settings_of(folder).connect.items()
        names = {own.config_topic: f"{self.group}-configs", own.status_topic: f"{self.group}-status"}
        was, now = (struct.pack(">h", len(name)) + name.encode() for name in (group, self.group))
        reached: dict[tuple[str, int], int] = {}
        timed = []
        for record in sorted(records_of(folder), key=lambda one: (one.topic, one.partition, one.offset)):
            place = (record.topic, record.partition)
            reached[place] = max(reached.get(place, 0), record.timestamp_ms)
            timed.append((reached[place], record))
        for at_ms, record in timed:
            if record.topic == TOPIC:
                assert record.key is not None
                yield at_ms, replace(record, partition=self.partition, key=record.key.replace(was, now))
            else:
                yield at_ms, replace(record, topic=names[record.topic])

    def records(self) -> Iterator[RawRecord]:
        return (record for _, record in self.timed())


def prepare(bootstrap: str, copies: Sequence[Played]) -> None:
    """The topics, empty."""
    create_topic(bootstrap)
    partitions: dict[str, int] = {}
    for copy in copies:
        for record in copy.records():
            if record.topic != TOPIC:
                partitions[record.topic] = max(partitions.get(record.topic, 0), record.partition + 1)
    config_topic.create(bootstrap, partitions)


def save(path: Path, copies: Sequence[Played]) -> None:
    """All copies as one capture, for `replay`."""
    with gzip.open(path, "wt") as file:
        for record in (one for copy in copies for one in copy.records()):
            line = {
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "timestamp": record.timestamp_ms,
                "key": _text(record.key),
                "value": _text(record.value),
            }
            file.write(json.dumps(line) + "\n")


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


class Player:
    """Writes records as Kafka's own coordinator and workers did, `faster` than they: None is at once. `now_ms`: a time
    of theirs that is now, where that is not the first one of each copy."""

    def __init__(
        self, bootstrap: str, copies: Sequence[Played], faster: float | None, now_ms: int | None = None
    ) -> None:
        from confluent_kafka import Producer

        # The broker lets a client of this name write to the offsets topic.
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap, "client.id": "__admin_client", "log_level": 0, "linger.ms": 0,
                "max.in.flight.requests.per.connection": 1,
            }
        )  # fmt: skip
        self._coming: list[tuple[float, RawRecord]] = []
        for copy in copies:
            timed = list(copy.timed())
            first_ms = min(at_ms for at_ms, _ in timed if at_ms > 0) if now_ms is None else now_ms
            for at_ms, one in timed:
                self._coming.append((max(0, at_ms - first_ms) / 1000 / faster if faster else 0.0, one))
        self._coming.sort(key=lambda one: one[0])
        self._began_s = time.monotonic()
        self._elsewhere: list[str] = []

    @property
    def left(self) -> int:
        """Records still to come."""
        return len(self._coming)

    def play(self) -> bool:
        """Writes what is due by now; whether that was the rest."""
        now_s = time.monotonic() - self._began_s
        due = [one for at_s, one in self._coming if at_s <= now_s]
        del self._coming[: len(due)]
        for record in due:
            self._producer.produce(
                record.topic, record.value, record.key, record.partition, timestamp=record.timestamp_ms,
                on_delivery=lambda error, message, wanted=record.offset: self._written(error, message, wanted),
            )  # fmt: skip
        left = self._producer.flush(PATIENCE_S)
        assert left == 0
        assert not self._elsewhere, self._elsewhere[:3]
        return not self._coming

    def _written(self, error: Any, message: Any, wanted: int) -> None:
        if error is not None or message.offset() != wanted:
            self._elsewhere.append(f"{message.topic()}-{message.partition()}: {error or message.offset()} for {wanted}")
