"""`make bench-assignors FAMILY=consumer`: ms per generation of our sticky assignors and of Kafka's own, same input.

Both answer first, and nothing is timed unless partitions, their order and bytes are equal. Two ways are timed:
*class*, the assignor alone on subscriptions that are already read (Kafka's `assign`), and *bytes*, from the members'
subscription bytes to their assignment bytes. Kafka's figures are medians once a JVM gets no faster, ours are taken
between two series of it; of several series the least disturbed counts. All are the processor time of the thread that
computes.
"""

import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from lab.bench.assigning.groups import EVENTS, group
from lab.bench.assigning.report import met, report_text, shown, write
from lab.bench.assigning.timing import in_turns
from lab.cluster import jars, java
from lab.errors import LabError, says_why
from lab.oracle.consumer_runner import ConsumerRunner
from lab.oracle.program import Timed
from lab.paths import ROOT
from rebalance_monitor.assignors.consumer import sticky, sticky_cooperative
from rebalance_monitor.assignors.consumer.model import ConsumerMember, ConsumerResult, TopicRacks
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, decode_subscription, encode_assignment
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY, STICKY
from rebalance_monitor.streaming.calculator import consumer
from rebalance_monitor.streaming.core.consumer.members import as_member

MEMBERS, PARTITIONS = 50, 2_000
ASSIGNORS: dict[str, Callable[[list[ConsumerMember], TopicRacks], ConsumerResult]] = {
    COOPERATIVE_STICKY: sticky_cooperative.recompute,
    STICKY: sticky.recompute,
}
REPORT = ROOT / "docs" / "benchmarks-consumers"
AIM_TIMES, AIM_EQUAL_MS, AIM_DIFFERENT_MS = 5.0, 50.0, 500.0
WARM_UP_S, SERIES, SERIES_S = 1.0, 4, 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One row of the table; everything in ms."""

    assignor: str
    subscriptions: str
    event: str
    class_ms: float
    kafka_class_ms: float
    bytes_ms: float
    kafka_bytes_ms: float


def members_of(assignor: str, blobs: list[tuple[str, bytes]]) -> list[ConsumerMember]:
    """What a leader reads in the subscriptions."""
    members = []
    for name, blob in blobs:
        read = decode_subscription(blob)
        if not isinstance(read, Decoded):
            raise LabError(f"the subscription of {name} is unreadable: {read}")
        members.append(as_member(name, None, read.value, assignor))
    return members


def encoded(result: ConsumerResult) -> dict[str, bytes]:
    """The assignments as a leader of today writes them."""
    return {
        name: encode_assignment(ConsumerAssignment(version=3, partitions=share))
        for name, share in result.shares.items()
    }


def compared(
    run: Callable[[], object], runner: ConsumerRunner, assignor: str, given: dict[str, Any], timed: Timed
) -> tuple[float, float]:
    """Our median and Kafka's, in ms."""
    began, once_ns = time.monotonic(), 1
    while time.monotonic() - began < WARM_UP_S:
        once_ns = max(1, min(runner.answer(assignor, given, timed, 5).repeated_ns))
    repeats = max(3, min(200, int(SERIES_S * 1e9 / once_ns)))
    return in_turns(run, lambda: runner.answer(assignor, given, timed, repeats).repeated_ns, SERIES)


def measure(found: java.Java, release: str) -> Iterator[Figures]:
    """Every assignor, kind of subscriptions and event; LabError where the answers differ."""
    for assignor, recompute in ASSIGNORS.items():
        for equal in (True, False):
            for event in EVENTS:
                given = group(assignor, event, members=MEMBERS, partitions=PARTITIONS, equal=equal)
                blobs = [(one["id"], b64decode(one["subscription"])) for one in given["members"]]
                members = members_of(assignor, blobs)
                topics: TopicRacks = {name: (frozenset(),) * len(held) for name, held in given["topics"].items()}
                kind = "equal" if equal else "different"
                # One JVM for each row: code that was compiled for another situation is slower in this one.
                with ConsumerRunner(found, release) as runner:
                    theirs = runner.answer(assignor, given).expected
                    if theirs != consumer.solve({"kind": assignor, "release": release, "input": given}):
                        raise LabError(f"our answer differs from Kafka's: {assignor}, {kind} subscriptions, {event}")
                    class_ms, kafka_class_ms = compared(
                        lambda: recompute(members, topics), runner, assignor, given, Timed.SETS  # noqa: B023
                    )  # fmt: skip
                    bytes_ms, kafka_bytes_ms = compared(
                        lambda: encoded(recompute(members_of(assignor, blobs), topics)),  # noqa: B023
                        runner, assignor, given, Timed.BYTES,
                    )  # fmt: skip
                yield Figures(
                    assignor=assignor,
                    subscriptions=kind,
                    event=event,
                    class_ms=class_ms,
                    kafka_class_ms=kafka_class_ms,
                    bytes_ms=bytes_ms,
                    kafka_bytes_ms=kafka_bytes_ms,
                )


def table(figures: list[Figures]) -> list[str]:
    """For people."""
    return [
        "| assignor | subscriptions | last generation | class: ours | Kafka's, warm | times "
        "| bytes: ours | Kafka's, warm | times |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {one.assignor} | {one.subscriptions} | {one.event} | {one.class_ms:.2f} | {one.kafka_class_ms:.2f} "
            f"| {one.class_ms / one.kafka_class_ms:.2f} | {one.bytes_ms:.2f} | {one.kafka_bytes_ms:.2f} "
            f"| {one.bytes_ms / one.kafka_bytes_ms:.2f} |"
            for one in figures
        ),
    ]


def aims(figures: list[Figures]) -> list[str]:
    """One line per aim: met, or missed where and by how much."""
    lines = []
    for kind, aim_ms in (("equal", AIM_EQUAL_MS), ("different", AIM_DIFFERENT_MS)):
        rows = [one for one in figures if one.subscriptions == kind]
        slowest = max(rows, key=lambda one: one.bytes_ms)
        furthest = max(rows, key=lambda one: one.class_ms / one.kafka_class_ms)
        times = furthest.class_ms / furthest.kafka_class_ms
        lines += [
            f"* {kind} subscriptions within {aim_ms:g} ms: {met(slowest.bytes_ms <= aim_ms)}, "
            f"{slowest.bytes_ms:.2f} ms at most ({slowest.assignor}, {slowest.event}).",
            f"* {kind} subscriptions within {AIM_TIMES:g} times Kafka's warm class: {met(times <= AIM_TIMES)}, "
            f"{times:.2f} times at most ({furthest.assignor}, {furthest.event}).",
        ]
    return lines


@says_why("bench-assignors")
def main() -> int:
    """Measure, compare, write both reports."""
    found, release = java.find(), jars.kafka_release()
    figures = shown(measure(found, release), table)
    against = (
        f"kafka-clients {release} on Java {found.version}. {MEMBERS} members, {PARTITIONS:,} partitions. Answers were"
        " equal before anything was timed"
    )
    by = "make bench-assignors FAMILY=consumer"
    text = report_text("the sticky consumer assignors", by, against, __doc__, table(figures), aims(figures))
    write(REPORT, text, {"consumers": [asdict(one) for one in figures]})
    print("\n".join(text[6:]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
