"""A topic that is read from its beginning ends and opens 100,000 parts in one batch: their rows cost the same each."""

import time

from rebalance_monitor.streaming.core.model.results import Part, Subject
from rebalance_monitor.streaming.store.contents import contents
from tests.streaming.builders import incident, part

FEW, TIMES = 1_000, 8


def ended_and_open(number: int) -> list[Part]:
    """So many parts that ended, then so many others that did not."""
    opened = [part(incident(), subjects=(Subject("task", f"sink-{at}"),)) for at in range(2 * number)]
    ended = [part(incident(), subjects=one.subjects, resolved_at_ms=7) for one in opened[:number]]
    return [*ended, *opened[number:]]


def cost_s(parts: list[Part]) -> float:
    """Of three runs the least."""
    least_s = float("inf")
    for _ in range(3):
        began_s = time.process_time()
        rows = contents(parts, 1, lambda *_: "id")
        least_s = min(least_s, time.process_time() - began_s)
    assert len(rows.parts) == len(parts)
    assert len(rows.part_ends) == len(parts) // 2
    return least_s


def test_many_parts_cost_no_more_each_than_few() -> None:
    few, many = ended_and_open(FEW), ended_and_open(FEW * TIMES)
    assert cost_s(many) < 3 * TIMES * cost_s(few)
