"""Folding on Spark's workers: real processes, a real shuffle, the same outcomes as in this process."""

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicHistory, TopicSample
from rebalance_monitor.streaming.core.connect.topics import connect_settings
from rebalance_monitor.streaming.core.lifecycles import route
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade
from rebalance_monitor.streaming.core.ports import Range
from rebalance_monitor.streaming.spark.folding import FoldHere, SpreadFold, Task, fold_here
from rebalance_monitor.streaming.spark.rows import RawRow
from tests.streaming.core.rules import consumers
from tests.streaming.guarding import poison as poison_module
from tests.streaming.guarding.poison import Poisoned
from tests.streaming.spark.lines import line_of, raw_of
from tests.streaming.spark.test_batch import Place, Run, capture, table

pytestmark = pytest.mark.integration
CAPTURES = ("zombie", "steady", "sessioned-4.3.1", "eager-2.8.2")
END = Tick(10**15)


def tasks_of(name: str, copies: int) -> list[Task]:
    """The groups of a capture, each several times under other names, with all rows of their topics."""
    known, by_place = capture(name)
    raw: dict[str, list[RawRow]] = {}
    for rows in by_place.values():
        for row in rows:
            groups = [row.group] if row.group is not None else list(route([row], known))
            for group in groups:
                raw.setdefault(group, []).append(raw_of(line_of("c", "id", row)))
    assert any(connect_settings(known, group).config_topic for group in raw)
    return [Task(group, None, tuple(rows)) for group, rows in sorted(raw.items())] * copies


def renamed(tasks: Sequence[Task]) -> list[Task]:
    return [task._replace(group=f"{number}:{task.group}") for number, task in enumerate(tasks)]


def worker_pids(spark: Any) -> set[int]:
    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"pid": [os.getpid()]})

    return {row.pid for row in spark.range(2).mapInArrow(tell, "pid bigint").collect()}


def test_workers_are_processes_of_their_own(spark: Any) -> None:
    assert os.getpid() not in worker_pids(spark)


@pytest.mark.parametrize("name", CAPTURES)
def test_the_same_rows_give_the_same_outcomes_here_and_there(spark: Any, name: str) -> None:
    known, _ = capture(name)
    spread = SpreadFold(spark)
    tasks = renamed(tasks_of(name, copies=6))
    first, expected = spread(known, tasks, Tick(1)), fold_here(known, tasks, Tick(1))
    assert first == expected
    assert any(one.outcome.results for one in first.values())
    # From the states that came back, and with no rows at all: what the timers do.
    later = [Task(task.group, first[task.group].outcome.state, ()) for task in tasks]
    assert spread(known, later, END) == fold_here(known, later, END)


def test_any_cut_of_batches_gives_the_same_commits(spark: Any) -> None:
    known, by_place = capture("zombie")
    here, there = Run(known), Run(known, spread=SpreadFold(spark))
    dice = random.Random(7)
    at: dict[Place, int] = dict.fromkeys(by_place, 0)
    number = 0
    while any(at[place] < len(rows) for place, rows in by_place.items()):
        taken: list[Row] = []
        ranges = {}
        for place, rows in by_place.items():
            part = rows[at[place] : at[place] + dice.randint(0, 40)]
            if part:
                ranges[place] = Range(rows[at[place] - 1].offset + 1 if at[place] else 0, part[-1].offset + 1)
            at[place] += len(part)
            taken.extend(part)
        for run in (here, there):
            run.function(table(taken, ranges, None), number)
        number += 1
    for run in (here, there):
        run.function(table([], {}, END.now_ms), number)
    assert there.store.commits == here.store.commits
    assert {report.spread for report in there.reports} == {True}
    assert {report.spread for report in here.reports} == {False}


def test_a_long_history_of_one_group_keeps_its_order(spark: Any) -> None:
    """Thousands of rows of one group cross the shuffle in several blocks."""
    known, by_place = capture("steady")
    group, rows = next(
        (rows[0].group, rows) for (topic, _), rows in by_place.items() if topic.startswith("__") and len(rows) > 3
    )
    assert group is not None
    raw = tuple(
        raw_of(line_of("c", "id", replace(row, offset=turn * len(rows) + number, group=group)))
        for turn in range(3_000 // len(rows))
        for number, row in enumerate(rows)
    )
    tasks = [Task(group, None, raw), Task("another", None, ())]
    assert SpreadFold(spark)(known, tasks, END) == fold_here(known, tasks, END)


def test_an_error_on_a_worker_costs_one_group(spark: Any) -> None:
    known, _ = capture("zombie")
    tasks = renamed(tasks_of("zombie", copies=3))
    poisoned = next(task.group for task in tasks if any(row.protocol_type == "connect" for row in task.rows))
    offsets = sorted(row.offset for row in dict((t.group, t.rows) for t in tasks)[poisoned])
    poison = Poisoned(set(offsets), group=poisoned)
    cloudpickle.register_pickle_by_value(poison_module)
    outcomes, expected = SpreadFold(spark, poison)(known, tasks, END), FoldHere(poison)(known, tasks, END)
    assert outcomes == expected
    assert {group for group, outcome in outcomes.items() if outcome.outcome.errors} == {poisoned}
    sound = fold_here(known, tasks, END)
    assert {group: sound[group] for group in sound if group != poisoned} == {
        group: outcomes[group] for group in outcomes if group != poisoned
    }
    assert any("internal error" in str(result) for result in outcomes[poisoned].outcome.results)


def test_what_is_known_of_topics_reaches_the_workers_and_changes_there(spark: Any) -> None:
    story = consumers.group("range", consumers.shares(m1="a-0 a-1", m2="a-2"))
    raw = tuple(raw_of(line_of("c", "id", row)) for row in story.rows)
    tasks = renamed([Task("g", None, raw)] * 4)
    tick, spread = Tick(story.now_ms + 100), SpreadFold(spark)
    seen: list[set[Grade]] = []
    for counts in ({"a": 3}, {"a": 3}, {"a": 4}):
        shown = {topic: ((1,),) * count for topic, count in counts.items()}
        # The second one is asked after the record: it shows that nothing has changed since the first.
        samples = (TopicSample(1, 2, shown), TopicSample(story.now_ms + 1, story.now_ms + 2, shown))
        knowledge = Knowledge(topics=reduce(TopicHistory.with_sample, samples, NO_SAMPLES))
        outcomes = spread(story.settings, tasks, tick, knowledge)
        assert outcomes == fold_here(story.settings, tasks, tick, knowledge)
        told = [result for one in outcomes.values() for result in one.outcome.results]
        seen.append({one.verdict.grade for one in told if isinstance(one, Generation)})
    assert seen == [{Grade.MATCH}, {Grade.MATCH}, {Grade.UNEXPLAINED}]
