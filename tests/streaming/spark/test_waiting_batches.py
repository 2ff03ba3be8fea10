"""Records that wait through many batches: each is written once, published as pending once, and judged as ever."""

from collections import Counter
from collections.abc import Sequence

from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation, Grade
from rebalance_monitor.streaming.core.ports import GroupKey, Range
from rebalance_monitor.streaming.spark.group_states import GONE
from tests.streaming.core.rules.builders import CONFIGS, GROUP, OFFSETS, Story
from tests.streaming.spark.memory_store import AT_ONCE
from tests.streaming.spark.test_batch import Place, Run, batch, final

RECORDS, OF_A_BATCH = 2 * AT_ONCE + 20, 20
"""More records than are read at once, twice over."""


def long_wait() -> tuple[Story, list[Row], list[Row]]:
    """A group that rebalances again and again, its records, and its config topic, which comes late."""
    told = Story()
    told.join("w1", "w2")
    told.configure("c", 2)
    for _ in range(RECORDS):
        told.rebalance()
        told.wait(1_000)
    records = [row for row in told.rows if row.topic == OFFSETS]
    return told, records, [row for row in told.rows if row.topic == CONFIGS]


def ranges(rows: Sequence[Row]) -> dict[Place, Range]:
    places: dict[Place, list[int]] = {}
    for row in rows:
        places.setdefault((row.topic, row.partition), []).append(row.offset)
    return {place: Range(offsets[0], offsets[-1] + 1) for place, offsets in places.items()}


def read_in_batches(run: Run, rows: Sequence[Row]) -> None:
    """Reads rows in batches while the config topic is still to come; history, so nothing is late."""
    for number, start in enumerate(range(0, len(rows), OF_A_BATCH)):
        some = rows[start : start + OF_A_BATCH]
        run.function(batch(some, ranges(some), None), number)


def test_a_long_wait_changes_nothing_but_the_time() -> None:
    told, records, configs = long_wait()
    run, at_once = Run(told.settings), Run(told.settings)
    read_in_batches(run, records)
    key = GroupKey(told.settings.name, GROUP)
    assert len(run.store.waiting_rows[key]) == RECORDS
    for commit in (one for one in run.store.commits if one.ranges):
        assert len(commit.states[key].waiting) == OF_A_BATCH
    run.function(batch(configs, ranges(configs), told.now_ms), RECORDS)
    assert run.store.waiting_rows[key] == {}
    at_once.function(batch(told.rows, ranges(records) | ranges(configs), told.now_ms), 0)
    assert final(run.results) == final(at_once.results)
    grades = Counter(one.verdict.grade for one in final(run.results).values() if isinstance(one, Generation))
    assert grades[Grade.MATCH] == RECORDS
    pending = Counter(
        one.source for one in run.results if isinstance(one, Generation) and one.verdict.pending_until_ms is not None
    )
    assert set(pending.values()) == {1}
    assert len(pending) == RECORDS
    assert run.store.states[key].state == at_once.store.states[key].state


def test_what_is_written_of_a_waiting_group_does_not_grow_with_what_waits() -> None:
    told, records, _ = long_wait()
    run = Run(told.settings)
    read_in_batches(run, records)
    key = GroupKey(told.settings.name, GROUP)
    written = [
        len(commit.states[key].state) + sum(map(len, commit.states[key].waiting.values()))
        for commit in run.store.commits
        if commit.ranges
    ]
    assert max(written[1:]) < 1.1 * min(written[1:])


def test_a_waiting_row_that_is_gone_costs_its_own_verdict_alone() -> None:
    """Somebody deleted rows of the table: what they said is not known, and the batch goes on."""
    told, records, configs = long_wait()
    run = Run(told.settings)
    read_in_batches(run, records)
    key = GroupKey(told.settings.name, GROUP)
    for position in (400, 401, 500):
        del run.store.waiting_rows[key][position]
    run.function(batch(configs, ranges(configs), told.now_ms), RECORDS)
    assert run.store.waiting_rows[key] == {}
    judged = [one for one in final(run.results).values() if isinstance(one, Generation)]
    settled = {one.source.offset for one in judged if one.verdict.pending_until_ms is None}
    assert {400, 401, 500} & settled == set()
    assert run.reports[-1].fold_errors
    assert len(settled) > RECORDS - 3 * 300  # what was given together with a row that is gone is not judged either
    assert GONE == b""
