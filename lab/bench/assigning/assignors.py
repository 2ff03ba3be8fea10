"""`make bench-assignors`: ms per generation of our incremental assignor and of Kafka's own class, on the same input.

Both answer the same rounds first, and nothing is timed unless their bytes are equal. Two ways are timed: *bytes*, from
the members' subscription bytes to their assignment bytes (all that the leader's `performAssignment` does), and *sets*,
the computation alone between decoded jobs and shares. Warm figures are medians once a JVM gets no faster, of the least
disturbed of many short series; ours and Kafka's take turns, so that a slow spell of the machine meets both. Cold ones
are the first such round in a new process whose earlier rounds were played once. All are the processor time of the
thread that computes, so that other load on the machine counts as little as it can.
"""

import statistics
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

from lab.bench.assigning import hypotheses
from lab.bench.assigning.report import met, report_text, shown, write
from lab.bench.assigning.rounds import MAX_DELAY_MS, answer, decoded_round, round_of, story
from lab.bench.assigning.timing import MEASURED, in_turns
from lab.cluster import jars, java
from lab.errors import LabError, says_why
from lab.oracle.program import Timed
from lab.oracle.runner import Runner
from lab.paths import ROOT
from rebalance_monitor.assignors.connect.model import ConnectResult, LeaderMemory
from rebalance_monitor.streaming.core.connect.member_bytes import encode_share

SIZES = ((10, 100), (100, 1_000), (100, 5_000))
EVENTS = ("steady", "a worker lost", "its delay over", "a worker joins", "all new")
WARM_UP_S, LONGEST_WARM_UP_S = 2.0, 6.0
SERIES = 12
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


def encoded(result: ConnectResult) -> dict[str, bytes]:
    return {member_id: encode_share(result, share, 17) for member_id, share in result.shares.items()}


def from_bytes(memory: LeaderMemory, described: Mapping[str, Any]) -> Callable[[], dict[str, bytes]]:
    """What a leader does with this round, from the bytes of the join to those of the sync."""
    blobs = [(one["id"], b64decode(one["subscription"])) for one in described["members"]]
    return lambda: encoded(answer(memory, decoded_round(described, blobs))[0])


def ours(rounds: list[dict[str, Any]]) -> tuple[list[dict[str, bytes]], LeaderMemory]:
    """Our answers to all rounds, and the memory before the last one."""
    memory, answers, before = LeaderMemory(), [], LeaderMemory()
    for round_ in rounds:
        before = memory
        result, memory = answer(memory, round_of(round_))
        answers.append(encoded(result))
    return answers, before


def cold_ms(workers: int, tasks: int, event: str) -> float:
    """The last round in a process that has seen only the rounds before it."""
    rounds = story(workers, tasks, event)
    run = from_bytes(ours(rounds[:-1] or rounds)[1] if rounds[:-1] else LeaderMemory(), rounds[-1])
    began = time.thread_time()
    run()
    return (time.thread_time() - began) * 1000


def warm(runner: Runner, given: Mapping[str, Any], timed: Timed) -> None:
    """Kafka's class runs until the JVM gets no faster."""
    began, best = time.monotonic(), float("inf")
    while True:
        median = statistics.median(runner.play(given, timed, 100).repeated_ns)
        warm_s = time.monotonic() - began
        if warm_s > LONGEST_WARM_UP_S or (warm_s > WARM_UP_S and median > 0.95 * best):
            return
        best = min(best, median)


def compared(run: Callable[[], object], runner: Runner, given: Mapping[str, Any], timed: Timed) -> tuple[float, float]:
    """Our median and Kafka's, in ms."""
    warm(runner, given, timed)
    return in_turns(run, lambda: runner.play(given, timed, MEASURED).repeated_ns, SERIES)


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
                bytes_ms, kafka_bytes_ms = compared(from_bytes(before, rounds[-1]), runner, given, Timed.BYTES)
                sets = partial(answer, before, round_of(rounds[-1]))
                sets_ms, kafka_sets_ms = compared(sets, runner, given, Timed.SETS)
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
                cold = fresh.submit(cold_ms, workers, tasks, event).result()
            yield Figures(
                workers=workers,
                tasks=tasks,
                event=event,
                bytes_ms=bytes_ms,
                kafka_bytes_ms=kafka_bytes_ms,
                sets_ms=sets_ms,
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
        f"* 100 x 1,000 within {AIM_MS:g} ms: {met(slowest.bytes_ms <= AIM_MS)}, "
        f"{slowest.bytes_ms:.2f} ms at most ({slowest.event}).",
        f"* 100 x 1,000 within {AIM_TIMES_JVM:g} times the warm JVM: {met(times <= AIM_TIMES_JVM)}, "
        f"{times:.1f} times at most ({furthest.event}).",
    ]


@says_why("bench-assignors")
def main() -> int:
    """Measure, compare, write both reports."""
    found, release = java.find(), jars.kafka_release()
    figures = shown(measure(found, release), table)
    tracked = list(hypotheses.measure())
    against = (
        f"`IncrementalCooperativeAssignor` of Kafka {release} on Java {found.version}. Answers were equal byte for byte"
        " before anything was timed"
    )
    sums = (*aims(figures), *hypotheses.aims(tracked), "", *hypotheses.table(tracked))
    text = report_text("the Connect assignors", "make bench-assignors", against, __doc__, table(figures), sums)
    data = {"assignors": [asdict(one) for one in figures], "hypotheses": [asdict(one) for one in tracked]}
    write(REPORT, text, data)
    print("\n".join(text[6:]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
