"""`make bench-brokers`: ms per target of our broker-side assignors and of Kafka's own, on the same input.

Both answer the same groups first, and nothing is timed unless their targets are equal. What is timed is the computation
from members, topics and previous targets in memory to the new targets: what the coordinator's thread does. Figures are
medians of the least disturbed of several short series, taken in turns with Kafka's, once the JVM gets no faster. All
are the processor time of the thread that computes.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from lab.bench.assigning.report import report_text, shown, write
from lab.bench.assigning.timing import in_turns
from lab.cluster import jars, java
from lab.errors import LabError, says_why
from lab.oracle.broker_groups import random_id
from lab.oracle.broker_runner import BrokerRunner
from lab.oracle.compare_brokers import as_sets
from lab.paths import ROOT
from rebalance_monitor.streaming.calculator import broker

SIZES = ((10, 100), (100, 5_000))
STREAMS_SIZES = ((10, 100), (100, 2_000))
EVENTS = ("all new", "a member joins", "steady")
TOPICS, SUBTOPOLOGIES = 10, 4
WARM_UP_S, SERIES, MEASURED = 1.0, 5, 5
REPORT = ROOT / "docs" / "benchmarks-brokers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One row of the table; times in ms."""

    assignor: str
    members: int
    partitions: int
    event: str
    ms: float
    kafka_ms: float


def group(kind: str, members: int, partitions: int, *, alike: bool) -> dict[str, Any]:
    """A new group of TOPICS equal topics; where subscriptions differ, each member has half of them."""
    random = Random(f"{kind}-{members}-{partitions}-{alike}")
    names = [f"t{number}" for number in range(TOPICS)]
    return {
        "topics": {
            random_id(random): {"name": name, "partitions": partitions // TOPICS, "racks": []} for name in names
        },
        "members": [_member(random, names if alike else random.sample(names, TOPICS // 2)) for _ in range(members)],
    }


def _member(random: Random, names: list[str]) -> dict[str, Any]:
    return {"id": random_id(random), "instance": None, "rack": None, "subscribed": names, "previous": []}


def streams_group(members: int, tasks: int) -> dict[str, Any]:
    """A new Streams group: SUBTOPOLOGIES, half of them stateful, two members a process, one standby."""
    random = Random(f"streams-{members}-{tasks}")
    return {
        "configs": {"num.standby.replicas": "1"},
        "subtopologies": {
            str(number): {"partitions": tasks // SUBTOPOLOGIES, "stateful": number % 2 == 0}
            for number in range(SUBTOPOLOGIES)
        },
        "members": [
            {"id": random_id(random), "processId": f"process-{number // 2}", "active": [], "standby": []}
            for number in range(members)
        ],
    }


def after(kind: str, given: dict[str, Any], event: str) -> dict[str, Any]:
    """The input in which this happened to the group."""
    if event == "all new":
        return given
    held = given if event == "steady" else {**given, "members": given["members"][:-1]}
    shares = broker.solve({"kind": kind, "release": jars.kafka_release(), "input": held})["assignment"]
    members = []
    for member in given["members"]:
        share = shares.get(member["id"])
        if share is None:
            members.append(member)
        elif kind == "streams-sticky":
            members.append({**member, "active": share["active"], "standby": share["standby"]})
        else:
            members.append({**member, "previous": share["target"]})
    return {**given, "members": members}


def stories() -> Iterator[tuple[str, str, int, int, dict[str, Any]]]:
    """(kind, how it is named in the table, members, partitions, a new group)."""
    for members, partitions in SIZES:
        for kind in ("uniform", "range", "simple"):
            for alike in (True, False):
                name = f"{kind}, {'equal' if alike else 'different'} topics"
                yield kind, name, members, partitions, group(kind, members, partitions, alike=alike)
    for members, tasks in STREAMS_SIZES:
        yield "streams-sticky", "Streams sticky", members, tasks, streams_group(members, tasks)


def compared(run: Callable[[], object], runner: BrokerRunner, kind: str, given: dict[str, Any]) -> tuple[float, float]:
    """Our median and Kafka's, in ms."""
    began = time.monotonic()
    while time.monotonic() - began < WARM_UP_S:
        runner.play(kind, given, 50)
    return in_turns(run, lambda: runner.play(kind, given, MEASURED).repeated_ns, SERIES, MEASURED)


def measure(found: java.Java, release: str) -> Iterator[Figures]:
    """Every group and event; LabError where the answers differ."""
    with BrokerRunner(found, release) as runner:
        for kind, name, members, partitions, new in stories():
            for event in EVENTS:
                given = after(kind, new, event)
                case = {"kind": kind, "release": release, "input": given | {"java_version": found.version}}
                ours = broker.solve(case)
                ours.pop("order_unsure", None)
                if as_sets(ours) != as_sets(runner.play(kind, given).answer):
                    raise LabError(f"our answer differs from Kafka's: {name}, {members} members, {event}")
                ms, kafka_ms = compared(broker.prepared(case), runner, kind, given)
                yield Figures(
                    assignor=name, members=members, partitions=partitions, event=event, ms=ms, kafka_ms=kafka_ms
                )


def table(figures: list[Figures]) -> list[str]:
    """For people."""
    rows = [
        "| assignor | members x partitions | previous target | ours | Kafka's, warm | times |",
        "|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {one.assignor} | {one.members} x {one.partitions:,} | {one.event} | {one.ms:.2f} | {one.kafka_ms:.3f} "
        f"| {one.ms / one.kafka_ms:.1f} |"
        for one in figures
    ]
    return rows


@says_why("bench-brokers")
def main() -> int:
    """Measure, compare, write both reports."""
    found, release = java.find(), jars.kafka_release()
    figures = shown(measure(found, release), table)
    slowest = max(figures, key=lambda one: one.ms)
    furthest = max(figures, key=lambda one: one.ms / one.kafka_ms)
    against = (
        f"the assignors of kafka-group-coordinator {release} on Java {found.version}. Targets were equal before"
        " anything was timed"
    )
    sums = (
        f"* The slowest: {slowest.ms:.0f} ms ({slowest.assignor}, {slowest.members} x {slowest.partitions:,}, "
        f"{slowest.event}).",
        f"* The furthest from the warm JVM: {furthest.ms / furthest.kafka_ms:.1f} times ({furthest.assignor}, "
        f"{furthest.members} x {furthest.partitions:,}, {furthest.event}).",
    )
    text = report_text("the broker's assignors", "make bench-brokers", against, __doc__, table(figures), sums)
    write(REPORT, text, [asdict(one) for one in figures])
    print("\n".join(text[-2:]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
