"""The ends of all watched partitions, sampled by a thread of the reader's process.

Spark asks for offsets in its trigger loop, so the answer must never wait for a broker: this thread asks the cluster,
and `latestOffset` only reads the last sample. The pause between two samples grows while nothing happens.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from streaming.core.topic_names import why_illegal
from streaming.spark.offsets import Bounds, Key, Kind, Sample

METADATA_EVERY_S = 5.0
REQUEST_TIMEOUT_S = 5.0
NO_SUCH_TOPIC = "no_such_topic"
NOT_AUTHORIZED = "not_authorized"
INVALID_NAME = "invalid_name"
SHORTEST_PAUSE_S = 0.02
# A broker that has just started may not know every topic yet: one look is not enough to say that one never was.
LOOKS_FOR_NEVER = 2


class ClusterError(Exception):
    """The cluster gave no usable answer; the text says why."""


class ClientRefused(Exception):
    """A property of the client is wrong; the text names it."""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic as it is now; `leaders` = broker id per partition, None while it has none."""

    topic_id: str
    leaders: Mapping[int, int | None]


@dataclass(frozen=True, slots=True)
class Topics:
    """What the cluster says about the wanted topics; `missing` = name -> why."""

    found: Mapping[str, TopicInfo] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


Place = tuple[str, int]


class ClusterView(Protocol):
    """The three questions asked of a cluster. Any may raise ClusterError."""

    def topics(self, names: tuple[str, ...]) -> Topics: ...

    def ends(self, places: tuple[Place, ...], committed: bool) -> Mapping[Place, int | None]:
        """End offsets (`committed`: last stable offsets); None where the partition gave no answer."""
        ...

    def beginnings(self, places: tuple[Place, ...]) -> Mapping[Place, int | None]: ...


class KafkaView:
    """A real cluster, through librdkafka's admin client. One request per broker for any number of partitions."""

    def __init__(self, client: Mapping[str, str]) -> None:
        """Raises ClientRefused when librdkafka does not accept a property."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        self._said: str | None = None
        # librdkafka writes broken connections to stderr by itself; they are reported through the status instead.
        settings = {"client.id": "rebalance-monitor", "log_level": "0", "error_cb": self._note, **client}
        try:
            self._admin = AdminClient(settings)
        except KafkaException as why:
            raise ClientRefused(_reason(why)) from why

    def _note(self, error: Any) -> None:
        """What librdkafka says about connections: a wrong password shows here only, requests just time out."""
        code = error.code()
        if self._said is None or code != error._ALL_BROKERS_DOWN:
            self._said = str(error.str())

    def cluster_id(self) -> str:
        """The cluster's own id."""
        from confluent_kafka import KafkaException

        try:
            found = self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S).result(REQUEST_TIMEOUT_S + 1)
        except (KafkaException, TimeoutError) as why:
            self._admin.poll(0)
            raise ClusterError(self._said or _reason(why)) from why
        return str(found.cluster_id)

    def topics(self, names: tuple[str, ...]) -> Topics:
        from confluent_kafka import KafkaException, TopicCollection

        found: dict[str, TopicInfo] = {}
        # No topic can have an illegal name, so the broker is not asked for it (it answers "Invalid topic").
        missing = {name: f"{INVALID_NAME}: {why}" for name in names if (why := why_illegal(name)) is not None}
        legal = [name for name in names if name not in missing]
        if not legal:
            return Topics(missing=missing)
        answers = self._admin.describe_topics(TopicCollection(legal), request_timeout=REQUEST_TIMEOUT_S)
        failed: BaseException | None = None
        definite = False
        for name, answer in answers.items():
            try:
                topic = answer.result(REQUEST_TIMEOUT_S + 1)
            except (KafkaException, TimeoutError) as why:
                missing[name] = _ASKED.get(_code(why), _reason(why))
                definite |= _code(why) in _ASKED
                failed = why
                continue
            definite = True
            # The client answers with an empty partition list while it has no metadata of the topic.
            leaders = {p.id: (p.leader.id if p.leader is not None else None) for p in topic.partitions}
            found[name] = TopicInfo(str(topic.topic_id), leaders)
        # An error of every topic concerns the request; any other error concerns its own topic only.
        if failed is not None and not definite:
            raise ClusterError(_reason(failed)) from failed
        return Topics(found, missing)

    def ends(self, places: tuple[Place, ...], committed: bool) -> Mapping[Place, int | None]:
        from confluent_kafka.admin import OffsetSpec

        return self._list(places, OffsetSpec.latest(), committed)

    def beginnings(self, places: tuple[Place, ...]) -> Mapping[Place, int | None]:
        from confluent_kafka.admin import OffsetSpec

        return self._list(places, OffsetSpec.earliest(), False)

    def _list(self, places: tuple[Place, ...], spec: Any, committed: bool) -> Mapping[Place, int | None]:
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition

        if not places:
            return {}
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        asked = {TopicPartition(topic, partition): spec for topic, partition in places}
        answers = self._admin.list_offsets(asked, isolation_level=level, request_timeout=REQUEST_TIMEOUT_S)
        out: dict[Place, int | None] = {}
        last: BaseException | None = None
        for place, answer in answers.items():
            try:
                out[(place.topic, place.partition)] = int(answer.result(REQUEST_TIMEOUT_S + 1).offset)
            except (KafkaException, TimeoutError) as why:
                out[(place.topic, place.partition)], last = None, why
        if last is not None and all(offset is None for offset in out.values()):
            raise ClusterError(_reason(last)) from last
        return out


