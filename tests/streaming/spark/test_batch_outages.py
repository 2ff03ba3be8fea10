"""A database that has gone back, as after a failover to a replica that lacks the last commits; an outage of an hour."""

from copy import deepcopy
from itertools import accumulate

import pytest

from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.ports import OutOfStep, Range
from tests.streaming.spark.test_batch import Place, Run, batch, capture, final, whole

HOUR_MS = 3_600_000
BATCH = 20


def test_what_a_replica_lacks_is_read_again_and_nothing_is_skipped() -> None:
    known, by_place = capture("zombie")
    run, number = Run(known), 0
    ends: dict[Place, int] = {place: 0 for place in by_place}

    def read_to(part: float) -> None:
        nonlocal number
        taken, ranges = [], {}
        for place, rows in by_place.items():
            end = rows[int(len(rows) * part) - 1].offset + 1 if len(rows) * part >= 1 else ends[place]
            if end > ends[place]:
                taken += [row for row in rows if ends[place] <= row.offset < end]
                ranges[place] = Range(ends[place], end)
        number += 1
        run.function(batch(taken, ranges, None), number)
        ends.update({place: span.end for place, span in ranges.items()})

    read_to(0.25)
    replica, ends_there = deepcopy(vars(run.store)), dict(ends)
    read_to(0.5)
    vars(run.store).update(replica)
    with pytest.raises(OutOfStep):
        read_to(0.75)
    assert vars(run.store)["stored"] == replica["stored"], "nothing is written above what is missing"
    run, ends = Run(known, run.store), ends_there  # the query starts again from the stored positions
    assert sorted(run.store.positions().values()) == sorted(end for end in ends.values() if end)
    read_to(1)
    run.function(batch([], {}, 10**15), number + 1)
    assert final(run.results) == final(whole("zombie").results)


def fired(name: str, read_until: float) -> set[tuple[str, str, int]]:
    """What people are notified of: rule, group and when it opened. The job reads batch by batch up to this part of the
    records, and all others at once, an hour after the last one was written."""
    known, by_place = capture(name)
    clocks = {place: accumulate((row.timestamp_ms for row in rows), max) for place, rows in by_place.items()}
    appended = [
        (at_ms, row) for place, some in by_place.items() for at_ms, row in zip(clocks[place], some, strict=True)
    ]
    rows = [row for _, row in sorted(appended, key=lambda one: one[0])]
    run, at, number = Run(known), dict.fromkeys(by_place, 0), 0
    live = int(len(rows) * read_until)
    batches = [*(rows[first : min(first + BATCH, live)] for first in range(0, live, BATCH)), rows[live:]]
    for some in filter(None, batches):
        ends = {(row.topic, row.partition): row.offset + 1 for row in some}
        caught_up_ms = some[-1].timestamp_ms if len(some) <= BATCH else None
        run.function(batch(some, {place: Range(at[place], end) for place, end in ends.items()}, caught_up_ms), number)
        at |= ends
        number += 1
    run.function(batch([], {}, rows[-1].timestamp_ms + HOUR_MS), number)
    incidents = (one for one in run.results if isinstance(one, Incident))
    return {(one.code, one.group, one.opened_at_ms) for one in incidents if one.transition == "fired"}


@pytest.mark.parametrize("name", ["zombie", "sessioned-4.3.1", "eager-2.8.2"])
def test_after_an_outage_of_an_hour_nothing_fires_that_an_uninterrupted_run_does_not_fire(name: str) -> None:
    assert fired(name, 0.5) == fired(name, 1)
