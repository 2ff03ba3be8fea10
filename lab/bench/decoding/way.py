"""The whole way of a group's record, from the bytes that a reading task got to the row that the fold takes.

take      key and protocol type are looked at, and the record becomes a row
decode    whoever folds the group makes the row
"""

from collections.abc import Callable
from functools import partial
from time import process_time

from rebalance_monitor.streaming.core.reading.decoding import glance
from rebalance_monitor.streaming.spark.rows import RawRow, RecordAt, record_row

TOPIC = "__consumer_offsets"
STEPS = ("take", "decode")


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
        rows: list[RawRow] = []
        timed("take", partial(_take, key, values, rows))
        timed("decode", partial(_decode, rows))
    return best


def _take(key: bytes, values: list[bytes], rows: list[RawRow]) -> None:
    for at, value in enumerate(values):
        seen = glance(key, value)
        assert seen is not None
        rows.append(record_row("id", RecordAt(TOPIC, 0, at, at), seen, key, value))


def _decode(rows: list[RawRow]) -> None:
    for raw in rows:
        if raw.row() is None:
            raise ValueError("a group's record became nothing")


def table(figures: dict[str, dict[str, float]]) -> list[str]:
    """The section for people; `figures`: microseconds by case and step."""
    lines = [
        "",
        "## The whole way, from bytes to the fold's input",
        "",
        "Microseconds of the processor per record; no blob was seen before. Reading and folding are one task, so no",
        "record crosses from one process to another.",
        "",
        f"| record | {' | '.join(STEPS)} | together |",
        "|---|--:|--:|--:|",
    ]
    for name, steps in figures.items():
        cells = " | ".join(f"{steps[step]:.1f}" for step in STEPS)
        lines.append(f"| {name} | {cells} | **{sum(steps.values()):.1f}** |")
    return lines
