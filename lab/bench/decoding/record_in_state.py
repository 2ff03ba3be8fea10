"""What a group's record costs as a part of the group's state, which each batch reads and writes.

The fold keeps the last records of a group in its state. Members' bytes are written, what they say is read again.
"""

from collections.abc import Callable
from time import process_time

from rebalance_monitor.streaming.core.lifecycles import FORMATS, decode_offsets_record
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.reading.blobs import MemberBlobs

STEPS = ("write", "read")


def record_in_state(key: bytes, make: Callable[[int], bytes], *, rounds: int) -> dict[str, float]:
    """Microseconds of the processor to write and to read one record, the best of so many rounds."""
    row = decode_offsets_record("__consumer_offsets", 0, 0, 0, key, make(1), blobs=MemberBlobs(FORMATS, 0))
    if row is None or not isinstance(row.body, GroupGeneration):
        raise ValueError("a group's record became nothing")
    text = dumps(row.body)
    return {
        "write": _best_us(lambda: dumps(row.body), rounds),
        "read": _best_us(lambda: loads(GroupGeneration, text), rounds),
    }


def _best_us(do: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began_s = process_time()
        do()
        times.append((process_time() - began_s) * 1e6)
    return min(times)


def table(figures: dict[str, dict[str, float]]) -> list[str]:
    """The section for people; `figures`: microseconds by case and step."""
    lines = [
        "",
        "## A record in its group's state",
        "",
        "Microseconds of the processor to write the record as text and to read it. Before the codec had a plan for",
        "each class, it took 145 and 159 for a consumer record, 634 and 703 for a Connect record.",
        "",
        f"| record | {' | '.join(STEPS)} |",
        "|---|--:|--:|",
    ]
    lines += [f"| {name} | {' | '.join(f'{steps[step]:.1f}' for step in STEPS)} |" for name, steps in figures.items()]
    return lines
