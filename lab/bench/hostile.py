"""`make bench-hostile`: what becomes of small groups while another load does its worst.

Sixty small groups rebalance all the time, twenty generations a second. After a calm spell each hostile load comes
in turn, from a process of its own, and the small groups go on:

    members     a group of 5,000 members rebalances every five seconds, each time as somebody comes or goes
    groups      20,000 groups that nobody knew, one generation each, as fast as the broker takes them
    connectors  a config topic of 2,000 connectors with ten tasks each
    damaged     a million records whose bytes make no sense, with the keys of 50 groups

One line a spell: from a small group's record to its row (p50, p99), the longest time without being ready, the job's
memory, and what the database keeps of damaged records. Exit code 1 where a generation was lost.
"""

import argparse
import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Any, LiteralString

import psycopg
from confluent_kafka import Consumer, TopicPartition

from lab.bench import topic
from lab.bench.cost import memory_mib
from lab.bench.drain import BROKER
from lab.bench.generations.load import Load
from lab.bench.generations.played import Size
from lab.bench.job import ARRIVE_S, FOLDER, WARM_UP_S, lab_in, measuring
from lab.bench.load import PREFIX
from lab.bench.observe import Rows, appended_ms, latencies_ms, now_ms, percentile
from lab.bench.prepared import create_topics, described
from lab.bench.stage import BenchStage
from lab.cluster import config_topic
from lab.errors import LabError
from lab.process import Progress
from lab.readiness import readyz

Written = tuple[str, int, bytes | None, bytes | None, int]
LOG_PARTITIONS = 10
SMALL = Size(generations=10**9, groups=60, log_partitions=LOG_PARTITIONS, every_ms=3_000)
SMALL_PER_S = 20.0
LARGE = Size(generations=10**9, groups=1, members=5_000, partitions=2_000, changing=1.0, wrong=0.0, seed=2)
LARGE_EVERY_S = 5.0
NEW_GROUPS, CONNECTORS, TASKS, DAMAGED, DAMAGED_GROUPS = 20_000, 2_000, 10, 1_000_000, 50
CONFIGS, STATUSES, READ = "hostile-configs", "hostile-statuses", "orders"
HOSTILE = "hostile-"
PATIENCE_S, LOOK_EVERY_S = 900.0, 0.5


def small_load() -> Load:
    return Load(SMALL, ("range", "cooperative-sticky", "roundrobin"), prefix=PREFIX)


def large_load() -> Load:
    return Load(LARGE, ("cooperative-sticky",), prefix=HOSTILE)


def paced(load: Load, every_s: float, more: Callable[[], bool]) -> Iterator[Written]:
    """The load's records at this pace, as if they were of now."""
    due_s = time.monotonic()
    for one in load.records():
        time.sleep(max(due_s - time.monotonic(), 0.0))
        due_s += every_s
        if not more():
            return
        yield one.topic, one.partition, one.key, one.value, round(now_ms())


def large_group(seconds: float) -> Iterator[Written]:
    end_s = time.monotonic() + seconds
    return paced(large_load(), LARGE_EVERY_S, lambda: time.monotonic() < end_s)


def new_groups(_: float) -> Iterator[Written]:
    for number in range(NEW_GROUPS):
        name, at_ms = f"{HOSTILE}new-{number:05}", round(now_ms())
        key, value = topic.generation(name, 1, topic.members_of(name), at_ms)
        yield topic.TOPIC, topic.place(name, LOG_PARTITIONS), key, value, at_ms


def connectors(_: float) -> Iterator[Written]:
    named = {f"connector-{number:04}": TASKS for number in range(CONNECTORS)}
    for key, value in config_topic.records(named):
        yield CONFIGS, 0, key.encode(), json.dumps(value).encode(), round(now_ms())


def damaged(_: float) -> Iterator[Written]:
    dice = Random(3)
    keys = [topic.group_key(f"{HOSTILE}damaged-{number}") for number in range(DAMAGED_GROUPS)]
    for number in range(DAMAGED):
        group = number % DAMAGED_GROUPS
        yield topic.TOPIC, group % LOG_PARTITIONS, keys[group], dice.randbytes(60), round(now_ms())


LOADS: Mapping[str, Callable[[float], Iterator[Written]]] = {
    "members": large_group,
    "groups": new_groups,
    "connectors": connectors,
    "damaged": damaged,
}
CALM = "calm"


