"""The whole way of a group's record, from the bytes that a reading task got to the row that the fold takes.

hand on   the reading task looks at key and protocol type, and the record becomes a line of the table
carry     the table is written and read by Arrow, as between two processes
decode    whoever folds the group makes the row
"""

from collections.abc import Callable
from functools import partial
from time import process_time

import pyarrow as pa

from rebalance_monitor.streaming.core.reading.decoding import glance
from rebalance_monitor.streaming.spark.rows import SCHEMA, Batch, Line, RecordAt, arrow_batches, read_batch, record_line

TOPIC = "__consumer_offsets"
STEPS = ("hand on", "carry", "decode")


def whole_way(key: bytes, make: Callable[[int], bytes], *, records: int, rounds: int) -> dict[str, float]:
    """Microseconds of the processor per record for each step, the best of so many rounds, each with new records."""
    best: dict[str, float] = {}

    def timed(step: str, do: Callable[[], None]) -> None:
        began_s = process_time()
        do()
        taken_us = (process_time() - began_s) / records * 1e6
        best[step] = min(taken_us, best.get(step, taken_us))

    for number in range(rounds):
        values = [make(number * records + at) for at in range(1, records + 1)]
        lines: list[Line] = []
        batches: list[Batch] = []
        timed("hand on", partial(_hand_on, key, values, lines))
        timed("carry", partial(_carry, lines, batches))
        timed("decode", partial(_decode, batches))
    return best


def _hand_on(key: bytes, values: list[bytes], lines: list[Line]) -> None:
    for at, value in enumerate(values):
        seen = glance(key, value)
        assert seen is not None
        lines.append(record_line("c", "id", RecordAt(TOPIC, 0, at, at), seen, key, value))


def _carry(lines: list[Line], batches: list[Batch]) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        for batch in arrow_batches(lines):
            stream.write_batch(batch)
    batches.append(read_batch(pa.ipc.open_stream(sink.getvalue()).read_all(), "id"))


def _decode(batches: list[Batch]) -> None:
    for raw in batches[0].rows:
        if raw.row() is None:
            raise ValueError("a group's record became nothing")


def table(figures: dict[str, dict[str, float]]) -> list[str]:
    """The section for people; `figures`: microseconds by case and step."""
    lines = [
        "",
        "## The whole way, from bytes to the fold's input",
        "",
        "Microseconds of the processor per record; no blob was seen before. When rows crossed as text, writing and",
        "reading it cost 304 for a consumer record and 1,337 for a Connect record, on top of decoding.",
        "",
        f"| record | {' | '.join(STEPS)} | together |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, steps in figures.items():
        cells = " | ".join(f"{steps[step]:.1f}" for step in STEPS)
        lines.append(f"| {name} | {cells} | **{sum(steps.values()):.1f}** |")
    return lines
