"""What the decoding benchmark compares and counts; it is never timed here."""

from dataclasses import replace

import pytest

from lab.bench.decoding import record_in_state, way
from lab.bench.decoding.compared import CASES, KEY, NOTHING_REMEMBERED, Case, compare
from lab.bench.decoding.floor import rebuilder
from lab.bench.decoding.records import connect
from lab.bench.decoding.report import Figures, report
from lab.bench.decoding.steps import steps
from lab.errors import LabError
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row

COUNTED = {"all": 100, "calls": 1, "slices": 2, "sums": 3, "fields filled": 4}
FIGURES = Figures(
    name="a record",
    bytes=10,
    kafka_python_us=30.0,
    kafka_python_on_bytes_us=29.0,
    ours_us=15.0,
    ratio=2.0,
    ours_remembering_us=5.0,
    ratio_remembering=6.0,
    floor_us=4.0,
    aim=3.0,
    steps={"kafka": COUNTED, "ours": COUNTED, "floor": COUNTED},
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_sides_read_the_same(case: Case) -> None:
    compare(case, case.make(3))


def test_a_difference_stops_the_benchmark() -> None:
    wrong = replace(CASES[1], ours=lambda value, blobs: CASES[1].ours(connect(4), blobs))
    with pytest.raises(LabError, match="different values"):
        compare(wrong, connect(3))


def test_the_floor_is_the_decoded_value() -> None:
    row = CASES[1].ours(connect(3), NOTHING_REMEMBERED)
    assert isinstance(row, Row)
    assert isinstance(row.body, GroupGeneration)
    rebuild = rebuilder(row.body)
    assert rebuild() == row.body
    assert rebuild() is not rebuild()


def test_steps_are_counted_the_same_each_time() -> None:
    def one(value: bytes) -> int:
        return value[0] + value[1]

    counted = steps(one, b"ab")
    assert counted == steps(one, b"ab")
    assert (counted["slices"], counted["sums"], counted["calls"]) == (2, 1, 0)


def test_a_missed_aim_is_said_with_what_it_would_take() -> None:
    missed = report([FIGURES], [], records=1, rounds=1)
    assert "3.0 (missed)" in missed
    assert "would leave about 67 steps at our price instead of 100" in missed
    assert "missed" not in report([replace(FIGURES, ratio=3.5)], [], records=1, rounds=1)


def test_the_whole_way_has_three_steps() -> None:
    figures = way.whole_way(KEY, connect, records=2, rounds=1)
    assert list(figures) == list(way.STEPS)
    assert "| a record |" in way.table({"a record": figures})[-1]


def test_a_record_in_a_state_is_written_and_read() -> None:
    figures = record_in_state.record_in_state(KEY, connect, rounds=1)
    assert list(figures) == list(record_in_state.STEPS)
    assert "| a record |" in record_in_state.table({"a record": figures})[-1]
