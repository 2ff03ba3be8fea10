"""All groups of a load, one generation after the other in the order of time, and the capture that they make."""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from lab.bench.assigning.rounds import JAVA
from lab.bench.generations.connect import ConnectGroup
from lab.bench.generations.consumers import ConsumerGroup, CooperativeGroup, RangeGroup, RoundRobinGroup, StickyGroup
from lab.bench.generations.played import Place, PlayedGroup, Rules, Size
from lab.bench.generations.streams import StreamsApplication
from lab.bench.generations.targets import TargetGroup
from lab.foreign.captured import sample
from lab.simulated.log import Log
from lab.simulated.queue import START_MS, Queue
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge, knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.model.settings import ClientLibrary, ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord

KINDS: Mapping[str, type[PlayedGroup]] = {
    one.kind: one
    for one in (
        ConnectGroup,
        RangeGroup,
        CooperativeGroup,
        TargetGroup,
        StreamsApplication,
        StickyGroup,
        RoundRobinGroup,
    )
}
CLUSTER = "load"


@dataclass(slots=True)
class Load:
    """Groups that are played when the records are asked for. `prefix`: what their names begin with. `planted`: codes of
    the rules that a generation breaks, by group and generation, complete once all records were read."""

    size: Size
    kinds: tuple[str, ...] = tuple(KINDS)
    start_ms: int = START_MS
    prefix: str = ""
    planted: dict[tuple[str, int], Rules] = field(default_factory=dict)
    generations: int = 0
    groups: list[PlayedGroup] = field(init=False)
    _log: Log = field(default_factory=Log)
    _queue: Queue = field(init=False)
    _dice: Random = field(init=False)

    def __post_init__(self) -> None:
        size = self.size
        self._queue, self._dice = Queue(size.seed, self.start_ms), Random(f"load {size.seed}")
        self.groups = []
        for number in range(size.groups):
            kind = self.kinds[number % len(self.kinds)]
            name = f"{self.prefix}{kind}-{number:05}"
            place = Place(self._log, self._queue, Random(f"{name} {size.seed}"))
            self.groups.append(KINDS[kind](name, place, size))

    def records(self) -> Iterator[RawRecord]:
        """All records in the order in which they are written."""
        for group in self.groups:
            group.begin()
            self._queue.after(self._dice.uniform(0, self.size.every_ms), partial(self._next, group, follows=True))
        yield from self._written()
        while self.generations < self.size.generations:
            self._queue.run(self._queue.now_ms + self.size.every_ms / (1 + len(self.groups)))
            yield from self._written()

    def _next(self, group: PlayedGroup, *, follows: bool) -> None:
        """The next generation, perhaps after a change, or one that follows from the one before by itself."""
        changes = not follows and self._dice.random() < self.size.changing
        wrong = not (follows or changes) and self._dice.random() < self.size.wrong
        if changes:
            group.change()
        answer = partial(self._answered, group, wrong=wrong)
        if changes and group.ahead_ms:
            self._queue.after(group.ahead_ms, answer)
        else:
            answer()

    def _answered(self, group: PlayedGroup, *, wrong: bool) -> None:
        if self.generations >= self.size.generations:
            return
        self.generations += 1
        broken = group.answer(wrong=wrong)
        if broken:
            self.planted[group.name, group.generation] = broken
        soon_ms, usual_ms = group.follows_ms(), self.pause_ms(group)
        step = partial(self._next, group, follows=soon_ms is not None)
        self._queue.after(usual_ms if soon_ms is None else soon_ms, step)

    def pause_ms(self, group: PlayedGroup) -> float:
        """How long after a generation of the group its next one is."""
        return self._dice.uniform(0.7, 1.3) * self.size.every_ms

    def _written(self) -> Iterator[RawRecord]:
        taken, self._log.written = self._log.written, []
        return (one.stamped() for one in taken)

    @property
    def settings(self) -> ClusterSettings:
        """What the monitor is told of the cluster."""
        return ClusterSettings(
            name=CLUSTER,
            connect={one.name: one.settings for one in self.groups if isinstance(one, ConnectGroup)},
            streams={one.name: one.settings for one in self.groups if isinstance(one, StreamsApplication)},
            client_libraries={"*": ClientLibrary.JAVA},
        )

    def topics(self) -> tuple[dict[str, int], dict[str, bytes]]:
        """How many partitions topics have, and the ids that records name."""
        counts: dict[str, int] = {}
        ids: dict[str, bytes] = {}
        for one in self.groups:
            if isinstance(one, ConsumerGroup | StreamsApplication | TargetGroup):
                counts |= one.topics
            if isinstance(one, TargetGroup):
                ids |= dict.fromkeys(one.topics, one.topic_id)
        return counts, ids

    def knowledge(self, at_ms: int = START_MS - 1) -> Knowledge:
        """What a monitor knows that has asked for the topics once: before the first record, if nothing else is said."""
        counts, ids = self.topics()
        racks = {name: (frozenset[str](),) * count for name, count in counts.items()}
        return knowledge_of([TopicMetadata(at_ms, racks, ids)])


def write(load: Load, folder: Path) -> int:
    """The load as a capture that `replay` reads, and what was planted (`planted.json`); how many records it has."""
    folder.mkdir(parents=True, exist_ok=True)
    count = _packed(folder / "records.jsonl.gz", map(_line, load.records()))
    counts, ids = load.topics()
    texts = {name: base64.urlsafe_b64encode(one).decode().rstrip("=") for name, one in ids.items()}
    _packed(folder / "metadata.jsonl.gz", [sample(START_MS - 1, counts, texts)])
    (folder / "cluster.json").write_text(json.dumps(_described(load.settings), indent=1) + "\n", encoding="utf-8")
    planted = [[group, number, *sorted(codes)] for (group, number), codes in load.planted.items()]
    (folder / "planted.json").write_text(json.dumps(planted) + "\n", encoding="utf-8")
    return count


def _packed(file: Path, values: Iterable[object]) -> int:
    count = 0
    with gzip.GzipFile(file, "wb", mtime=0) as packed:
        for value in values:
            packed.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")
            count += 1
    return count


def _line(record: RawRecord) -> dict[str, object]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": None if record.key is None else base64.b64encode(record.key).decode(),
        "value": None if record.value is None else base64.b64encode(record.value).decode(),
    }


def _described(settings: ClusterSettings) -> dict[str, Any]:
    """As a capture describes its cluster: of Connect groups alone."""
    groups = [
        {
            "group.id": name,
            "config.storage.topic": one.config_topic,
            "status.storage.topic": one.status_topic,
            "scheduled.rebalance.max.delay.ms": one.max_delay_ms,
            "worker releases": [one.release],
        }
        for name, one in settings.connect.items()
    ]
    return {"capture": settings.name, "java": f'version "{JAVA}"', "groups": groups}
