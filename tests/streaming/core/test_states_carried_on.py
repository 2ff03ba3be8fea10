"""States that earlier releases stored go on in the present layout: the same incidents, nothing told twice."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.stored_states import present
from tests.streaming.carried.live import LONG_MS, VECTORS, Live, arrives_ms, final_grades, held, story, transitions

FILES = sorted((VECTORS / "states").glob("*-layout-[34]-*.json.gz"))
ONCE = ("opened", "fired", "resolved", "ended")
"""Steps that an incident takes once, unless it is told again after a pause."""


def carried(stored: dict[str, Any]) -> Saved:
    """The state as the job reads it from the database; since layout 4 the waiting records are beside it."""
    waiting = {int(at): text.encode("utf-8", "surrogatepass") for at, text in stored.get("waiting", {}).items()}
    state = present(stored["layout"], Saved(stored["state"].encode("utf-8", "surrogatepass"), waiting))
    assert state is not None
    return state


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.name.removesuffix(".json.gz"))
def stored(request: pytest.FixtureRequest) -> dict[str, Any]:
    path: Path = request.param
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


@pytest.fixture(scope="module")
def gone_on(stored: dict[str, Any]) -> Live:
    known, group, rows = story(stored["capture"])
    live = Live(known, group, carried(stored), stored["due_ms"], stored["now_ms"])
    return live.go_on(rows[stored["cut"] :]).until(arrives_ms(rows[-1]) + LONG_MS)


@pytest.mark.parametrize(("layout", "least_open"), [(3, 30), (4, 12)])
def test_the_files_hold_open_incidents_and_waiting_records(layout: int, least_open: int) -> None:
    """Before layout 4 each connector and task of one harm was an incident."""
    states = []
    for path in FILES:
        value = json.loads(gzip.decompress(path.read_bytes()))
        if value["layout"] == layout:
            states.append(Live(*story(value["capture"])[:2], carried(value)))
    assert len(states) == 10
    assert sum(len(held(live.value)) for live in states) >= least_open
    assert sum(len(live.state.waiting) for live in states if live.state is not None) >= 10


def test_open_incidents_end_as_the_release_before_ended_them(stored: dict[str, Any], gone_on: Live) -> None:
    """What is found later may be a part of them, which updates them; before, it was an incident of its own."""
    known = {one for one, _, _ in stored["after"]}
    steps = [list(one) for one in transitions(gone_on.results) if one[0] in known and one[2] != "updated"]
    assert sorted(steps) == sorted(one for one in stored["after"] if one[2] != "updated")


def test_nothing_is_told_twice(stored: dict[str, Any], gone_on: Live) -> None:
    steps = Counter(map(tuple, [*stored["before"], *transitions(gone_on.results)]))
    assert {step: times for step, times in steps.items() if times > 1 and step[2] in ONCE} == {}


def test_records_that_waited_are_judged_as_before(stored: dict[str, Any], gone_on: Live) -> None:
    grades = final_grades(gone_on.results)
    assert [[*at, grades.get((at[0], at[1]))] for *at, _ in stored["grades"]] == stored["grades"]