# Kafka's error codes that say something lasting about a topic.
_ASKED = {3: NO_SUCH_TOPIC, 29: NOT_AUTHORIZED}
LASTING = (NO_SUCH_TOPIC, NOT_AUTHORIZED, INVALID_NAME)


def _code(why: BaseException) -> int:
    """The error's code in Kafka's protocol; librdkafka's own errors are below -1. 0 for a time-out of ours."""
    first: Any = why.args[0] if why.args else None
    return int(first.code()) if hasattr(first, "code") else 0


def _reason(why: BaseException) -> str:
    first: Any = why.args[0] if why.args else None
    return str(first.str()) if hasattr(first, "str") else type(why).__name__


class Sampler:
    """Keeps the last sample fresh. `wanted` gives the topics (name -> kind) and may grow at any time.

    `made_on_demand` is a topic that a new cluster does not have yet (None: no such one). While it never was, and
    nothing else is there to be read, there is nothing to wait for: such samples are complete, so the clock goes on.
    """

    def __init__(
        self,
        view: ClusterView,
        wanted: Callable[[], Mapping[str, Kind]],
        longest_pause_s: float,
        now_ms: Callable[[], int],
        on_change: Callable[["Sampler"], None],
        made_on_demand: str | None = None,
    ) -> None:
        self._view, self._wanted, self._now_ms, self._on_change = view, wanted, now_ms, on_change
        self._longest_pause_s, self._made_on_demand = longest_pause_s, made_on_demand
        self._looks_without = 0
        self._pause_s = SHORTEST_PAUSE_S
        self._lows: dict[Key, int] = {}
        self._topics_at_s = -METADATA_EVERY_S
        self.names: tuple[str, ...] = ()
        self.sampled_s = 0.0
        self._stopped, self._sampled = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="ends", daemon=True)
        self.topics = Topics()
        self.sample: Sample | None = None
        self.problem: str | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def wait(self, seconds: float) -> Sample | None:
        """The last sample; the first one is waited for, so long at most."""
        self._sampled.wait(seconds)
        return self.sample

    def kind(self, topic: str) -> Kind:
        return self._wanted().get(topic, "status")

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                moved = self.refresh(time.monotonic())
                self.problem = None
            except ClusterError as why:
                # Whoever waits for timers must not see an old sample as a new one: the tick stays where it was.
                moved, self.problem = False, f"the cluster gives no answer ({why})"
                self._topics_at_s = -METADATA_EVERY_S
            self._on_change(self)
            self._pause_s = SHORTEST_PAUSE_S if moved else min(self._longest_pause_s, self._pause_s * 1.5)
            self._stopped.wait(self._pause_s)

    def refresh(self, now_s: float) -> bool:
        """Take one sample; True when an end moved."""
        names = tuple(sorted(self._wanted()))
        if names != self.names or now_s - self._topics_at_s >= METADATA_EVERY_S:
            self.topics, self.names, self._topics_at_s = self._view.topics(names), names, now_s
            never = self._made_on_demand is not None and self.topics.missing.get(self._made_on_demand) == NO_SUCH_TOPIC
            self._looks_without = self._looks_without + 1 if never else 0
        before = self.sample.bounds if self.sample is not None else {}
        tick_ms = self._now_ms()
        places = [(name, p) for name, info in sorted(self.topics.found.items()) for p in sorted(info.leaders)]
        # A transaction that is open hides its records: Connect's own readers see a config topic that way too.
        stable = tuple(place for place in places if self.kind(place[0]) == "config")
        plain = tuple(place for place in places if self.kind(place[0]) != "config")
        ends = {**self._view.ends(plain, committed=False), **self._view.ends(stable, committed=True)}
        lows = self._beginnings(places)
        bounds: dict[Key, Bounds] = {}
        for place in places:
            key, end = self._key(place), ends.get(place)
            low, leader = lows.get(key), self.topics.found[place[0]].leaders[place[1]]
            if end is not None and low is not None and leader is not None:
                bounds[key] = Bounds(low, end, leader)
        nothing_yet = self._looks_without >= LOOKS_FOR_NEVER and not self._lows
        complete = (len(bounds) == len(places) if places else nothing_yet) and not self._unanswered()
        moved = {k: b.end for k, b in bounds.items()} != {k: b.end for k, b in before.items()}
        if not complete or not places:
            self._topics_at_s = min(self._topics_at_s, now_s - METADATA_EVERY_S + 1.0)  # look again soon
        self.sample, self.sampled_s = Sample(tick_ms, bounds, complete), now_s
        self._sampled.set()
        return moved

    def _unanswered(self) -> bool:
        """Whether the end of a topic that is read is not known now, because of a passing error of its own."""
        read = {key.topic for key in self._lows}
        return any(
            not why.startswith(LASTING) and (name in read or self.kind(name) == "offsets")
            for name, why in self.topics.missing.items()
        )

    def _key(self, place: Place) -> Key:
        return Key(place[0], self.topics.found[place[0]].topic_id, place[1])

    def _beginnings(self, places: list[Place]) -> Mapping[Key, int]:
        """Low watermarks of partitions not seen before; later ones show themselves when a read starts below them."""
        new = tuple(place for place in places if self._key(place) not in self._lows)
        for place, low in self._view.beginnings(new).items():
            if low is not None:
                self._lows[self._key(place)] = low
        return self._lows
