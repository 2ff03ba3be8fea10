"""The ends of all watched partitions, sampled by a thread of the reader's process.

Spark asks for offsets in its trigger loop, so the answer must never wait for a broker: this thread asks the cluster,
and `latestOffset` only reads the last sample. The pause between two samples grows while nothing happens.

A sample is complete when it holds the end of everything that can be read. Without the offsets topic there is nothing
to judge from: such a sample is never complete, so the clock stands still, unless a new cluster has none yet. Where it
is not wanted, because groups are polled, a sample is complete without any topic, and the clock goes on.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from itertools import islice

from rebalance_monitor.streaming.supervision import Supervised
from .ends import LASTING, NO_SUCH_TOPIC, ClusterError, ClusterView, FoundTopics, NamedPartition
from .offsets import COORDINATORS_LOG, Bounds, Offset, Sample, SourcePartition

METADATA_EVERY_S = 5.0
SHORTEST_PAUSE_S = 0.02
# A broker that has just started may not know every topic yet: one look is not enough to say that one is not there.
LOOKS_FOR_NEVER = 2
MOST_GONE = 5_000
"""Partitions of deleted topics whose last known end is kept."""


class Sampler:
    """Keeps the last sample fresh. `wanted` gives the topics (name -> kind) and may grow at any time.

    `known` is what a sampler before this one knew of partitions that were not read to their end.

    `made_on_demand` is a topic that a new cluster does not have yet (None: no such one). While it never was, there is
    nothing to wait for: samples without it are complete, so the clock goes on.
    """

    def __init__(
        self,
        view: ClusterView,
        wanted: Callable[[], Mapping[str, str]],
        committed: Collection[str],
        longest_pause_s: float,
        now_ms: Callable[[], int],
        on_change: Callable[["Sampler"], None],
        made_on_demand: str | None = None,
        known: Mapping[SourcePartition, Bounds] | None = None,
    ) -> None:
        self._view, self._wanted, self._now_ms, self._on_change = view, wanted, now_ms, on_change
        self._longest_pause_s, self._made_on_demand = longest_pause_s, made_on_demand
        self._committed = committed
        self._looks_without: dict[str, int] = {}
        self._pause_s = SHORTEST_PAUSE_S
        self._lows: dict[SourcePartition, int] = {}
        self._ends: dict[SourcePartition, Bounds] = dict(known or {})
        self._gone: dict[SourcePartition, Bounds] = {}
        self._topics_at_s = -METADATA_EVERY_S
        self._kinds: Mapping[str, str] = {}
        self.names: tuple[str, ...] = ()
        self.sampled_s = 0.0
        self._sampled = threading.Event()
        self._thread = Supervised("sampler", self._step, self, first_pause_s=longest_pause_s)
        self.topics = FoundTopics()
        self.sample: Sample | None = None
        self.problem: str | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stopped.set()

    def wait(self, seconds: float) -> Sample | None:
        """The last sample; the first one is waited for, so long at most."""
        self._sampled.wait(seconds)
        return self.sample

    @property
    def blind(self) -> str | None:
        """The offsets topic and why it cannot be read; None while it can, and on a new cluster that has none yet."""
        for name, kind in self._kinds.items():
            if kind == COORDINATORS_LOG and not self._readable(name) and not self._never_was(name):
                return f"{name} ({self.topics.missing.get(name, 'no partitions')})" if self._looked_at(name) else None
        return None

    def unread(self, start: Offset) -> dict[SourcePartition, Bounds]:
        """What is known of partitions that are not read to their last known end, deleted ones too, from `start` on.

        Of a topic that was made anew, and of which the new life is read, nothing is left to state.
        """
        known = {**self._ends, **self._gone}
        read = {key.topic: key.topic_id for key in start.partitions}
        left = (
            (key, bounds)
            for key, bounds in known.items()
            if bounds.end > start.partitions.get(key, bounds.low)
            and key not in start.gone
            and not (key in self._gone and read.get(key.topic, key.topic_id) != key.topic_id)
        )
        return dict(islice(left, MOST_GONE))

    def part(self, name: str, problem: str | None) -> None:
        """Something else than the cluster went wrong: the tick stays where it was, and the reader says so."""
        if problem is not None:
            self.problem = f"the reader takes no samples ({problem})"
            self._topics_at_s = -METADATA_EVERY_S
            self._on_change(self)

    def _step(self) -> float:
        try:
            moved = self.refresh(time.monotonic())
            self.problem = None
        except ClusterError as why:
            # Whoever waits for timers must not see an old sample as a new one: the tick stays where it was.
            moved, self.problem = False, f"the cluster gives no answer ({why})"
            self._topics_at_s = -METADATA_EVERY_S
        self._on_change(self)
        self._pause_s = SHORTEST_PAUSE_S if moved else min(self._longest_pause_s, self._pause_s * 1.5)
        return self._pause_s

    def refresh(self, now_s: float) -> bool:
        """Take one sample; True when an end moved."""
        self._kinds = self._wanted()
        names = tuple(sorted(self._kinds))
        if names != self.names or now_s - self._topics_at_s >= METADATA_EVERY_S:
            self.topics, self.names, self._topics_at_s = self._view.topics(names), names, now_s
            self._count_looks()
        before = self.sample.bounds if self.sample is not None else {}
        tick_ms = self._now_ms()
        places = [(name, p) for name, info in sorted(self.topics.found.items()) for p in sorted(info.leaders)]
        # A transaction that is open hides its records from the topic's readers in Kafka, and so from the monitor.
        stable = tuple(place for place in places if self._kinds.get(place[0]) in self._committed)
        plain = tuple(place for place in places if self._kinds.get(place[0]) not in self._committed)
        ends = {**self._view.ends(plain, committed=False), **self._view.ends(stable, committed=True)}
        lows = self._beginnings(places)
        bounds: dict[SourcePartition, Bounds] = {}
        for place in places:
            key, end = self._key(place), ends.get(place)
            low, leader = lows.get(key), self.topics.found[place[0]].leaders[place[1]]
            if end is not None and low is not None and leader is not None:
                bounds[key] = Bounds(low, end, leader)
        complete = len(bounds) == len(places) and self._everything_there(bool(places)) and not self._unanswered()
        moved = {k: b.end for k, b in bounds.items()} != {k: b.end for k, b in before.items()}
        if not complete or not places:
            self._topics_at_s = min(self._topics_at_s, now_s - METADATA_EVERY_S + 1.0)  # look again soon
        self._depart(bounds)
        self.sample, self.sampled_s = Sample(tick_ms, bounds, complete, dict(self._gone)), now_s
        self._sampled.set()
        return moved

    # -- which topics there are ------------------------------------------------------------------------------------

    def _count_looks(self) -> None:
        """How many looks in a row found that a topic is not there."""
        absent = [name for name, why in self.topics.missing.items() if why == NO_SUCH_TOPIC]
        self._looks_without = {name: self._looks_without.get(name, 0) + 1 for name in absent}

    def _readable(self, name: str) -> bool:
        info = self.topics.found.get(name)
        return info is not None and bool(info.leaders)

    def _never_was(self, name: str) -> bool:
        known = any(key.topic == name for key in self._lows)
        return name == self._made_on_demand and not known and self.topics.missing.get(name) == NO_SUCH_TOPIC

    def _looked_at(self, name: str) -> bool:
        """Whether it is sure that the topic is not there."""
        return self.topics.missing.get(name) != NO_SUCH_TOPIC or self._looks_without.get(name, 0) >= LOOKS_FOR_NEVER

    def _everything_there(self, anything: bool) -> bool:
        if any(not info.leaders for info in self.topics.found.values()):
            return False  # the client answers with an empty partition list while it has no metadata of the topic
        absent = [name for name, kind in self._kinds.items() if kind == COORDINATORS_LOG and not self._readable(name)]
        if not any(kind == COORDINATORS_LOG for kind in self._kinds.values()):
            return all(self._readable(name) or self._looked_at(name) for name in self._kinds)
        if not absent:
            return anything
        return all(self._never_was(name) and self._looked_at(name) for name in absent)

    def _unanswered(self) -> bool:
        """Whether the end of a topic that is read is not known now, because of a passing error of its own."""
        read = {key.topic for key in self._lows}
        return any(
            not why.startswith(LASTING) and (name in read or self._kinds.get(name) == COORDINATORS_LOG)
            for name, why in self.topics.missing.items()
        )

    def _depart(self, bounds: Mapping[SourcePartition, Bounds]) -> None:
        """Partitions of topics that were deleted, or made anew, with what is known of them last."""
        self._ends.update(bounds)
        for key in [one for one in self._ends if one not in bounds]:
            info = self.topics.found.get(key.topic)
            anew = info is not None and info.topic_id != key.topic_id
            if anew or self._looks_without.get(key.topic, 0) >= LOOKS_FOR_NEVER:
                self._gone[key] = self._ends.pop(key)
                self._lows.pop(key, None) if anew else None
        while len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]

    def _key(self, place: NamedPartition) -> SourcePartition:
        return SourcePartition(place[0], self.topics.found[place[0]].topic_id, place[1])

    def _beginnings(self, places: list[NamedPartition]) -> Mapping[SourcePartition, int]:
        """Low watermarks of partitions not seen before; later ones show themselves when a read starts below them."""
        new = tuple(place for place in places if self._key(place) not in self._lows)
        for place, low in self._view.beginnings(new).items():
            if low is not None:
                self._lows[self._key(place)] = low
        return self._lows
