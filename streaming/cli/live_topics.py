"""Topics of a live cluster, read from where a time says to their ends, or on for a while. InputError where the brokers
do not answer."""

import base64
import sys
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from rebalance_monitor.streaming.core.replay import RawRecord
from rebalance_monitor.streaming.polling.admin import REQUEST_TIMEOUT_S
from rebalance_monitor.streaming.polling.asking import KafkaTopics
from rebalance_monitor.streaming.spark.ends import ClusterError, KafkaView
from rebalance_monitor.streaming.supervision import PartFailed
from .exit_codes import InputError
from .moments import clock_ms

SILENT_S = 30.0
"""So long nothing comes before the brokers are taken for unreachable."""
AT_A_TIME = 5_000
POLL_S = 0.2
TELL_EVERY_S = 1.0
_APPEND_TIME = 2
"""librdkafka's RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME."""


class LiveTopics:
    """Reads as a consumer that joins no group and commits nothing."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._client = dict(client)
        self._view = KafkaView(self._client)
        self._shows = sys.stderr.isatty()
        self._told_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._shows:
            print("\r\033[K", end="", file=sys.stderr)

    def exists(self, topic: str) -> bool:
        """Whether the topic is there and may be read."""
        return bool(self._partitions(topic)[0])

    def read(
        self, topic: str, *, committed: bool = False, since_ms: int | None = None, follow_s: float = 0.0
    ) -> Iterator[RawRecord]:
        """To the end that each partition has now; with `follow_s` so many seconds on from here."""
        from rebalance_monitor.streaming.spark.reading import consumer

        numbers, missing = self._partitions(topic)
        if not numbers:
            raise InputError(f"topic {topic} can't be read ({missing}); see `rebalance-monitor config rights`")
        places = tuple((topic, number) for number in numbers)
        starts, ends = self._bounds(places, committed, since_ms)
        left = {number for number in numbers if follow_s or starts[number] < ends[number]}
        if not left:
            return
        from confluent_kafka import TopicPartition

        source = consumer(self._client, committed)
        source.assign([TopicPartition(topic, number, starts[number]) for number in sorted(left)])
        until_s = heard_s = time.monotonic()
        until_s += follow_s
        count = 0
        try:
            while left:
                now_s = time.monotonic()
                if follow_s and now_s >= until_s:
                    return
                messages = source.consume(AT_A_TIME, POLL_S)
                if messages or follow_s:
                    heard_s = now_s
                elif now_s - heard_s > SILENT_S:
                    raise InputError(f"nothing of topic {topic} came for {SILENT_S:.0f} s; are all its brokers up?")
                for message in messages:
                    number = message.partition()
                    if (why := message.error()) is not None:
                        _raise_unless_end(topic, why)
                        if not follow_s:
                            left.discard(number)
                        continue
                    count += 1
                    if follow_s or message.offset() < ends[number]:
                        yield _taken(message)
                    if not follow_s and message.offset() >= ends[number] - 1:
                        left.discard(number)
                self._show(topic, count, now_s)
        finally:
            source.unassign()

    def metadata(self) -> dict[str, Any]:
        """A line of a capture's `metadata.jsonl.gz`: partitions of all topics, with ids and racks."""
        at_ms = clock_ms()
        try:
            told = KafkaTopics(self._client)()
        except PartFailed as why:
            raise InputError(f"the brokers do not say which topics there are ({why})") from why
        topics: dict[str, dict[str, object]] = {}
        for name, partitions in sorted(told.topics.items()):
            racks = [sorted({told.racks[broker] for broker in held if broker in told.racks}) for held in partitions]
            topics[name] = {"racks": racks}
            if name in told.ids:
                topics[name]["id"] = base64.urlsafe_b64encode(told.ids[name]).decode().rstrip("=")
        return {"at_ms": at_ms, "topics": topics}

    def _partitions(self, topic: str) -> tuple[list[int], str]:
        """The topic's partitions, or why it has none."""
        try:
            found = self._view.topics((topic,))
        except ClusterError as why:
            raise InputError(
                f"no broker answers at {self._client['bootstrap.servers']} ({why}); check the address and the"
                " credentials, and that brokers are up"
            ) from why
        if topic in found.missing:
            return [], found.missing[topic]
        return sorted(found.found[topic].leaders), "it has no partitions"

    def _bounds(
        self, places: tuple[tuple[str, int], ...], committed: bool, since_ms: int | None
    ) -> tuple[dict[int, int], dict[int, int]]:
        try:
            lows, ends = self._view.beginnings(places), self._view.ends(places, committed)
        except ClusterError as why:
            raise InputError(f"the brokers do not say where {places[0][0]} begins and ends ({why})") from why
        starts: dict[int, int] = {}
        stops: dict[int, int] = {}
        for place in places:
            low, end = lows[place], ends[place]
            if low is None or end is None:
                raise InputError(f"partition {place[1]} of {place[0]} has no leader now, so it can't be read")
            starts[place[1]], stops[place[1]] = low, end
        if since_ms is not None:
            starts.update(self._since(places, since_ms, stops))
        return starts, stops

    def _since(self, places: tuple[tuple[str, int], ...], since_ms: int, ends: Mapping[int, int]) -> dict[int, int]:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            found = self._asking.offsets_for_times(
                [TopicPartition(*place, since_ms) for place in places], timeout=REQUEST_TIMEOUT_S
            )
        except KafkaException as why:
            raise InputError(f"the brokers do not say where that time is in {places[0][0]} ({why.args[0]})") from why
        return {one.partition: one.offset if one.offset >= 0 else ends[one.partition] for one in found}

    @cached_property
    def _asking(self) -> Any:
        from rebalance_monitor.streaming.spark.reading import consumer

        return consumer(self._client, False)

    def _show(self, topic: str, count: int, now_s: float) -> None:
        if self._shows and now_s - self._told_s > TELL_EVERY_S:
            self._told_s = now_s
            print(f"\r\033[K{topic}: {count:,} records read …", end="", file=sys.stderr, flush=True)


def _taken(message: Any) -> RawRecord:
    kind, at_ms = message.timestamp()
    return RawRecord(
        topic=message.topic(), partition=message.partition(), offset=message.offset(), timestamp_ms=max(at_ms, 0),
        key=message.key(), value=message.value(), append_time=kind == _APPEND_TIME,
        leader_epoch=message.leader_epoch(),
    )  # fmt: skip


def _raise_unless_end(topic: str, why: Any) -> None:
    from confluent_kafka import KafkaError

    if why.code() == KafkaError._PARTITION_EOF:
        return
    if why.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        raise InputError(f"records of {topic} were deleted before they could be read; start again")
    if not why.retriable() and why.code() not in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
        raise InputError(f"topic {topic} can't be read ({why.str()})")
