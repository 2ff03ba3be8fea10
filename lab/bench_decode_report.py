"""The figures of `make bench-decode`, and the page that they become."""

import platform
from dataclasses import dataclass

import kafka

ABOUT = """
Both sides decode the same bytes, and their values are compared as plain trees before anything is timed. All records and
all blobs differ, and nothing is remembered from one record to the next, except in the column that says so: there every
record's blobs were seen before. Within one record the header that all its assignments share is read once, and then
recognised by its bytes. On our side the job's own path is timed, from key and value to the row; on kafka-python's, its
compiled readers for the same layouts, which leave plain objects and no rows.

A figure is the mean of {records} records, each at the best of its {rounds} rounds; the columns alternate. So a busy
machine's bad moments and garbage collections are left out, on all sides alike.

The floor takes no reading at all: every length and position is a constant, and what is left are the slices of the
texts, each distinct text once, and the tuples and objects of the result, made by the same means.
"""

STEPS = """
## Where the time goes

Into steps of Python's interpreter, one bytecode instruction each, which can be counted. Nearly every call of ours is
one of a C function: it unpacks numbers, looks whether a text is ASCII, makes an object, or appends.

| record | decoder | steps | calls | slices and items | sums | fields filled | ns per step |
|---|---|--:|--:|--:|--:|--:|--:|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Microseconds per record, and the interpreter's steps for the first of them."""

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
    steps: dict[str, dict[str, int]]


def report(figures: list[Figures], *, records: int, rounds: int) -> str:
    """The page for people."""
    lines = [
        "# Decoding, against kafka-python",
        "",
        f"Written by `make bench-decode`: one core of {platform.machine()}, Python {platform.python_version()}, "
        f"kafka-python {kafka.__version__}; microseconds per record, embedded payloads included.",
        "",
        "| record | bytes | kafka-python | on bytes | ours | ratio | aim | ours, blobs seen before | ratio | floor |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        *map(_row, figures),
        *ABOUT.format(records=records, rounds=rounds).splitlines(),
        *STEPS.splitlines(),
        *(line for one in figures for line in _steps(one)),
        "",
        *(_missed(one) for one in figures if one.ratio < one.aim),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _row(one: Figures) -> str:
    aim = f"{one.aim}" if one.ratio >= one.aim else f"{one.aim} (missed)"
    return (
        f"| {one.name} | {one.bytes} | {one.kafka_python_us} | {one.kafka_python_on_bytes_us} | {one.ours_us} | "
        f"**{one.ratio}** | {aim} | {one.ours_remembering_us} | {one.ratio_remembering} | {one.floor_us} |"
    )


def _steps(one: Figures) -> list[str]:
    taken = {"kafka": one.kafka_python_us, "ours": one.ours_us, "floor": one.floor_us}
    names = {"kafka": "kafka-python", "ours": "ours", "floor": "floor"}
    lines = []
    for side, counted in one.steps.items():
        price = taken[side] * 1000 / counted["all"]
        cells = " | ".join(f"{number:,}" for number in counted.values())
        lines.append(f"| {one.name} | {names[side]} | {cells} | {price:.0f} |")
    return lines


def _missed(one: Figures) -> str:
    ours = one.steps["ours"]["all"]
    allowed = round(ours * one.ratio / one.aim)
    return (
        f"- {one.name}: {one.aim:g} times kafka-python would leave about {allowed:,} steps at our price instead of "
        f"{ours:,}; the result alone, with nothing read, takes {one.steps['floor']['all']:,}."
    )
