"""The streaming source of one cluster: a PySpark Python Data Source over librdkafka.

Three places run this code. The reader's process of the driver answers `initialOffset`, `latestOffset` and `partitions`
from cached samples; worker processes run `read`, which hands on ranges (`ranges`); the batch function speaks to the
reader's process through `Channel`.
Start positions come from the database through the options, so Spark's checkpoint holds nothing that could be missed.
"""

import json
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from rebalance_monitor.streaming.config.client_reference import ClientReference
from . import stacks
from .channel import Channel, Control, ReaderStatus
from .ends import KafkaView
from .lag import Lag
from .offsets import (
    COORDINATORS_LOG,
    FIRST_BATCH_RECORDS,
    Bounds,
    BundleOf,
    Offset,
    Sample,
    SourcePartition,
    TokenBucket,
    advance,
    backlog,
    bundles,
    gone_back,
    spans,
    with_homes,
)
from .ranges import COLUMN, SPARK_SCHEMA, BundleRanges, properties_of
from .relayed_stderr import log_in_spark_process
from .sampling import Sampler
from .watchdog import READER

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "rebalance_monitor_kafka"
# A record of an unknown topic is taken for this large until the first batch has measured it.
FIRST_GUESS_BYTES = 250.0
# A batch is held in the driver's memory, so no limit may make it larger than this.
LARGEST_BATCH_BYTES = 32_000_000
BURST_S = 2
STATUS_EVERY_S = 1.0
FIRST_SAMPLE_WAIT_S = 0.15
LIMIT_WAIT_S = 0.05
NO_LEADER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Everything the source must know; it stands in the query's plan. `unread`: of the status of the reader before this
    one. `committed`: kinds of topics of which only records of committed transactions are read. `commits`: patterns of
    the groups whose offset commits are wanted, None: nobody's."""

    cluster_id: str
    topics: dict[str, str]
    committed: tuple[str, ...]
    positions: tuple[tuple[str, str, int, int], ...]
    unread: dict[str, tuple[int, int]]
    channel: str
    max_bytes_per_second_per_broker: int
    heartbeat_ms: int
    poll_max_ms: int
    read_timeout_ms: int
    max_lag_s: float
    client: ClientReference
    commits: tuple[str, ...] | None = None

    def spark(self) -> dict[str, str]:
        """As options of `readStream`."""
        return {"settings": json.dumps(asdict(self))}

    @classmethod
    def parse(cls, options: MutableMapping[str, str]) -> "SourceOptions":
        raw: dict[str, Any] = json.loads(options["settings"])
        raw["positions"] = tuple((topic, topic_id, p, offset) for topic, topic_id, p, offset in raw["positions"])
        raw["committed"] = tuple(raw["committed"])
        raw["client"] = ClientReference.parse(raw["client"])
        raw["commits"] = None if raw["commits"] is None else tuple(raw["commits"])
        return cls(**raw)

    def librdkafka(self) -> dict[str, str]:
        """Properties of a client in this process, credentials in clear; read once in the life of a query."""
        return properties_of(self.client, self.channel)


