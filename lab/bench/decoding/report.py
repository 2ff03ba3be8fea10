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

A figure is the mean of {records} records, each at the best of its {rounds} rounds, in which rows and columns alternate.
So a busy machine's bad moments and garbage collections are left out, on all sides alike.

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

# Not measured anew each time: the readers it speaks of were written by hand, for the two Connect records alone.
LEFT_OUT = """
## What was tried and left out

Foreseeing lengths. One struct made for the lengths of a member's texts and lists unpacks the whole member in one call,
and comparing the lengths that come out with those foreseen proves the reading right. Written by hand for the two
Connect records and timed in turns with the reader above:

- every length foreseen, at no cost: members take 32 % less (10 connectors) and 31 % less (1 connector), which would be
  about 3.7 and 2.9 times kafka-python. But that needs lengths remembered from record to record, which this page rules
  out, and records as alike as these: of 439 members in captured Connect groups 55 % had all lengths of any seen before;
- foreseen from the members before in the same record, for texts and headers only, as lists differ (in the captures 75 %
  of members have texts as long as an earlier member of their record, 12 % have all lengths the same): 14 % and 16 %
  less, about 3.0 and 2.5 times at best, as the record's own fields were read beforehand. That was not worth a second
  reader of the same bytes.

Steps fell by 41 and 59 % in the first and by 21 and 24 % in the second, time by less: what is left are C calls, which
no prediction spares. A struct takes some 70 ns and 20 to 30 more for each value. A pair (connector, task) takes 60 to
100 ns, whether a loop, `zip` or `itertools.product` makes it; with `zip` the reader took 5 % more time (1 connector).
Sharing equal names of a record, found by their bytes, took 6 % more (10 connectors).
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


def report(figures: list[Figures], way: list[str], *, records: int, rounds: int) -> str:
    """The page for people; `way`: the section on the whole way of a record."""
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
        *way,
        *STEPS.splitlines(),
        *(line for one in figures for line in _steps(one)),
        "",
        *(_missed(one) for one in figures if one.ratio < one.aim),
        *LEFT_OUT.splitlines(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _row(figures: Figures) -> str:
    aim = f"{figures.aim}" if figures.ratio >= figures.aim else f"{figures.aim} (missed)"
    return (
        f"| {figures.name} | {figures.bytes} | {figures.kafka_python_us} | {figures.kafka_python_on_bytes_us} "
        f"| {figures.ours_us} | **{figures.ratio}** | {aim} "
        f"| {figures.ours_remembering_us} | {figures.ratio_remembering} | {figures.floor_us} |"
    )


def _steps(figures: Figures) -> list[str]:
    taken = {"kafka": figures.kafka_python_us, "ours": figures.ours_us, "floor": figures.floor_us}
    names = {"kafka": "kafka-python", "ours": "ours", "floor": "floor"}
    lines = []
    for side, counted in figures.steps.items():
        price = taken[side] * 1000 / counted["all"]
        cells = " | ".join(f"{number:,}" for number in counted.values())
        lines.append(f"| {figures.name} | {names[side]} | {cells} | {price:.0f} |")
    return lines


def _missed(figures: Figures) -> str:
    ours = figures.steps["ours"]["all"]
    allowed = round(ours * figures.ratio / figures.aim)
    return (
        f"- {figures.name}: {figures.aim:g} times kafka-python would leave about {allowed:,} steps at our price "
        f"instead of {ours:,}; the result alone, with nothing read, takes {figures.steps['floor']['all']:,}."
    )
