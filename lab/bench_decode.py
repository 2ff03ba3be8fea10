"""`make bench-decode`: microseconds per record on one core, embedded payloads included, against kafka-python.

Both sides decode the same bytes; their values are compared as plain trees before anything is timed. All records and all
blobs differ, and nothing is remembered, except in the column that says so: there every record's blobs were seen before.
What is timed on our side is the job's own path, from key and value to the row; on kafka-python's, its compiled readers
for the same layouts. Within one record the header that all its assignments share is read once, and recognised by its
bytes. The floor is what remains if every length and position is known beforehand: the slices, texts and objects of the
result, made by the same means, each text anew. Rounds of all columns alternate, and the best of each counts, so that a
machine's bad moments hit both sides.

Where Connect stays below its aim, the rest is the interpreter's price per step: a list's entry takes one slice, one
unpacking, one tuple and five comparisons, a member some ten unpackings, twelve slices and four objects. With a single
connector the floor alone is about a third of kafka-python's time, as that has as little to do per member as we have.
"""

import cProfile
import json
import os
import platform
import pstats
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import kafka

from lab import bench_peer, bench_records, bench_trees
from lab.errors import LabError
from lab.paths import ROOT
from schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from schemas.user_data import decode_assignment_user_data, decode_subscription_user_data
from streaming.core.blobs import MemberBlobs
from streaming.core.decoding import decode_offsets_record
from streaming.core.records import GroupGeneration, Row

KEY = b"\x00\x02\x00\x09the-group"
RECORDS = 60
ROUNDS = 40
FLOORS = 6  # their sources are long, and compiled for each record
REPORT = ROOT / "docs" / "benchmarks-decode"
NOTHING_REMEMBERED = MemberBlobs(0)

Decode = Callable[[bytes], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of the table."""

    name: str
    make: Callable[[int], bytes]
    ours: Callable[[bytes, MemberBlobs], Any]
    peer: Callable[[bytes, bytes, bench_peer.View], Any]
    aim: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Microseconds per record."""

    name: str
    bytes: int
    kafka_python_us: float
    kafka_python_on_bytes_us: float
    ours_us: float
    ratio: float
    ours_remembering_us: float
    ratio_remembering: float
    floor_us: float
    aim: float


def _row(value: bytes, blobs: MemberBlobs) -> Row:
    row = decode_offsets_record("__consumer_offsets", 0, 0, 0, KEY, value, blobs)
    assert row is not None
    return row


def _streams(value: bytes, blobs: MemberBlobs) -> tuple[Row, list[tuple[Any, Any]]]:
    row = _row(value, blobs)
    group = row.body
    assert isinstance(group, GroupGeneration)
    found = []
    for one in group.members:
        subscription, assignment = one.subscription, one.assignment
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
        make=bench_records.consumers,
        ours=_row,
        peer=bench_peer.consumers,
        aim=1.5,
    ),
    Case(
        name="Connect cooperative, 20 members, 200 tasks of 10 connectors",
        make=bench_records.connect,
        ours=_row,
        peer=bench_peer.connect,
        aim=3.0,
    ),
    Case(
        name="Connect cooperative, 20 members, 200 tasks of 1 connector",
        make=lambda at: bench_records.connect(at, connectors=1),
        ours=_row,
        peer=bench_peer.connect,
        aim=3.0,
    ),
    Case(
        name="Streams, 10 members, 80 tasks, host maps",
        make=bench_records.streams,
        ours=_streams,
        peer=bench_peer.streams,
        aim=3.0,
    ),
)


def compare(case: Case, value: bytes) -> None:
    """Raises LabError unless both sides read the same from `value`."""
    told = case.ours(value, NOTHING_REMEMBERED)
    mine = bench_trees.ours(*told) if isinstance(told, tuple) else bench_trees.ours(told)
    key, _ = bench_peer.group(KEY, value, memoryview)
    group, blobs = case.peer(KEY, value, memoryview)
    trees: list[list[Any]]
    if case.peer is bench_peer.connect:
        trees = [bench_trees.peer_connect(*one) for one in blobs]
    else:
        trees = [bench_trees.peer_consumer(*one[:2]) for one in blobs]
        if case.peer is bench_peer.streams:
            trees = [[*tree, *bench_trees.peer_streams(*one[2:])] for tree, one in zip(trees, blobs, strict=True)]
    if bench_trees.peer_members(key, group, trees) != mine:
        raise LabError(f"{case.name}: the two decoders read different values; nothing was timed")


