"""Streams applications of the classic protocol, with copies of their state."""

from dataclasses import replace

from lab.bench.generations.played import RIGHT, Place, PlayedGroup, Rules, Size
from lab.streams.life import Life
from lab.streams.truth import Part, Truth
from rebalance_monitor.assignors.streams.leader import LeaderAnswer
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from rebalance_monitor.streaming.core.streams.catalogue import HAND_OVER_UNTOLD

FOLLOWS_MS = 1_000
NEVER_MS = (1 << 63) - 1
THREADS = 2
STATELESS = 0


class _Records:
    """The application's records, as the simulated one asks for them."""

    def __init__(self, group: "StreamsApplication") -> None:
        self._group = group
        self.now_ms, self.generation = group.now_ms, 0

    def offsets_row(self, value: bytes) -> None:
        self._group.write(2, (), value)


class StreamsApplication(PlayedGroup):
    """Processes of two threads; half of the tasks have state, and one standby each."""

    kind = "streams"

    def __init__(self, name: str, place: Place, size: Size) -> None:
        super().__init__(name, place, size)
        each = max(size.partitions // 2, 1)
        parts = (Part(STATELESS, f"{name}.in", each), Part(1, f"{name}.re", each, stateful=True, application=name))
        self.truth = Truth(parts=parts, standbys=1)
        self._records = _Records(self)
        self._life = Life(place.dice, self.truth, name, self._records)
        self._answer: LeaderAnswer | None = None
        self._spoiled = False

    @property
    def settings(self) -> StreamsSettings:
        """As the monitor is told it."""
        return self.truth.known()

    @property
    def topics(self) -> dict[str, int]:
        """Topics with their partitions."""
        return {name: part.tasks for part in self.truth.parts for name in (part.topic, *part.logs)}

    def begin(self) -> None:
        for _ in range(max(self.size.members // THREADS, 1)):
            self._join()

    def _join(self) -> None:
        self._joined += 1
        self._life.join(f"p{self._joined}", threads=THREADS)

    def change(self) -> None:
        if self.comes(THREADS * len(self._life.processes)):
            self._join()
        else:
            self._life.leave(self.dice.choice(list(self._life.processes)))

    def follows_ms(self) -> int | None:
        if self._answer is None:
            return None
        if self._spoiled:
            return FOLLOWS_MS
        next_ms = min(given.next_rebalance_ms for given in self._answer.assignments.values())
        return None if next_ms == NEVER_MS else max(next_ms - self.now_ms, FOLLOWS_MS)

    def round(self, *, wrong: bool) -> Rules:
        self._records.now_ms = self.now_ms
        self._life.advance(catch_up=1.0)
        self._life.spoil = self._lost if wrong else _right
        self._spoiled = False
        self._answer = self._life.round(after_ms=0)
        self.generation = self._records.generation
        return frozenset({HAND_OVER_UNTOLD.code}) if self._spoiled else RIGHT

    def _lost(self, answer: LeaderAnswer) -> LeaderAnswer:
        """A task without state is left out, as if somebody had to give it up first, and nobody is to join again."""
        for name, given in answer.assignments.items():
            for at, task in enumerate(given.active):
                if task.subtopology == STATELESS:
                    self._spoiled = True
                    partitions = given.partitions[:at] + given.partitions[at + 1 :]
                    less = replace(given, active=given.active[:at] + given.active[at + 1 :], partitions=partitions)
                    return replace(answer, assignments={**answer.assignments, name: less})
        return answer


def _right(answer: LeaderAnswer) -> LeaderAnswer:
    return answer
