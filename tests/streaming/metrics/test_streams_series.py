"""The series of Streams groups, on captures of real applications: roles, moves, and what is not known."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Generation, Result
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.core.streams.words import counted_tasks
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, generation
from tests.streaming.metrics.test_cardinality import NO_SAMPLE, World
from tests.vector_files import GROUP_CAPTURES

CLASSIC, KIP1071, PROBING = "streams-classic-4.3.1", "streams-kip1071-4.3.1", "streams-probing"

TASKS = "rebalance_monitor_streams_tasks"
MOVES = "rebalance_monitor_streams_moves_left"
MISSING = "rebalance_monitor_streams_missing_standbys"
NEXT = "rebalance_monitor_streams_next_probing_rebalance_timestamp_seconds"
SPREAD = "rebalance_monitor_streams_spread"


def folded(name: str) -> list[Result]:
    """All results, in their order, of a capture whose cluster is called as the other tests call theirs."""
    path, results = GROUP_CAPTURES / name, list[Result]()

    def fold(*given: Any, **more: Any) -> FoldOutcome:
        outcome = fold_group(*given, **more)
        results.extend(outcome.results)
        return outcome

    replay(records_of(path), replace(settings_of(path), name="c"), knowledge=knowledge_of(path), fold=fold)
    return results


@pytest.mark.parametrize("name", [CLASSIC, KIP1071, PROBING])
def test_each_generation_is_published_as_it_is(name: str) -> None:
    world, seen = World(), 0
    for result in folded(name):
        world.series.observe([result])
        if not isinstance(result, Generation) or result.streams is None:
            continue
        seen += 1
        group = {"group": result.group}
        threads = [thread for process in result.streams.processes for thread in process.threads]
        assert world.value(TASKS, **group, role="active") == sum(len(thread.active) for thread in threads)
        copies = sum(max(world.value(TASKS, **group, role=role), 0) for role in ("standby", "warm_up", "transient"))
        assert copies == sum(len(thread.standby) for thread in threads)
        known = world.value(TASKS, **group, role="warm_up") != NO_SAMPLE
        assert known == result.streams.roles_known
        assert world.value(TASKS, **group, role="withheld") == len(result.streams.withheld)
        progress = result.streams.progress
        assert world.value(MOVES, **group) == (NO_SAMPLE if progress is None else progress.moves_left)
        missing = result.streams.missing_standbys
        assert world.value(MISSING, **group) == (NO_SAMPLE if missing is None else missing)
        least, most = result.streams.balance.stateful
        assert world.value(SPREAD, **group, kind="stateful") == most - least
    assert seen


def test_what_is_known_of_an_application_is_told() -> None:
    """Without this the test above could hold for numbers that are never known."""
    told: dict[str, set[float]] = {name: set() for name in (MOVES, MISSING, NEXT)}
    world = World()
    for result in folded(PROBING):
        world.series.observe([result])
        for name, values in told.items():
            values.add(world.value(name, group=result.group) if isinstance(result, Generation) else NO_SAMPLE)
    assert max(told[MOVES]) > 0
    assert max(told[MISSING]) >= 0
    assert max(told[NEXT]) > 1_600_000_000


def test_nobody_left_means_no_task_anywhere() -> None:
    world = World()
    last = [one for one in folded(CLASSIC) if isinstance(one, Generation) and one.streams is not None][-1]
    world.series.observe([last])
    world.series.groups.stands(replace(world.standing(last.group, "Empty"), at_ms=last.at_ms + 1))
    assert world.value(TASKS, group=last.group, role="active") == 0
    assert world.value(NEXT, group=last.group) == 0
    assert world.value(MOVES, group=last.group) == 0


def test_other_groups_have_no_such_series() -> None:
    world = World()
    world.series.observe([generation(1, group="plain", protocol_type="consumer")])
    assert world.value(TASKS, group="plain", role="active") == NO_SAMPLE
    assert world.value(NEXT, group="plain") == NO_SAMPLE


@pytest.mark.postgres
def test_a_restart_publishes_the_same_numbers(store: PostgresStore) -> None:
    last = [one for one in folded(CLASSIC) if isinstance(one, Generation) and one.streams is not None][-1]
    store.commit(commit(store.claim(), 0, 10, last))
    counts = counted_tasks(as_object(last)["streams"])
    assert store.latest_tasks() == {(last.cluster, last.group): counts}
    exporter = Exporter(0, clusters=[last.cluster])
    try:
        exporter.restore(store)
        assert f'{TASKS}{{cluster="{last.cluster}",group="{last.group}",role="active"}} {counts.roles["active"]}.0' in (
            exporter.scrape().decode()
        )
    finally:
        exporter.stop()