def measure(case: Case) -> Figures:
    """Alternating rounds over the same records; the best of each column."""
    values = [case.make(at) for at in range(1, RECORDS + 1)]
    for value in values:
        compare(case, value)
    remembering = MemberBlobs(64 << 20)
    columns: dict[str, Decode] = {
        "kafka": lambda value: case.peer(KEY, value, memoryview),
        "kafka on bytes": lambda value: case.peer(KEY, value, bytes),
        "ours": lambda value: case.ours(value, NOTHING_REMEMBERED),
        "remembering": lambda value: case.ours(value, remembering),
    }
    floor = _floor(case, values[:FLOORS])
    best = dict.fromkeys((*columns, "floor"), float("inf"))
    for _ in range(ROUNDS):
        for name, decode in columns.items():
            best[name] = min(best[name], _timed(decode, values))
        best["floor"] = min(best["floor"], _timed(floor, values[:FLOORS]))
    rounded = {name: round(taken, 1) for name, taken in best.items()}
    return Figures(
        name=case.name,
        bytes=len(values[0]),
        kafka_python_us=rounded["kafka"],
        kafka_python_on_bytes_us=rounded["kafka on bytes"],
        ours_us=rounded["ours"],
        ratio=round(best["kafka"] / best["ours"], 2),
        ours_remembering_us=rounded["remembering"],
        ratio_remembering=round(best["kafka"] / best["remembering"], 2),
        floor_us=rounded["floor"],
        aim=case.aim,
    )


def _timed(decode: Decode, values: list[bytes]) -> float:
    began = time.process_time()
    for value in values:
        decode(value)
    return (time.process_time() - began) / len(values) * 1e6


def _floor(case: Case, values: list[bytes]) -> Decode:
    """Instead of decoding a record, puts its decoded value together from parts at known places."""
    rebuild = {value: bench_trees.rebuilder(_bare(case.ours(value, NOTHING_REMEMBERED))) for value in values}
    return lambda value: rebuild[value]()


def _bare(told: Any) -> Any:
    """Rows are made with keywords; what is timed is what they hold."""
    return (told[0].body, told[1]) if isinstance(told, tuple) else told.body


def profile(case: Case) -> list[str]:
    """The functions in which our side spends its time, as `share function`."""
    values = [case.make(at) for at in range(1, RECORDS + 1)]
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(5):
        for value in values:
            case.ours(value, NOTHING_REMEMBERED)
    profiler.disable()
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, Any]] = pstats.Stats(profiler).stats  # type: ignore[attr-defined] # documented by example only
    total = sum(entry[2] for entry in stats.values())
    ranked = sorted(stats.items(), key=lambda item: -item[1][2])[:6]
    return [f"{entry[2] / total:.0%} {_function(where)}" for where, entry in ranked]


def _function(where: tuple[str, int, str]) -> str:
    file, _, name = where
    return f"{name} in {file}" if file.startswith("<") else f"{name} in {os.path.basename(file)}"


def report(figures: list[Figures], profiles: dict[str, list[str]]) -> str:
    """The table for people."""
    lines = [
        "# Decoding, against kafka-python",
        "",
        f"Written by `make bench-decode`: one core of {platform.machine()}, Python {platform.python_version()}, "
        f"kafka-python {kafka.__version__}; microseconds of processor time per record, embedded payloads included.",
        "",
        "| record | bytes | kafka-python | on bytes | ours | ratio | aim | ours, blobs seen before | ratio | floor |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in figures:
        aim = f"{one.aim}" if one.ratio >= one.aim else f"{one.aim} (missed)"
        lines.append(
            f"| {one.name} | {one.bytes} | {one.kafka_python_us} | {one.kafka_python_on_bytes_us} | {one.ours_us} | "
            f"**{one.ratio}** | {aim} | {one.ours_remembering_us} | {one.ratio_remembering} | {one.floor_us} |"
        )
    lines += ["", *(line or "" for line in (__doc__ or "").splitlines()[2:]), ""]
    for name, ranked in profiles.items():
        lines += [f"Where the time goes, {name}: {'; '.join(ranked)}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Measure, print, write docs/benchmarks-decode.md and .json."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        figures = [measure(case) for case in CASES]
    except LabError as why:
        print(f"bench-decode: {why}", file=sys.stderr)
        return 2
    profiles = {case.name: profile(case) for case, one in zip(CASES, figures, strict=True) if one.ratio < one.aim}
    text = report(figures, profiles)
    print(text)
    REPORT.with_suffix(".md").write_text(text, encoding="utf-8")
    told = {"figures": [asdict(one) for one in figures], "profiles": profiles}
    REPORT.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
