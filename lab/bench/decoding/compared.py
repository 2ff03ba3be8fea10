"""`make bench-decode`: microseconds per record on one core, embedded payloads included, against kafka-python.

What is timed on our side is the job's own path, from key and value to the row; on kafka-python's, its compiled readers
for the same layouts, declared with its own field classes (`bench_peer`). Their values are compared before anything is
timed. All records and all blobs differ, and nothing is remembered, except in the column that says so.
"""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from lab.bench.decoding import kafka_python, plain_trees, record_in_state, records, way
from lab.bench.decoding.floor import rebuilder
from lab.bench.decoding.report import Figures, report
from lab.bench.decoding.steps import steps
from lab.errors import LabError, says_why
from lab.paths import ROOT
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.user_data import decode_assignment_user_data, decode_subscription_user_data
from rebalance_monitor.streaming.core.lifecycles import FORMATS, decode_offsets_record
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.reading.blobs import MemberBlobs

KEY = b"\x00\x02\x00\x09the-group"
RECORDS = 40
ROUNDS = 100
WAYS = 20
FLOORS = 6  # their sources are long, and compiled for each record
REPORT = ROOT / "docs" / "benchmarks-decode"
NOTHING_REMEMBERED = MemberBlobs(FORMATS, 0)

Decode = Callable[[bytes], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of the table."""

    name: str
    make: Callable[[int], bytes]
    ours: Callable[[bytes, MemberBlobs], Any]
    peer: Callable[[bytes, bytes, kafka_python.View], Any]
    aim: float


def _row(value: bytes, blobs: MemberBlobs) -> Row:
    row = decode_offsets_record("__consumer_offsets", 0, 0, 0, KEY, value, blobs=blobs)
    assert row is not None
    return row


def _streams(value: bytes, blobs: MemberBlobs) -> tuple[Row, list[tuple[Any, Any]]]:
    row = _row(value, blobs)
    group = row.body
    assert isinstance(group, GroupGeneration)
    found = []
    for member in group.members:
        subscription, assignment = member.subscription, member.assignment
        assert isinstance(subscription, ConsumerSubscription)
        assert isinstance(assignment, ConsumerAssignment)
        found.append(
            (
                decode_subscription_user_data(group.protocol, subscription.user_data),
                decode_assignment_user_data(group.protocol, assignment.user_data),
            )
        )
    return row, found


CASES = (
    Case(
        name="consumer group, 5 members, 30 partitions",
        make=records.consumers,
        ours=_row,
        peer=kafka_python.consumers,
        aim=1.5,
    ),
    Case(
        name="Connect cooperative, 20 members, 200 tasks of 10 connectors",
        make=records.connect,
        ours=_row,
        peer=kafka_python.connect,
        aim=3.0,
    ),
    Case(
        name="Connect cooperative, 20 members, 200 tasks of 1 connector",
        make=lambda at: records.connect(at, connectors=1),
        ours=_row,
        peer=kafka_python.connect,
        aim=3.0,
    ),
    Case(
        name="Streams, 10 members, 80 tasks, host maps",
        make=records.streams,
        ours=_streams,
        peer=kafka_python.streams,
        aim=3.0,
    ),
)


def compare(case: Case, value: bytes) -> None:
    """Raises LabError unless both sides read the same from `value`."""
    told = case.ours(value, NOTHING_REMEMBERED)
    mine = plain_trees.ours(*told) if isinstance(told, tuple) else plain_trees.ours(told)
    key, _ = kafka_python.group(KEY, value, memoryview)
    group, blobs = case.peer(KEY, value, memoryview)
    trees: list[list[Any]]
    if case.peer is kafka_python.connect:
        trees = [plain_trees.peer_connect(*one) for one in blobs]
    else:
        trees = [plain_trees.peer_consumer(*one[:2]) for one in blobs]
        if case.peer is kafka_python.streams:
            trees = [[*tree, *plain_trees.peer_streams(*one[2:])] for tree, one in zip(trees, blobs, strict=True)]
    if plain_trees.peer_members(key, group, trees) != mine:
        raise LabError(f"{case.name}: the two decoders read different values; nothing was timed")


@dataclass(frozen=True, slots=True)
class _Columns:
    """What is timed for one case, on which records, and each record's best so far, in seconds."""

    case: Case
    decode: dict[str, Decode]
    values: dict[str, list[bytes]]
    best: dict[str, dict[bytes, float]]


def measure(cases: Iterable[Case]) -> list[Figures]:
    """Rounds over the same records in which cases and columns alternate, so that a slow spell of the machine meets all
    of them; each record's own best of each column counts."""
    running = [_columns(case) for case in cases]
    for _ in range(ROUNDS):
        for columns in running:
            for name, decode in columns.decode.items():
                _time(decode, columns.values[name], columns.best[name])
    return [_figures(one) for one in running]


def _columns(case: Case) -> _Columns:
    values = [case.make(at) for at in range(1, RECORDS + 1)]
    for value in values:
        compare(case, value)
    remembering = MemberBlobs(FORMATS, 64 << 20)
    decode: dict[str, Decode] = {
        "kafka": lambda value: case.peer(KEY, value, memoryview),
        "kafka on bytes": lambda value: case.peer(KEY, value, bytes),
        "ours": lambda value: case.ours(value, NOTHING_REMEMBERED),
        "remembering": lambda value: case.ours(value, remembering),
        "floor": _floor(case, values[:FLOORS]),
    }
    timed = {name: values[:FLOORS] if name == "floor" else values for name in decode}
    return _Columns(case, decode, timed, {name: {} for name in decode})


def _figures(columns: _Columns) -> Figures:
    taken = {name: sum(times.values()) / len(times) * 1e6 for name, times in columns.best.items()}
    first = columns.values["ours"][0]
    return Figures(
        name=columns.case.name,
        bytes=len(first),
        kafka_python_us=round(taken["kafka"], 1),
        kafka_python_on_bytes_us=round(taken["kafka on bytes"], 1),
        ours_us=round(taken["ours"], 1),
        ratio=round(taken["kafka"] / taken["ours"], 2),
        ours_remembering_us=round(taken["remembering"], 1),
        ratio_remembering=round(taken["kafka"] / taken["remembering"], 2),
        floor_us=round(taken["floor"], 1),
        aim=columns.case.aim,
        steps={name: steps(columns.decode[name], first) for name in ("kafka", "ours", "floor")},
    )


def _time(decode: Decode, values: list[bytes], best: dict[bytes, float]) -> None:
    for value in values:
        began = perf_counter()
        decode(value)
        taken = perf_counter() - began
        best[value] = min(taken, best.get(value, taken))


def _floor(case: Case, values: list[bytes]) -> Decode:
    rebuild = {value: rebuilder(_bare(case.ours(value, NOTHING_REMEMBERED))) for value in values}
    return lambda value: rebuild[value]()


def _bare(told: Any) -> Any:
    """Rows are made with keywords; what is timed is what they hold."""
    return (told[0].body, told[1]) if isinstance(told, tuple) else told.body


@says_why("bench-decode")
def main() -> int:
    """Measure, print, write docs/benchmarks-decode.md and .json."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    figures = measure(CASES)
    ways = {one.name: way.whole_way(KEY, one.make, records=RECORDS, rounds=WAYS) for one in CASES}
    states = {one.name: record_in_state.record_in_state(KEY, one.make, rounds=ROUNDS) for one in CASES}
    more = [*way.table(ways), *record_in_state.table(states)]
    text = report(figures, more, records=RECORDS, rounds=ROUNDS)
    print(text)
    REPORT.with_suffix(".md").write_text(text, encoding="utf-8")
    told = {"figures": [asdict(one) for one in figures], "whole_way_us": ways, "record_in_state_us": states}
    REPORT.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
