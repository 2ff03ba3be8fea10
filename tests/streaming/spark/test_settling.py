"""Many records that waited go on at once: batch by batch, each bounded, and to the same end."""

from dataclasses import replace
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.model.results import Generation, JobState, Result
from rebalance_monitor.streaming.core.ports import GroupKey
from rebalance_monitor.streaming.spark.settling import AT_ONCE_MS, Turns
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.spark.memory_store import AT_ONCE, MemoryStore
from tests.streaming.spark.test_batch import Run, batch, batch_function, final
from tests.streaming.spark.test_waiting_batches import RECORDS, long_wait, ranges, read_in_batches

MOST = 100


class Bounded(Run):
    """A job whose batches settle few waiting records beyond the first ones."""

    def __init__(self, story: Story, store: MemoryStore) -> None:
        super().__init__(story.settings, store)
        self.function = batch_function(
            store, story.settings, on_results=self.reports.append, publish=self.controls.append, most_settled=MOST
        )


def waiting() -> tuple[Story, Bounded, GroupKey]:
    """A job that has just read the config topic for which all records of its group waited."""
    told, records, configs = long_wait()
    run = Bounded(told, MemoryStore())
    read_in_batches(run, records)
    run.function(batch(configs, ranges(configs), told.now_ms), RECORDS)
    return told, run, GroupKey(told.settings.name, GROUP)


def lasting(run: Run) -> dict[object, Result]:
    """The last word on everything. Connectors and tasks are told of at the end of a batch, and again where something
    but the generation is new."""
    jobs = {one.job: replace(one, generation=0) for one in run.results if isinstance(one, JobState)}
    return {key: one for key, one in final(run.results).items() if not isinstance(one, JobState)} | jobs


def test_one_batch_settles_no_more_than_it_may_and_the_next_ones_the_rest() -> None:
    told, run, key = waiting()
    left = [len(run.store.waiting_rows[key])]
    assert left[0] > 0
    while run.store.waiting_rows[key]:
        assert run.controls[-1].due_ms is not None
        assert run.controls[-1].due_ms <= told.now_ms
        run.function(batch([], {}, told.now_ms), RECORDS + len(left))
        left.append(len(run.store.waiting_rows[key]))
    steps = [before - after for before, after in zip([RECORDS, *left], left, strict=False)]
    assert max(steps) <= MOST + AT_ONCE
    at_once = Run(told.settings)
    at_once.function(batch(told.rows, ranges(told.rows), told.now_ms), 0)
    at_once.function(batch([], {}, told.now_ms), 1)  # time goes on from the second batch with a tick on
    assert lasting(run) == lasting(at_once)
    assert run.store.states[key].state == at_once.store.states[key].state


def test_what_is_left_goes_on_without_a_tick_and_in_a_job_that_begins_anew() -> None:
    told, run, key = waiting()
    left = len(run.store.waiting_rows[key])
    run.function(batch([], {}, None), 2 * RECORDS)
    assert len(run.store.waiting_rows[key]) < left
    again = Bounded(told, run.store)
    while run.store.waiting_rows[key]:
        assert run.store.states[key].due_ms == AT_ONCE_MS
        again.function(batch([], {}, told.now_ms), len(run.store.commits))
    judged = [one for one in final(again.results).values() if isinstance(one, Generation)]
    assert {one.verdict.pending_until_ms for one in judged} == {None}


@given(st.integers(1, 9), st.integers(1, 40), st.data())
def test_each_group_gets_its_turn_before_any_gets_a_second(most: int, count: int, data: st.DataObject) -> None:
    """Whatever their order is each time."""
    turns, names = Turns(most), [f"group-{number}" for number in range(count)]
    had: list[str] = []
    for _ in range(ceil(count / most)):
        taken = turns.next(data.draw(st.permutations(names)))
        assert len(taken) == len(set(taken)) == min(most, count)
        had += taken
    assert set(had) == set(names)
