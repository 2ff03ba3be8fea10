"""Writes `tests/vectors/states/*-layout-<n>-*.json.gz` in the present layout: `python -m tests.streaming.carried.made`.

Run once, with the release whose states are to be kept. Each file holds the stored state of one capture after `cut`
records, what had been published of incidents until then (`before`), and what that same release published of the
incidents open at the cut afterwards (`after`), with the grades of the records that waited (`grades`).
"""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

from rebalance_monitor.streaming.core.fold.state import STATE_VERSION, Waiting
from rebalance_monitor.streaming.core.model.codec import loads
from tests.streaming.carried.live import LONG_MS, VECTORS, Live, arrives_ms, final_grades, held, story, transitions

CAPTURES = ("zombie", "eager-2.8.2", "compatible-2.8.2", "sessioned-4.3.1", "steady")


def waiting_in(live: Live) -> int:
    return 0 if live.state is None else len(live.state.waiting)


def most_open(live: Live) -> tuple[int, int]:
    return len(held(live.value)), waiting_in(live)


def most_waiting(live: Live) -> tuple[int, int]:
    return waiting_in(live), len(held(live.value))


def cut_of(capture: str, by: Callable[[Live], tuple[int, int]]) -> int:
    """Records before the best cut; the last tenth is left to go on with."""
    known, group, rows = story(capture)
    live, best, at = Live(known, group), (0, 0), 1
    for number, row in enumerate(rows[: len(rows) * 9 // 10], start=1):
        live.go_on([row])
        if (found := by(live)) > best:
            best, at = found, number
    return at


def write(folder: Path, capture: str, name: str, cut: int) -> None:
    known, group, rows = story(capture)
    live = Live(known, group).go_on(rows[:cut])
    assert live.state is not None
    open_ids = {one.incident_id for one in held(live.value)}
    records = [loads(Waiting, one.decode("utf-8", "surrogatepass")).row for one in live.state.waiting.values()]
    waiting = [(row.partition, row.offset) for row in records]
    before = transitions(live.results)
    text = live.state.lines.decode("utf-8", "surrogatepass")
    rows_waiting = {at: one.decode("utf-8", "surrogatepass") for at, one in live.state.waiting.items()}
    due_ms, now_ms, told = live.due_ms, live.now_ms, len(live.results)
    live.go_on(rows[cut:]).until(arrives_ms(rows[-1]) + LONG_MS)
    after = [one for one in transitions(live.results[told:]) if one[0] in open_ids]
    grades = final_grades(live.results[told:])
    value = {
        "layout": STATE_VERSION, "capture": capture, "cut": cut, "now_ms": now_ms, "due_ms": due_ms, "state": text,
        "waiting": rows_waiting,
        "before": before, "after": after, "grades": [[*at, grades[at]] for at in waiting if at in grades],
    }  # fmt: skip
    packed = gzip.compress(json.dumps(value, ensure_ascii=True).encode(), mtime=0)
    (folder / f"{capture}-layout-{STATE_VERSION}-{name}.json.gz").write_bytes(packed)
    sys.stdout.write(f"{capture} {name}: cut {cut} of {len(rows)}, {len(open_ids)} open, {len(waiting)} wait\n")


def main() -> None:
    folder = VECTORS / "states"
    for capture in CAPTURES:
        for name, by in (("open", most_open), ("waiting", most_waiting)):
            write(folder, capture, name, cut_of(capture, by))


if __name__ == "__main__":
    main()
