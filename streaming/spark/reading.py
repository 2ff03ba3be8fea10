"""Reads ranges of partitions inside a task: one cached consumer per worker process and isolation level.

A range ends by position, because compaction and transaction markers leave gaps and its last offset may never come:
at a record at or past the end, at the record just before it, or at the partition's own end. What could not be read in
time is told by the position reached; nothing here raises for a broker's sake.
"""

import gc
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from rebalance_monitor.streaming.config.amazon import connecting
from rebalance_monitor.streaming.core.fold.topics import DecodeRecord
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, decode_offsets_record
from rebalance_monitor.streaming.core.model.records import Gap, Row, Tick
from rebalance_monitor.streaming.core.ports import PartitionKey
from rebalance_monitor.streaming.core.reading.decoding import wanted_key_prefix
from rebalance_monitor.streaming.core.reading.last_commits import LastCommits, last_commits
from rebalance_monitor.streaming.guarding.decoding import decoded, glanced
from .offsets import COORDINATORS_LOG, Span
from .ranges import BundleRanges, properties_of
from .rows import Batch, RawRow, Reached, RecordAt, batch_of, decoded_row, record_row

# One at a time while little is left: `consume` would wait for its count or the whole time-out.
POLL_BELOW_RECORDS = 500
CONSUME_AT_MOST = 10_000
POLL_S = 0.05
# So long nothing at all comes before the client is taken for stuck: what librdkafka remembers of a topic may be of
# the life before, or of the time when it was not there. A new client asks anew.
QUIET_S = 2.0

ASSIGNED_ONLY = {
    "group.id": "rebalance-monitor",  # librdkafka demands one; without `subscribe` it is never used
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    # A start below the low watermark must show as an error: it is a gap, not a place to go on silently.
    "auto.offset.reset": "error",
    "log_level": "0",
}
"""Of a consumer that joins no group and commits nothing."""

# Digests of unreadable config records can be compared as long as this process lives, and by nobody else.
DIGEST_KEY = secrets.token_bytes(32)
RawCommits: TypeAlias = dict[bytes, bytes | None]
NOT_READ = ""
"""What a topic holds that is only passed over, because nobody can read it any more."""

_consumers: dict[tuple[tuple[str, str], ...], Any] = {}


@dataclass(frozen=True, slots=True)
class Reading:
    """What every task of one cluster needs. `client` = librdkafka properties; `commits`: patterns of the groups whose
    commits are wanted, None: nobody's."""

    cluster_id: str
    client: Mapping[str, str]
    timeout_ms: int
    kinds: Mapping[str, str]
    commits: tuple[str, ...] | None = None


@dataclass(slots=True)
class Progress:
    """One range on its way: the next offset wanted, and what came in. `holes`: of the coordinator's log, neighbouring
    offsets that were not there; `hole`: the offset behind the newest. `commits`: the last of each key, if wanted;
    `lost`: some of the range can't be read any more."""

    span: Span
    kind: str
    at: int
    records: int = 0
    bytes: int = 0
    jumped: bool = False
    why: str = ""
    holes: int = 0
    hole: int = 0
    commits: RawCommits | None = None
    lost: bool = False

    @property
    def done(self) -> bool:
        return self.at >= self.span.end

    @property
    def reached(self) -> Reached:
        """How far the range was read. A record past its end moves the position past it too."""
        span, why = self.span, "" if self.done else self.why
        end = min(self.at, span.end)
        return Reached(span.start, end, span.end, self.records, self.bytes, why, self.holes, self.hole)

    def come_to(self, offset: int) -> None:
        """Nothing is there between the last record and this offset."""
        if self.kind == COORDINATORS_LOG and offset > self.at:
            self.holes, self.hole = self.holes + 1, min(offset, self.span.end)
        self.at = max(self.at, offset)