def write(kind: str, bootstrap: str, seconds: float, count: Any) -> None:
    """In a process of its own, which ends with the load; `count`: where it says how many records it wrote."""

    def counted() -> Iterator[Written]:
        for record in LOADS[kind](seconds):
            count.value += 1
            yield record

    topic.append(bootstrap, counted())


@dataclass(frozen=True, slots=True, kw_only=True)
class Spell:
    """What one load gave. `behind_s`: from its last record until all has been read; `wrote`: its records; `stored`: its
    generations that have a row; `damaged`: records that are counted as such; `kept`: those of them that are kept whole.
    """

    kind: str
    p50_ms: float
    p99_ms: float
    samples: int
    not_ready_s: float
    behind_s: float
    memory_mib: float
    wrote: int
    stored: int
    damaged: int
    kept: int
    machine_load: float

    def line(self) -> str:
        return (
            f"{self.kind:<10} {self.p50_ms:>7.0f} {self.p99_ms:>7.0f} {self.samples:>8} {self.not_ready_s:>11.1f} "
            f"{self.behind_s:>9.1f} {self.memory_mib:>6.0f} {self.wrote:>9} {self.stored:>7} {self.damaged:>8} "
            f"{self.kept:>6} {self.machine_load:>5.1f}"
        )


HEAD = (
    "            of small groups          not ready    behind           records  stored damaged\n"
    "load        p50 ms  p99 ms  samples   longest s         s    MiB   written   rows  counted   kept  load"
)


class SmallGroups:
    """Go on until the block ends; `written`: how many generations they have."""

    def __init__(self, bootstrap: str) -> None:
        self.written = 0
        self._going = threading.Event()
        self._going.set()
        self._thread = threading.Thread(target=self._write, args=(bootstrap,))
        self._problem: LabError | None = None

    def __enter__(self) -> "SmallGroups":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._going.clear()
        self._thread.join()
        if self._problem is not None:
            raise self._problem

    def _write(self, bootstrap: str) -> None:
        try:
            topic.append(bootstrap, self._records())
        except LabError as why:
            self._problem = why

    def _records(self) -> Iterator[Written]:
        for record in paced(small_load(), 1 / SMALL_PER_S, self._going.is_set):
            self.written += 1
            yield record


class Ends:
    """How far the topics reach, and the job."""

    def __init__(self, bootstrap: str, dsn: str) -> None:
        self._client = Consumer({"bootstrap.servers": bootstrap, "group.id": "looks-at-ends", "log_level": 0})
        self._dsn = dsn

    def written(self) -> dict[tuple[str, int], int]:
        places = [(topic.TOPIC, number) for number in range(LOG_PARTITIONS)] + [(CONFIGS, 0)]
        return {at: self._client.get_watermark_offsets(TopicPartition(*at), timeout=30)[1] for at in places}

    def read(self) -> dict[tuple[str, int], int]:
        with closing(psycopg.connect(self._dsn)) as connection:
            rows = connection.execute("select topic, partition, next_offset from rebalance_monitor.positions")
            return {(name, partition): offset for name, partition, offset in rows}


def spell(kind: str, stage: BenchStage, ends: Ends, seconds: float) -> Spell:
    """The load, from its first record until all that was written by its end has been read."""
    dsn, url = stage.postgres.dsn, stage.addresses.metrics.rpartition("/metrics")[0]
    spawn = multiprocessing.get_context("spawn")
    count = spawn.Value("q", 0)
    writer = spawn.Process(target=write, args=(kind, stage.broker.address, seconds, count), daemon=True)
    peak_mib = not_ready_s = longest_s = 0.0
    damaged_before, kept_before = one(dsn, DAMAGED_COUNTED), one(dsn, DAMAGED_KEPT)
    with Rows(dsn) as rows:
        since_ms, began_s = now_ms(), time.monotonic()
        if kind != CALM:
            writer.start()
        until_ms = ended_s = 0.0
        target: dict[tuple[str, int], int] = {}
        while not target or any(ends.read().get(at, 0) < end for at, end in target.items()):
            if not target and time.monotonic() > began_s + seconds and (kind == CALM or not writer.is_alive()):
                until_ms, ended_s, target = now_ms(), time.monotonic(), ends.written()
            if not stage.job.running() or time.monotonic() > began_s + PATIENCE_S:
                raise LabError(f"the job did not read all; the end of {stage.job.log}:\n{stage.job.tail()}")
            not_ready_s = 0.0 if readyz(url)[0] == 200 else not_ready_s + LOOK_EVERY_S
            longest_s, peak_mib = max(longest_s, not_ready_s), max(peak_mib, memory_mib(stage.job.pid))
            time.sleep(LOOK_EVERY_S)
        behind_s = time.monotonic() - ended_s
        time.sleep(ARRIVE_S)
    if kind != CALM and writer.exitcode:
        raise LabError(f"the load {kind} could not be written")
    appended = {place: at_ms for place, at_ms in appended_ms(dsn, since_ms).items() if at_ms <= until_ms}
    taken = latencies_ms(rows.seen, appended)
    if not taken:
        raise LabError(f"no generation of a small group was seen; see {stage.job.log}")
    return Spell(
        kind=kind,
        p50_ms=percentile(taken, 0.5),
        p99_ms=percentile(taken, 0.99),
        samples=len(taken),
        not_ready_s=longest_s,
        behind_s=behind_s,
        memory_mib=peak_mib,
        wrote=count.value,
        stored=one(dsn, f"{STORED} '{HOSTILE}%'") if kind in GENERATIONS else 0,
        damaged=one(dsn, DAMAGED_COUNTED) - damaged_before,
        kept=one(dsn, DAMAGED_KEPT) - kept_before,
        machine_load=os.getloadavg()[0],
    )


