"""What is told as a range of a Streams application's next rebalance: what then came in captures of real clusters lies
in it, and so does what the leader gives by any end offsets.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.streams.application import RUNNING, AssignmentConfigs
from rebalance_monitor.assignors.streams.eras import ERAS
from rebalance_monitor.assignors.streams.tasks import TaskId, task_of
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.whatif import streams_range
from rebalance_monitor.streaming.stories.whatif.change import GroupChange, concerned
from rebalance_monitor.streaming.stories.whatif.streams import predict
from rebalance_monitor.streaming.stories.whatif.streams_history import (
    PlacedTasks,
    StreamsRound,
    StreamsSetting,
    round_of,
)
from rebalance_monitor.streaming.stories.whatif.streams_range import (
    MOST_TRIED,
    NextPlacement,
    StreamsRange,
    figures_of,
    holders_of,
    next_rebalance,
    placed_by,
    ways_of,
)
from tests.profile import size
from tests.vector_files import VECTORS

Document = dict[str, Any]
FIGURES = [one.name for one in fields(NextPlacement)]
CAPTURES = sorted((VECTORS / "captures-groups").glob("streams-*"))


def pairs() -> Iterator[tuple[Document, Document]]:
    """Generations of real applications of the classic protocol, each with the next one, where members came or went."""
    for folder in CAPTURES:
        source = capture_of(str(folder))
        for key in source.names():
            told = [one for one in source.generations(key) if "streams" in one and one["lifecycle"] == "classic"]
            for before, after in pairwise(told[::-1]):
                if after["generation"] == before["generation"] + 1 and members(before) != members(after):
                    yield before, after


def members(generation: Document) -> set[str]:
    return {one["member_id"] for one in generation["members"]}


def processes(generation: Document) -> dict[str, Document]:
    return {one["process_id"]: one for one in generation["streams"]["processes"]}


def whole_new(before: Document, after: Document) -> bool:
    """Whether each that came is a process of its own, without state: what a member that joins is taken for."""
    come = members(after) - members(before)
    new = [one for name, one in processes(after).items() if name not in processes(before)]
    return len(new) == len(come) and not any(one["offset_sums"] for one in new)


def outside(told: StreamsRange, came: NextPlacement) -> list[str]:
    return [name for name in FIGURES if not told.of(name)[0] <= getattr(came, name) <= told.of(name)[1]]


def test_what_then_came_lies_in_the_range() -> None:
    places, narrow = Counter[str](), 0
    for before, after in pairs():
        was, came = round_of(before, StreamsSetting()), round_of(after, StreamsSetting())
        if isinstance(was, str) or isinstance(came, str):
            places["not placed by lags"] += 1
            continue
        if not whole_new(before, after):
            places["came back, or more threads of a process"] += 1
            continue
        gone, joined = members(before) - members(after), len(members(after) - members(before))
        change = GroupChange(leave=tuple(gone), join=joined)
        told = next_rebalance(change, concerned(change, before), before)
        answer = came.answer(came.sums, came.ends, came.configs)
        assert isinstance(told, StreamsRange)
        assert answer is not None
        true = figures_of(was.recorded, came.recorded, came.sums, came.ends, came.threads, probing=answer[1])
        assert not outside(told, true), (before["group"], before["generation"], told, true)
        places["leave" if gone else "join"] += 1
        narrow += sum(told.of(name)[0] == told.of(name)[1] for name in FIGURES)
    assert (places["leave"], places["join"]) == (10, 7)
    assert places.total() == 54
    assert narrow > 40, "a range that holds anything tells nothing"


@st.composite
def rounds(draw: st.DrawFn) -> tuple[StreamsRound, dict[TaskId, str], dict[str, tuple[str, ...]]]:
    """A rebalance as a leader saw it, what runs where after it, and the processes that are left."""
    names = [str(UUID(int=draw(st.integers(0, 2**128 - 1)))) for _ in range(draw(st.integers(2, 4)))]
    names = sorted(set(names))
    tasks = tuple(task_of(f"0_{number}") for number in range(draw(st.integers(1, 4))))
    ends = {task: draw(st.sampled_from([0, 5, 100, 100_000])) for task in tasks if draw(st.booleans())}
    ran = {task: draw(st.sampled_from(names)) for task in tasks}
    sums = {
        name: {
            task: RUNNING if ran[task] == name else draw(st.integers(0, end))
            for task, end in ends.items()
            if ran[task] == name or draw(st.booleans())
        }
        for name in names
    }
    configs = AssignmentConfigs(
        num_standby_replicas=draw(st.integers(0, 2)),
        max_warmup_replicas=draw(st.integers(1, 3)),
        acceptable_recovery_lag=draw(st.sampled_from([0, 10, 10_000])),
    )
    seen = StreamsRound(
        at_ms=0, release=draw(st.sampled_from([one.since for one in ERAS])), tasks=tasks,
        threads={name: (f"m-{name}",) for name in names}, sums=sums, ends=ends, sampled=False, configs=configs,
        recorded=PlacedTasks(),
    )  # fmt: skip
    placed = seen.placed(sums, ends, configs)
    assert placed is not None
    left = names[draw(st.integers(0, len(names) - 1)) :]
    threads = {name: seen.threads[name] for name in left}
    running = {task: name for task, name in placed.active.items() if name in left and draw(st.booleans())}
    return replace(seen, recorded=placed), running, threads


@settings(max_examples=size(200, 5_000), deadline=None)
@given(rounds(), st.data())
def test_by_any_end_offsets_the_leaders_answer_lies_in_the_range(
    given_: tuple[StreamsRound, dict[TaskId, str], dict[str, tuple[str, ...]]], data: st.DataObject
) -> None:
    seen, running, threads = given_
    coming = replace(seen, threads=threads)
    ways, whole = ways_of(coming, running, 10 * MOST_TRIED)
    if not whole:
        return
    found = [placed_by(coming, running, way, seen.recorded) for way in ways]
    told = StreamsRange(tuple(one for one in found if one is not None), whole)
    ends, sums = dict(seen.ends), dict[str, dict[TaskId, int]]({name: {} for name in threads})
    for task in ends:
        known = max((own.get(task, 0) for own in seen.sums.values()), default=0)
        end = ends[task] = max(ends[task], known) + data.draw(st.sampled_from([0, 7, 20_000, 1_000_000]))
        for name in holders_of(coming, running, task):
            # It has copied all by now, or is as far as it was: copies that are behind keep their order.
            was = max(seen.sums.get(name, {}).get(task, 0), 0)
            sums[name][task] = data.draw(st.sampled_from([end, was]))
        if task in running:
            sums[running[task]][task] = RUNNING
    answer = coming.answer(sums, ends, coming.configs)
    assert answer is not None
    true = figures_of(seen.recorded, answer[0], sums, ends, threads, probing=answer[1])
    assert not outside(told, true), (told, true)


def newest(capture: str, group: str) -> Document:
    source = capture_of(str(VECTORS / "captures-groups" / capture))
    return next(one for one in source.generations((capture, group)) if one["members"])


def test_the_range_is_told_with_what_is_presumed(monkeypatch: pytest.MonkeyPatch) -> None:
    told = predict(GroupChange(join=1), newest("streams-probing", "slowly"))
    assert {one.name: (one.least, one.most) for one in told.ranges}["moved"] == (0, 3)
    assert told.ranges[0].text == "Active tasks that the next rebalance gives to another process: 0 to 3."
    assert told.ranges[-1].text == "Probing rebalances follow."
    assert not any("Not all ways" in one for one in told.unknown)
    monkeypatch.setattr(streams_range, "MOST_TRIED", 1)
    few = predict(GroupChange(join=1), newest("streams-probing", "slowly"))
    assert any("Not all ways" in one for one in few.unknown)


def test_of_an_application_that_is_not_placed_by_lags_no_range_is_told() -> None:
    told = predict(GroupChange(join=1), newest("streams-churn", "s13-4-sticky"))
    assert not told.ranges
    assert told.unknown[-1].startswith("No range of it can be told: its placement is not known to come from lags alone")


def test_of_the_last_process_that_leaves_no_range_is_told() -> None:
    latest = newest("streams-probing", "slowly")
    told = predict(GroupChange(leave=tuple(members(latest))), latest)
    assert not told.ranges
    assert told.unknown[-1] == "No range of it can be told: no thread is left."
