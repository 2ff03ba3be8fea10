"""`make bench-assignors`: ms per generation of our incremental assignor and of Kafka's own class, on the same input.

Both answer the same rounds first, and nothing is timed unless their bytes are equal. Two ways are timed: *bytes*, from
the members' subscription bytes to their assignment bytes (all that the leader's `performAssignment` does), and *sets*,
the computation alone between decoded jobs and shares. Warm figures are medians once a JVM gets no faster, of the least
disturbed of three series on either side; cold ones are the first such round in a new process whose earlier rounds were
played once. All are the processor time of the thread that computes, so that other load on the machine does not count:
on an idle one that is the time that passes.
"""

import json
import os
import platform
import statistics
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

from assignors import connect_incremental
from assignors.connect_eras import NEWEST
from assignors.connect_model import ConfigSnapshot, ConnectMember, ConnectResult, ConnectRound, Jobs, LeaderMemory
from assignors.java_order import Entries, wire_entries_assigned
from lab import bench_hypotheses, jars, java
from lab.errors import LabError
from lab.oracle.runner import Runner, Timed
from lab.oracle.scenarios import Process
from lab.paths import ROOT
from schemas.connect_protocol import ConnectAssignment, WorkerState, decode_worker_state, encode_worker_state
from schemas.outcomes import Decoded
from streaming.core.connect_bytes import encode_share