STORED = 'select count(*) from rebalance_monitor.generations where "group" like'
DAMAGED_COUNTED = "select coalesce(sum(records), 0)::int8 from rebalance_monitor.undecodable_counts"
DAMAGED_KEPT = "select count(*) from rebalance_monitor.undecodable"
GENERATIONS = ("members", "groups")
"""Loads whose records are generations."""


def one(dsn: str, query: LiteralString) -> int:
    with closing(psycopg.connect(dsn)) as connection:
        row = connection.execute(query).fetchone()
    return 0 if row is None else int(row[0])


def measure(wanted: Sequence[str], seconds: float, progress: Progress) -> list[str]:
    """Prints a line for each spell; what was lost, in sentences."""
    connect = {"hostile-connect": {"config_topic": CONFIGS, "status_topic": STATUSES}}
    told = described(small_load().settings)
    settings = {"source": {"max_bytes_per_second_per_broker": 10**10}}
    broker = {**BROKER, "offsets.topic.num.partitions": LOG_PARTITIONS, "message.max.bytes": topic.LARGEST_BYTES}
    with lab_in(FOLDER / "hostile", progress) as lab:
        stage = BenchStage(lab, settings, broker, {**told, "connect": connect})
        with progress.step("broker, PostgreSQL, alert receiver and job"):
            stage.prepare()
            counts = {READ: topic.PARTITIONS_READ, **small_load().topics()[0], **large_load().topics()[0]}
            create_topics(stage.broker.address, counts)
            config_topic.create(stage.broker.address, {CONFIGS: 1, STATUSES: 1})
            stage.job = stage.start_job()
            stage.wait_for_job()
        ends, lost, before = Ends(stage.broker.address, stage.postgres.dsn), [], 0
        lines = [HEAD]
        with SmallGroups(stage.broker.address) as small:
            time.sleep(WARM_UP_S)
            for kind in (CALM, *wanted):
                with progress.step(f"small groups, {kind}"):
                    found = spell(kind, stage, ends, seconds)
                lines.append(found.line())
                progress.say(found.line())
                stored, before = found.stored - before, max(found.stored, before)
                if kind in GENERATIONS and stored != found.wrote:
                    lost.append(f"{kind}: {found.wrote} generations were written, {stored} have a row")
        lab.wait_for(
            "the last rows", lambda: one(stage.postgres.dsn, f"{STORED} '{PREFIX}%'") >= small.written, stage.job
        )
        if (stored := one(stage.postgres.dsn, f"{STORED} '{PREFIX}%'")) != small.written:
            lost.append(f"small groups: {small.written} generations were written, {stored} have a row")
    print("\n".join(lines))
    return lost


def main() -> int:
    """Each load in turn; 0 when nothing was lost."""
    parser = argparse.ArgumentParser(
        prog="make bench-hostile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(LOADS), help="these loads (default: all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the calm and each load at least")
    given = parser.parse_args()
    progress = Progress()
    try:
        with measuring(progress):
            lost = measure(given.only or list(LOADS), given.seconds, progress)
    except LabError as why:
        print(f"bench-hostile: {why}", file=sys.stderr)
        return 2
    print("\n".join(lost) or "no generation was lost")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