def consumer(client: Mapping[str, str], committed: bool, *, renewed: bool = False) -> Any:
    """This process's consumer. It is only ever assigned to, so it joins no group and commits nothing.

    `renewed`: the one there is gives way to a new one.
    """
    from confluent_kafka import Consumer

    settings = {
        **client,
        **ASSIGNED_ONLY,
        "client.id": "rebalance-monitor",
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        "fetch.wait.max.ms": "20",
        "fetch.queue.backoff.ms": "5",
        "fetch.error.backoff.ms": "50",
        "queued.max.messages.kbytes": "16384",
    }
    name = tuple(sorted(settings.items()))
    if renewed and (old := _consumers.pop(name, None)) is not None:
        old.close()
    if name not in _consumers:
        _consumers[name] = Consumer(connecting(settings))
        # PySpark's worker collects garbage after every task, through all that its imports made: more work than a
        # small batch. What is there now stays for good, so the collector is told to leave it out.
        gc.collect()
        gc.freeze()
    return _consumers[name]


def read_packed(packed: bytes) -> Batch:
    """All that one task is to read: `BundleRanges.packed`."""
    ranges = BundleRanges.unpacked(packed)
    client = properties_of(ranges.client, ranges.channel)
    reading = Reading(ranges.cluster_id, client, ranges.timeout_ms, ranges.kinds, ranges.commits)
    gone, lost = gone_spans(reading, ranges.gone)
    read = read_spans(reading, ranges.spans)
    tick = Tick(ranges.tick_ms) if ranges.tick_ms else None
    return batch_of([*gone, *read.rows], {**lost, **read.reached}, tick, ranges.groups, read.commits)


class ReadSpans(NamedTuple):
    """Rows of all spans, how far each was read, and the commits of those of the coordinator's log."""

    rows: list[RawRow]
    reached: dict[PartitionKey, Reached]
    commits: dict[PartitionKey, LastCommits]


def read_spans(reading: Reading, spans: Sequence[Span]) -> ReadSpans:
    """All spans, as far as there is time."""
    deadline_s = time.monotonic() + reading.timeout_ms / 1000
    work = [Progress(span, reading.kinds.get(span.key.topic, NOT_READ), span.start) for span in spans]
    logs = [one for one in work if one.kind == COORDINATORS_LOG and reading.commits is not None]
    for one in logs:
        one.commits = {}
    rows: list[RawRow] = []
    for committed in (False, True):
        mine = [one for one in work if (one.kind in REGISTRY.committed) is committed and not one.done]
        if mine:
            rows += _read(reading, committed, mine, deadline_s)
    reached = {_key(reading, one.span): one.reached for one in work}
    return ReadSpans(rows, reached, {_key(reading, one.span): _commits(reading, one) for one in logs})


def _commits(reading: Reading, progress: Progress) -> LastCommits:
    patterns = reading.commits or ()
    wanted = cache(lambda group: any(fnmatchcase(group, one) for one in patterns))
    told = last_commits(progress.commits or {}, wanted)
    return told._replace(readable=False) if progress.lost else told


def gone_spans(reading: Reading, gone: Iterable[tuple[Span, str]]) -> tuple[list[RawRow], dict[PartitionKey, Reached]]:
    """What is told of ranges that nobody can read any more, with the reason of each."""
    rows, reached = [], {}
    for span, why in gone:
        rows.append(_gap(Progress(span, NOT_READ, span.start), span.end, why))
        reached[_key(reading, span)] = Reached(span.start, span.end, span.end)
    return rows, reached


def _key(reading: Reading, span: Span) -> PartitionKey:
    return PartitionKey(reading.cluster_id, span.key.topic_id, span.key.topic, span.key.partition)