SIZES = ((10, 100), (100, 1_000), (100, 5_000))
TASKS_PER_CONNECTOR = 10
MAX_DELAY_MS = 300_000
EVENTS = ("steady", "a worker lost", "its delay over", "a worker joins", "all new")
WARM_UP_S, LONGEST_WARM_UP_S = 2.0, 6.0
SERIES, MEASURED = 3, 21
REPORT = ROOT / "docs" / "benchmarks-assignors"
AIM_MS, AIM_TIMES_JVM = 10.0, 5.0
AIMED_AT = (100, 1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One row of the table; everything in ms."""

    workers: int
    tasks: int
    event: str
    bytes_ms: float
    kafka_bytes_ms: float
    sets_ms: float
    kafka_sets_ms: float
    cold_bytes_ms: float
    kafka_cold_bytes_ms: float


@dataclass(slots=True)
class Story:
    """A cluster of fixed names whose rounds are described as inputs of a rounds case."""

    connectors: dict[str, int]
    members: dict[str, Process]
    memory: LeaderMemory
    rounds: list[dict[str, Any]]
    told: ConnectResult | None = None

    @property
    def config_offset(self) -> int:
        """Behind the records of each connector: its configuration, one for each task, and their commit."""
        return sum(count + 2 for count in self.connectors.values())

    def play(self, now_ms: int) -> None:
        """One generation, applied by everybody."""
        generation = len(self.rounds) + 1
        leader = next(iter(self.members))
        described = {
            "now_ms": now_ms,
            "generation": generation,
            "last_completed_generation": self.members[leader].last_completed,
            "protocol": "sessioned",
            "leader": leader,
            "leader_process": "leader",
            "config": {"offset": self.config_offset, "connectors": self.connectors},
            "members": [
                {"id": member_id, "subscription": b64encode(self.subscription(member_id, process.held)).decode()}
                for member_id, process in self.members.items()
            ],
        }
        self.rounds.append(described)
        result, self.memory = answer(self.memory, round_of(described))
        self.told = result
        for member_id, process in self.members.items():
            process.apply(result.shares[member_id], generation, eager=False)

    def subscription(self, member_id: str, held: Jobs | None) -> bytes:
        """What this worker reports when it joins."""
        allocation: ConnectAssignment | None = None
        entries: Entries = ()
        if held is not None:
            told = self.told
            allocation = ConnectAssignment(
                version=2,
                leader=told.leader if told else "",
                leader_url=told.leader_url if told else "",
                config_offset=self.config_offset,
                delay_ms=told.delay_ms if told else 0,
            )
            entries = wire_entries_assigned(held.connectors, held.tasks, 17)
        state = WorkerState(
            version=2, url=f"http://{member_id}/", config_offset=self.config_offset, allocation=allocation
        )
        return encode_worker_state(state, entries)


def story(workers: int, tasks: int, event: str) -> list[dict[str, Any]]:
    """Rounds whose last one shows the event."""
    connectors = {f"orders-sink-{number}": TASKS_PER_CONNECTOR for number in range(tasks // TASKS_PER_CONNECTOR)}
    ids = [f"connect-10.0.{n // 50}.{n % 50}:8083-{n * 0x9E3779B97F4A7C15 % 2**64:016x}" for n in range(workers + 1)]
    told = Story(connectors, {one: Process(one) for one in ids[:workers]}, LeaderMemory(), [])
    told.play(0)
    if event == "all new":
        return told.rounds
    if event == "a worker joins":
        told.members[ids[workers]] = Process(ids[workers])
    elif event != "steady":
        del told.members[ids[workers - 1]]
    told.play(1_000)
    if event == "its delay over":
        told.play(1_000 + MAX_DELAY_MS)
    return told.rounds


def round_of(described: Mapping[str, Any]) -> ConnectRound:
    """The round as the assignor takes it, all blobs decoded."""
    return decoded_round(described, [(one["id"], b64decode(one["subscription"])) for one in described["members"]])


def decoded_round(described: Mapping[str, Any], blobs: list[tuple[str, bytes]]) -> ConnectRound:
    members = []
    for member_id, blob in blobs:
        read = decode_worker_state(blob)
        assert isinstance(read, Decoded), "this bench wrote the blob itself"
        held = read.value.allocation
        members.append(
            ConnectMember(
                id=member_id,
                url=read.value.url,
                config_offset=read.value.config_offset,
                held=Jobs(held.connectors, held.tasks) if held else Jobs(),
            )
        )
    return ConnectRound(
        now_ms=described["now_ms"],
        generation=described["generation"],
        last_completed_generation=described["last_completed_generation"],
        protocol=described["protocol"],
        leader=described["leader"],
        config=ConfigSnapshot(described["config"]["offset"], described["config"]["connectors"]),
        members=tuple(members),
    )


def answer(memory: LeaderMemory, round_: ConnectRound) -> tuple[ConnectResult, LeaderMemory]:
    return connect_incremental.assign(memory, round_, max_delay_ms=MAX_DELAY_MS, era=NEWEST)


def encoded(result: ConnectResult) -> dict[str, bytes]:
    return {member_id: encode_share(result, share, 17) for member_id, share in result.shares.items()}


def from_bytes(memory: LeaderMemory, described: Mapping[str, Any]) -> Callable[[], dict[str, bytes]]:
    """What a leader does with this round, from the bytes of the join to those of the sync."""
    blobs = [(one["id"], b64decode(one["subscription"])) for one in described["members"]]
    return lambda: encoded(answer(memory, decoded_round(described, blobs))[0])


def ours(rounds: list[dict[str, Any]]) -> tuple[list[dict[str, bytes]], LeaderMemory]:
    """Our answers to all rounds, and the memory before the last one."""
    memory, answers, before = LeaderMemory(), [], LeaderMemory()
    for one in rounds:
        before = memory
        result, memory = answer(memory, round_of(one))
        answers.append(encoded(result))
    return answers, before


def cold_ms(workers: int, tasks: int, event: str) -> float:
    """The last round in a process that has seen only the rounds before it."""
    rounds = story(workers, tasks, event)
    run = from_bytes(ours(rounds[:-1] or rounds)[1] if rounds[:-1] else LeaderMemory(), rounds[-1])
    began = time.thread_time()
    run()
    return (time.thread_time() - began) * 1000


def median_ms(run: Callable[[], object]) -> float:
    """The lowest median of SERIES times MEASURED runs, after three that are not counted."""
    for _ in range(3):
        run()
    medians = []
    for _ in range(SERIES):
        taken = []
        for _ in range(MEASURED):
            began = time.thread_time()
            run()
            taken.append(time.thread_time() - began)
        medians.append(statistics.median(taken))
    return min(medians) * 1000


def kafka_ms(runner: Runner, given: Mapping[str, Any], timed: Timed) -> float:
    """Kafka's class, once the JVM has compiled it."""
    began, best = time.monotonic(), float("inf")
    while True:
        median = statistics.median(runner.play(given, timed, 100).repeated_ns)
        warm_s = time.monotonic() - began
        if warm_s > LONGEST_WARM_UP_S or (warm_s > WARM_UP_S and median > 0.95 * best):
            break
        best = min(best, median)
    return min(statistics.median(runner.play(given, timed, MEASURED).repeated_ns) for _ in range(SERIES)) / 1e6


def measure(found: java.Java, release: str) -> Iterator[Figures]:
    """Every size and event; LabError where the answers differ."""
    for workers, tasks in SIZES:
        for event in EVENTS:
            rounds = story(workers, tasks, event)
            given = {"max_delay_ms": MAX_DELAY_MS, "rounds": rounds}
            answers, before = ours(rounds)
            with Runner(found, release) as runner:
                first = runner.play(given)
                if first.answers != answers:
                    raise LabError(f"our answer differs from Kafka's: {workers} workers, {tasks} tasks, {event}")
                kafka_bytes_ms = kafka_ms(runner, given, Timed.BYTES)
                kafka_sets_ms = kafka_ms(runner, given, Timed.SETS)
            decoded = round_of(rounds[-1])
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
                cold = fresh.submit(cold_ms, workers, tasks, event).result()
            yield Figures(
                workers=workers,
                tasks=tasks,
                event=event,
                bytes_ms=median_ms(from_bytes(before, rounds[-1])),
                kafka_bytes_ms=kafka_bytes_ms,
                sets_ms=median_ms(partial(answer, before, decoded)),
                kafka_sets_ms=kafka_sets_ms,
                cold_bytes_ms=cold,
                kafka_cold_bytes_ms=first.first_ns[-1] / 1e6,
            )


def table(figures: list[Figures]) -> list[str]:
    """For people."""
    rows = [
        "| workers x tasks | last round | bytes: ours | Kafka's, warm | times | sets: ours | Kafka's, warm | times "
        "| cold: ours | Kafka's |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {one.workers} x {one.tasks:,} | {one.event} | {one.bytes_ms:.2f} | {one.kafka_bytes_ms:.2f} "
        f"| {one.bytes_ms / one.kafka_bytes_ms:.1f} | {one.sets_ms:.2f} | {one.kafka_sets_ms:.2f} "
        f"| {one.sets_ms / one.kafka_sets_ms:.1f} | {one.cold_bytes_ms:.1f} | {one.kafka_cold_bytes_ms:.1f} |"
        for one in figures
    ]
    return rows


def aims(figures: list[Figures]) -> list[str]:
    """One line per aim: met, or missed where and by how much."""
    aimed = [one for one in figures if (one.workers, one.tasks) == AIMED_AT]
    slowest = max(aimed, key=lambda one: one.bytes_ms)
    furthest = max(aimed, key=lambda one: one.bytes_ms / one.kafka_bytes_ms)
    times = furthest.bytes_ms / furthest.kafka_bytes_ms
    return [
        f"* 100 x 1,000 within {AIM_MS:g} ms: {_met(slowest.bytes_ms <= AIM_MS)}, "
        f"{slowest.bytes_ms:.2f} ms at most ({slowest.event}).",
        f"* 100 x 1,000 within {AIM_TIMES_JVM:g} times the warm JVM: {_met(times <= AIM_TIMES_JVM)}, "
        f"{times:.1f} times at most ({furthest.event}).",
    ]


def _met(met: bool) -> str:
    return "met" if met else "**missed**"


def main() -> int:
    """Measure, compare, write both reports."""
    try:
        found, release = java.find(), jars.kafka_release()
        figures = []
        for one in measure(found, release):
            figures.append(one)
            print(table([one])[-1], flush=True)
        tracked = list(bench_hypotheses.measure())
    except LabError as why:
        print(f"bench-assignors: {why}", file=sys.stderr)
        return 2
    text = [
        "# Benchmarks of the Connect assignors",
        "",
        f"Written by `make bench-assignors` on {os.cpu_count()} cores, {platform.machine()}, Python "
        f"{platform.python_version()}, against `IncrementalCooperativeAssignor` of Kafka {release} on Java "
        f"{found.version}. Answers were equal byte for byte before anything was timed. All figures in ms.",
        "",
        *(__doc__ or "").strip().splitlines()[2:],
        "",
        *table(figures),
        "",
        *aims(figures),
        *bench_hypotheses.aims(tracked),
        "",
        *bench_hypotheses.table(tracked),
    ]
    REPORT.with_suffix(".md").write_text("\n".join(text) + "\n", encoding="utf-8")
    data = {"assignors": [asdict(one) for one in figures], "hypotheses": [asdict(one) for one in tracked]}
    REPORT.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print("\n".join(text[6:]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