class KafkaSource(DataSource):  # type: ignore[misc]  # PySpark is not followed by the type checker
    """`spark.readStream.format(FORMAT)`, or that of `source_called`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SPARK_SCHEMA

    def streamReader(self, schema: Any) -> "KafkaReader":  # noqa: N802 - the name is PySpark's
        return KafkaReader(SourceOptions.parse(self.options))


def source_called(name: str, source: type[KafkaSource] = KafkaSource) -> type[KafkaSource]:
    """The source under a name of its own. Two queries must not share one: Spark adds to the environment of a source's
    Python function when a query starts, without a lock, and every task gets a copy of it."""
    return type(source.__name__, (source,), {"name": classmethod(lambda cls: name)})


class KafkaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Answers Spark from the sampler's last sample. Spark pickles it before it is used, so nothing starts in here."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._sampler: Sampler | None = None
        self._channel = Channel(Path(options.channel))
        self._bucket: TokenBucket | None = None
        self._bytes_per_record, self._most_records = FIRST_GUESS_BYTES, FIRST_BATCH_RECORDS
        self._target: Sample | None = None
        self._start = Offset(
            partitions={
                SourcePartition(topic, topic_id, number): at for topic, topic_id, number, at in options.positions
            }
        )
        self._lag: Lag | None = None
        self._control = Control()
        self._reported_s = 0.0

    # -- asked by Spark; the names are PySpark's ---------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The database's positions. Partitions that it does not know begin at their beginning."""
        self._running()
        return self._start.json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxBytes(self._options.max_bytes_per_second_per_broker)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch, from memory; `start` itself while there is nothing to do.

        Spark asks once the batch before is committed, so everything before `start` is stored.
        """
        sample = self._target or self._running().sample
        self._start = begin = Offset.parse(start)
        if self._lag is not None:
            self._lag.committed(begin)
        if sample is None:
            return start
        control = self._channel.control()
        self._bytes_per_record = control.bytes_per_record or FIRST_GUESS_BYTES
        self._most_records = control.most_records
        allowed = None if isinstance(limit, ReadAllAvailable) else self._allowed(sample, limit)
        end = advance(begin, sample, allowed, control.due_ms, self._options.heartbeat_ms)
        while end is begin and self._target is not None and any(a < b for a, b in backlog(begin, sample).values()):
            # With availableNow "nothing new" would end the query: what the limit holds back is waited for.
            time.sleep(LIMIT_WAIT_S)
            end = advance(begin, sample, self._allowed(sample, limit), control.due_ms, self._options.heartbeat_ms)
        if end is begin:
            return start
        if self._bucket is not None:
            for span in spans(begin, end):
                if (bounds := sample.bounds.get(span.key)) is not None:
                    self._bucket.take(bounds.broker, (span.end - span.start) * self._bytes_per_record)
        return end.json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the target at what the cluster holds now. The one call that may wait for a broker."""
        self._target = self._running().wait(self._options.read_timeout_ms / 1000)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        before, after = Offset.parse(start), Offset.parse(end)
        every = spans(before, after)
        tick_ms = after.tick_ms if after.tick_ms > before.tick_ms else 0
        if not every and not tick_ms:
            return []
        control = self._channel.control()
        log = next((topic for topic, kind in self._options.topics.items() if kind == COORDINATORS_LOG), "")
        partitions = 1 + max((key.partition for key in after.partitions if key.topic == log), default=0)
        made = bundles(every, control.tasks, control.most_records, with_homes(control.groups, log, partitions))
        kinds = {**self._options.topics, **control.topics}
        return [InputPartition(self._ranges(one, tick_ms, kinds, after.gone).packed()) for one in made or [BundleOf()]]

    def _ranges(
        self, of: BundleOf, tick_ms: int, kinds: Mapping[str, str], gone: Mapping[SourcePartition, str]
    ) -> BundleRanges:
        options = self._options
        return BundleRanges(
            cluster_id=options.cluster_id,
            client=options.client,
            channel=options.channel,
            timeout_ms=options.read_timeout_ms,
            kinds=kinds,
            spans=[span for span in of.spans if span.key not in gone],
            gone=[(span, gone[span.key]) for span in of.spans if span.key in gone],
            groups=frozenset(of.groups),
            tick_ms=tick_ms,
            commits=options.commits,
        )

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Runs in a worker process, which hands on what is to be read; who folds reads it."""
        from .one_value import one_value

        yield one_value(COLUMN, partition.value)

    def stop(self) -> None:
        if self._sampler is not None:
            self._sampler.stop()

    # -- own ----------------------------------------------------------------------------------------------------

    def _running(self) -> Sampler:
        if self._sampler is None:
            log_in_spark_process()
            stacks.offer(Path(self._options.channel), READER)
            self._lag = Lag(self._options.max_lag_s)
            self._sampler = Sampler(
                KafkaView(self._options.librdkafka()),
                self._wanted,
                self._options.committed,
                self._options.poll_max_ms / 1000,
                lambda: time.time_ns() // 1_000_000,
                self._report,
                self._made_on_demand(),
                {
                    SourcePartition.parse(text): Bounds(low, end, NO_LEADER)
                    for text, (low, end) in self._options.unread.items()
                },
            )
            self._sampler.start()
            self._sampler.wait(FIRST_SAMPLE_WAIT_S)
        return self._sampler

    def _wanted(self) -> dict[str, str]:
        return {**self._options.topics, **self._channel.control().topics}

    def _made_on_demand(self) -> str | None:
        """The offsets topic, unless it was read before: then it was there, and being gone is no beginning."""
        known = {topic for topic, _, _, _ in self._options.positions}
        logs = (topic for topic, kind in self._options.topics.items() if kind == COORDINATORS_LOG)
        return next((topic for topic in logs if topic not in known), None)

    def _allowed(self, sample: Sample, limit: ReadLimit) -> dict[int, int]:
        """Records that each broker may still send, by the byte limit and the size measured so far, and by its share of
        what a batch may hold."""
        rate = limit.max_bytes if isinstance(limit, ReadMaxBytes) else self._options.max_bytes_per_second_per_broker
        if self._bucket is None or self._bucket.rate != rate:
            self._bucket = TokenBucket(rate, min(rate * BURST_S, LARGEST_BATCH_BYTES))
        now_s = time.monotonic()
        behind = {
            sample.bounds[key].broker for key, (begin, end) in backlog(self._start, sample).items() if begin < end
        }
        most = -(-self._most_records // max(1, len(behind)))
        brokers = {bounds.broker for bounds in sample.bounds.values()}
        return {b: min(most, max(0, int(self._bucket.available(b, now_s) / self._bytes_per_record))) for b in brokers}

    def _report(self, sampler: Sampler) -> None:
        """Runs in the sampler's thread: what health and progress need to know, now and then."""
        at_ms, now_s = time.time_ns() // 1_000_000, time.monotonic()  # in this order: ages count back from `at_ms`
        sample, lag = sampler.sample, self._lag
        if sample is not None and lag is not None and sampler.problem is None:
            lag.sampled(sampler.sampled_s, sample, sampler.names)
        if now_s - self._reported_s < STATUS_EVERY_S or lag is None:
            return
        self._reported_s = now_s
        behind: dict[str, int] = {}
        missing = dict(sampler.topics.missing)
        if sample is not None:
            missing |= gone_back(self._start, sample)
            for key, (begin, end) in backlog(self._start, sample).items():
                behind[key.topic] = behind.get(key.topic, 0) + end - begin
        with suppress(OSError, ValueError):  # where it cannot be read, the sampler says so
            self._control = self._channel.control()
        control = self._control
        asked = sampler.names == tuple(sorted({**self._options.topics, **control.topics}))
        status = ReaderStatus(
            at_ms=at_ms,
            backlog=behind,
            missing=missing,
            problem=sampler.problem,
            caught_up=lag.current(now_s),
            all_read=asked and lag.all_current(now_s),
            revision=control.revision,
            behind_s=lag.behind_s(now_s),
            unread={key.text: (bounds.low, bounds.end) for key, bounds in sampler.unread(self._start).items()},
            blind=sampler.blind,
        )
        # On a full disk the sampling goes on; the job sees that the last status grows old.
        with suppress(OSError):
            self._channel.report(status)