def _read(reading: Reading, committed: bool, work: list[Progress], deadline_s: float) -> Iterator[RawRow]:
    from confluent_kafka import KafkaException, TopicPartition

    source, take = consumer(reading.client, committed), taken if reading.commits is None else taken_with_commits
    by_place = {(one.span.key.topic, one.span.key.partition): one for one in work}

    def assign() -> None:
        source.assign([TopicPartition(*at, one.at) for at, one in by_place.items() if not one.done])

    assign()
    quiet_s, renewed = time.monotonic(), False
    try:
        while (now_s := time.monotonic()) < deadline_s and (
            left := sum(one.span.end - one.at for one in work if not one.done)
        ):
            messages = _next(source, left)
            if messages:
                quiet_s = now_s
            elif now_s - quiet_s > QUIET_S and not renewed:
                source, renewed = consumer(reading.client, committed, renewed=True), True
                assign()
            for message in messages:
                progress = by_place.get((message.topic(), message.partition()))
                if progress is None or progress.done:
                    continue
                if message.error() is not None:
                    yield from _event(source, progress, message)
                elif message.offset() >= progress.at:
                    yield from take(progress, message)
                if progress.jumped and not progress.done:
                    # Not `seek`, which a partition in error refuses; what is fetched twice is passed over.
                    progress.jumped = False
                    assign()
                if progress.done:
                    source.pause([TopicPartition(progress.span.key.topic, progress.span.key.partition)])
    except KafkaException:
        return  # what was not reached is told by the positions
    finally:
        # An idle assignment would go on fetching in the background, and a pause would outlive it.
        source.resume([TopicPartition(topic, number) for topic, number in by_place])
        source.unassign()


def _next(source: Any, left: int) -> list[Any]:
    if left > POLL_BELOW_RECORDS:
        return list(source.consume(min(left, CONSUME_AT_MOST), POLL_S))
    message = source.poll(POLL_S)
    return [] if message is None else [message]


def taken(progress: Progress, message: Any) -> Iterator[RawRow]:
    """The row of a record that a consumer got, if it matters."""
    offset = message.offset()
    progress.come_to(offset)
    progress.at = offset + 1
    if offset >= progress.span.end:
        return
    key, value = message.key(), message.value()
    progress.records += 1
    progress.bytes += len(key or b"") + len(value or b"") + 20  # about what a record costs around its key and value
    if progress.kind == COORDINATORS_LOG and not wanted_key_prefix(key):
        return
    place = RecordAt(message.topic(), message.partition(), offset, message.timestamp()[1])
    seen = glanced(key, value) if progress.kind == COORDINATORS_LOG else None
    if seen is not None:
        yield record_row(progress.span.key.topic_id, place, seen, key, value, progress.hole, message.leader_epoch())
        return
    row = decoded(_DECODERS[progress.kind], *place, key, value, of_groups=progress.kind == COORDINATORS_LOG)
    if row is not None:
        yield decoded_row(progress.span.key.topic_id, row)


def taken_with_commits(progress: Progress, message: Any) -> Iterator[RawRow]:
    """The same, and a commit is kept. By itself, so that reading costs nothing more where nobody wants commits."""
    if progress.commits is not None and message.offset() < progress.span.end:
        key = message.key()
        if key is not None and not wanted_key_prefix(key):
            progress.commits[key] = message.value()
    return taken(progress, message)


_DECODERS: Mapping[str, DecodeRecord] = {
    COORDINATORS_LOG: decode_offsets_record,
    **{kind.name: kind.decoder(DIGEST_KEY) for kind in REGISTRY.topic_kinds},
}


def _event(source: Any, progress: Progress, message: Any) -> Iterator[RawRow]:
    """End of partition, data that is gone, or an error that passes or runs into the deadline."""
    from confluent_kafka import KafkaError, KafkaException, TopicPartition

    code = message.error().code()
    place = TopicPartition(progress.span.key.topic, progress.span.key.partition)
    if code == KafkaError._PARTITION_EOF:
        progress.come_to(message.offset())
    elif code in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET):
        try:
            low, high = source.get_watermark_offsets(place, timeout=2.0)
        except KafkaException:
            return
        if low > progress.at:
            to = min(low, progress.span.end)
            yield _gap(progress, to, "deleted_before_read")
        elif high <= progress.at:
            # The log ends before the place wanted: it was truncated. What is left of the range does not exist.
            yield _gap(progress, progress.span.end, "log_truncated")
        else:
            progress.jumped = True  # it is there: the error was a passing one
    else:
        progress.why = str(message.error().str())


def _gap(progress: Progress, to: int, reason: str) -> RawRow:
    """The row that says what can't be read any more; the position goes to its end."""
    key = progress.span.key
    row = Row(
        topic=key.topic, partition=key.partition, offset=progress.at, timestamp_ms=-1, group=None, body=Gap(to, reason)
    )
    progress.at, progress.jumped, progress.lost = to, True, True
    return decoded_row(key.topic_id, row)
