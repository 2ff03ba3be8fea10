"""Published results depend only on each partition's own order: interleavings and cuts of batches change nothing."""

from dataclasses import replace
from typing import assert_never

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import (
    Aftermath,
    GapRecord,
    Generation,
    Grade,
    GroupProgress,
    Incident,
    JobState,
    Part,
    RebalanceCost,
    Result,
    Standing,
    UndecodableRecord,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import CAPTURES


def rows_of(name: str) -> tuple[ClusterSettings, str, list[Row]]:
    path = CAPTURES / name
    known = settings_of(path)
    rows = [row for record in records_of(path) if (row := decode(record, known)) is not None]
    (group,) = known.connect
    return known, group, route(rows, known)[group]


def published(
    results: list[Result],
) -> tuple[dict[object, Result], dict[object, Incident | Part], dict[object, JobState]]:
    """The last word on every generation, incident and its parts, and job."""
    generations: dict[object, Result] = {}
    incidents: dict[object, Incident | Part] = {}
    jobs: dict[object, JobState] = {}
    for result in results:
        match result:
            case Generation():
                generations[result.source] = result
            case Aftermath():
                before = generations[result.source]
                assert isinstance(before, Generation)
                assert not before.settled
                generations[result.source] = result.completed(before)
            case Incident():
                incidents[result.incident_id] = result
            case JobState():
                jobs[result.job] = result
            case Part():
                incidents[result.incident_id, result.subjects, result.opened_at_ms] = result
            case Standing() | GroupProgress() | RebalanceCost() | UndecodableRecord() | GapRecord():
                pass
            case _:
                assert_never(result)
    return generations, incidents, jobs


def fold_in_batches(known: ClusterSettings, group: str, batches: list[list[Row]], last_ms: int) -> list[Result]:
    followed = FoldedGroup(known, group)
    for batch in batches:
        followed.fold(batch, 0)
    followed.fold(now_ms=last_ms, ends=True)
    return followed.results


@pytest.mark.parametrize("name", ["zombie", "steady"])
def test_any_interleaving_and_any_cut_give_the_same_results(name: str) -> None:
    known, group, rows = rows_of(name)
    last_ms = max(row.timestamp_ms for row in rows)
    whole = published(fold_in_batches(known, group, [rows], last_ms))
    partitions: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        partitions.setdefault((row.topic, row.partition), []).append(row)

    @settings(max_examples=12)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        left = {place: list(own) for place, own in partitions.items()}
        batches: list[list[Row]] = []
        while left:
            place = data.draw(st.sampled_from(sorted(left)))
            size = data.draw(st.integers(1, 40))
            batches.append(left[place][:size])
            left[place] = left[place][size:]
            if not left[place]:
                del left[place]
        assert published(fold_in_batches(known, group, batches, last_ms)) == whole

    check()


def test_one_record_per_batch_gives_the_same_results() -> None:
    known, group, rows = rows_of("zombie")
    last_ms = max(row.timestamp_ms for row in rows)
    # Workers' clocks differ: a record may carry an earlier time than the one before it in its partition.
    reached: dict[tuple[str, int], int] = {}
    timed = []
    for row in sorted(rows, key=lambda row: (row.topic, row.partition, row.offset)):
        place = (row.topic, row.partition)
        reached[place] = max(reached.get(place, 0), row.timestamp_ms)
        timed.append((reached[place], row.topic, row.partition, row.offset, row))
    ordered = [row for *_, row in sorted(timed, key=lambda one: one[:4])]
    whole = published(fold_in_batches(known, group, [rows], last_ms))
    assert published(fold_in_batches(known, group, [[row] for row in ordered], last_ms)) == whole


def test_a_row_folded_twice_changes_nothing() -> None:
    known, group, rows = rows_of("steady")
    first = fold_group(known, group, None, rows, Tick(0))
    again = fold_group(known, group, first.state, rows, Tick(0))
    assert again.state == first.state
    assert again.results == ()


def test_a_generation_ahead_of_its_config_waits_and_is_upgraded() -> None:
    known, group, rows = rows_of("steady")
    own = [row for row in rows if row.topic == "__consumer_offsets"]
    rest = [row for row in rows if row.topic != "__consumer_offsets"]
    early = fold_group(known, group, None, own, Tick(1_000))
    waiting = [one for one in early.results if isinstance(one, Generation) and one.verdict.pending_until_ms]
    assert waiting
    assert all(one.verdict.why.startswith("pending: ") for one in waiting)
    assert early.due_ms == 1_000 + known.judge_wait_ms
    late = fold_group(known, group, early.state, rest, Tick(2_000))
    upgraded = {one.source: one for one in late.results if isinstance(one, Generation)}
    assert {one.source for one in waiting} <= set(upgraded)
    assert all(one.verdict.grade is Grade.MATCH for one in upgraded.values())


def test_config_that_never_comes_is_not_judged_after_the_wait() -> None:
    known, group, rows = rows_of("steady")
    own = [row for row in rows if row.topic == "__consumer_offsets"]
    early = fold_group(known, group, None, own, Tick(1_000))
    late = fold_group(known, group, early.state, [], Tick(1_000 + known.judge_wait_ms))
    verdicts = [one.verdict for one in late.results if isinstance(one, Generation)]
    assert verdicts
    assert all(one.grade is Grade.NOT_JUDGED for one in verdicts)
    assert any(one.why.startswith("evidence missing: config topic") for one in verdicts)


def test_unknown_settings_are_explained_or_still_match() -> None:
    known, group, rows = rows_of("sessioned-4.3.1")
    blind = replace(known.connect[group], max_delay_ms=None, release=None, java_version=None)
    unsure = replace(known, connect={group: blind})
    results = fold_group(unsure, group, None, rows, Tick(0), end_of_input=True).results
    grades = {one.verdict.grade for one in results if isinstance(one, Generation)}
    assert grades <= {Grade.MATCH, Grade.EXPLAINABLE}


def test_a_recreated_topic_starts_anew_and_nothing_of_it_is_dropped() -> None:
    known, group, rows = rows_of("steady")
    first = [replace(row, topic_id="first") for row in rows]
    again = [replace(row, topic_id="second", timestamp_ms=row.timestamp_ms + 1) for row in rows]
    before = fold_group(known, group, None, first, Tick(0))
    after = fold_group(known, group, before.state, again, Tick(0))
    generations = [one for one in after.results if isinstance(one, Generation)]
    assert len(generations) == len([one for one in before.results if isinstance(one, Generation)])
    assert {one.incarnation for one in generations} == {1}
    assert all(one.verdict.grade is Grade.MATCH for one in generations)


def test_a_clock_that_runs_along_gives_the_same_results_as_one_reading() -> None:
    known, group, rows = rows_of("zombie")
    reached: dict[tuple[str, int], int] = {}
    arrivals = []
    for row in sorted(rows, key=lambda row: (row.topic, row.partition, row.offset)):
        place = (row.topic, row.partition)
        reached[place] = max(reached.get(place, 0), row.timestamp_ms)
        arrivals.append((reached[place] + 300 * row.partition, row.topic, row.partition, row.offset, row))
    arrivals.sort(key=lambda one: one[:4])
    last_ms = max(row.timestamp_ms for row in rows)
    followed, told = FoldedGroup(known, group), 0
    for now_ms in range(arrivals[0][0], arrivals[-1][0] + 1_000, 1_000):
        batch = [row for at_ms, *_, row in arrivals[told:] if at_ms < now_ms]
        told += len(batch)
        followed.fold(batch, now_ms)
    followed.fold(now_ms=last_ms, ends=True)
    assert told == len(rows)
    assert published(followed.results) == published(fold_in_batches(known, group, [rows], last_ms))
