"""Lives of Connect groups that Kafka's own workers wrote: no leader is accused, however the records come."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rebalance_monitor.streaming.core.connect.reasons import other_release
from rebalance_monitor.streaming.core.lifecycles import route
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Result, Severity
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.replay import RawRecord, decode
from tests.streaming.core.rules.builders import CONFIGS, GROUP, Story, generations
from tests.streaming.core.rules.edits import drop, revoke, spare
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import VECTORS, json_lines

Life = Mapping[str, Any]
LIVES = list(json_lines(VECTORS / "connect/worker-lives.jsonl.gz"))


def lives(name: str) -> list[Life]:
    return [life for life in LIVES if life["life"] == name]


NO_DELAY = lives("an old release brings tasks back and holds no delay")
COMPACTED = lives("a leader starts on a compacted config topic")
UPGRADED = lives("a leader of an older release brings tasks back")
AROUND_A_GAP = lives("an old release brings tasks back around a generation without a record")


def name_of(life: Life) -> str:
    return f"{life['life']}, {' and '.join(life['releases'])}"


def settings_of(life: Life) -> ConnectSettings:
    return ConnectSettings(config_topic=CONFIGS, **life["told"])


def judged(life: Life, known: ConnectSettings, size: int) -> list[Result]:
    """What the fold says of the life in batches of so many records, each a moment after its last one."""
    settings = ClusterSettings(name="c", connect={GROUP: known})
    group = FoldedGroup(settings, GROUP)
    rows = [row for one in life["records"] if (row := _row(one, settings)) is not None]
    for at in range(0, len(rows), size):
        batch = rows[at : at + size]
        group.fold(route(batch, settings)[GROUP], batch[-1].timestamp_ms + 50)
    return group.results


def _row(written: list[Any], settings: ClusterSettings) -> Row | None:
    topic, partition, offset, at_ms, key, value = written
    record = RawRecord(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp_ms=at_ms,
        key=b64decode(key),
        value=None if value is None else b64decode(value),
    )
    return decode(record, settings)


def grades(results: list[Result]) -> list[Grade]:
    return [one.verdict.grade for one in results if isinstance(one, Generation) and one.members]


@pytest.mark.parametrize("size", [1, 5, 1_000])
@pytest.mark.parametrize("life", LIVES, ids=name_of)
def test_kafkas_workers_are_not_accused(life: Life, size: int) -> None:
    results = judged(life, settings_of(life), size)
    found = grades(results)
    assert Grade.UNEXPLAINED not in found
    assert found.count(Grade.MATCH) >= len(found) // 3
    loud = {one.code for one in results if isinstance(one, Incident) and one.severity is not Severity.INFO}
    assert loud == set(life["found"])


@pytest.mark.parametrize("life", NO_DELAY, ids=name_of)
def test_a_known_delay_excuses_no_task_that_lies(life: Life) -> None:
    """The same records, where the configuration says that the leader holds a delay."""
    assert Grade.UNEXPLAINED in grades(judged(life, replace(settings_of(life), max_delay_ms=300_000), 1))


@pytest.mark.parametrize(
    ("life", "release"),
    [*((life, "3.6.0") for life in COMPACTED), *((life, "3.9.1") for life in (*UPGRADED, *AROUND_A_GAP))],
    ids=lambda one: one if isinstance(one, str) else name_of(one),
)
def test_a_release_whose_workers_do_not_do_that_is_not_the_leaders(life: Life, release: str) -> None:
    results = judged(life, replace(settings_of(life), release=release), 1)
    reasons = {one.verdict.reason for one in results if isinstance(one, Generation)}
    assert other_release(release) in reasons


@pytest.mark.parametrize("release", ["2.3.1", "2.4.1", "2.5.1", "3.2.3", "3.3.2", "3.5.0", "4.3.0"])
@pytest.mark.parametrize("life", LIVES, ids=name_of)
def test_a_release_that_is_not_the_leaders_accuses_nobody(life: Life, release: str) -> None:
    """Workers are upgraded, and the configuration of the monitor is not."""
    assert Grade.UNEXPLAINED not in grades(judged(life, replace(settings_of(life), release=release), 1_000))


@pytest.mark.parametrize("life", COMPACTED, ids=name_of)
def test_tasks_without_a_worker_are_reported_whoever_explains_them(life: Life) -> None:
    assert "CONNECT-I4" in {one.code for one in judged(life, settings_of(life), 1) if isinstance(one, Incident)}


def test_a_connector_whose_tasks_were_committed_since_has_them() -> None:
    """Another one is configured anew: compaction may hide its tasks, and no others."""
    story = Story.begun({"c1": 2, "c2": 2}, "w1", "w2", rebalances=2)
    story.configure("c2")
    story.leave("w2")
    story.rebalance()
    story.configure("c3", 2)
    story.rebalance(drop("w1", "c3-0"))
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED


def deleted_in_a_failed_generation(*missed: str) -> Story:
    """Three workers share `c1` and `c2`; `c2` is deleted, and `w1`, who leads and has not read that, answers with the
    error. `missed` never see it."""
    story = Story.begun({"c1": 3, "c2": 3}, "w1", "w2", "w3", rebalances=2)
    story.workers["w1"].reads_until = len(story.snapshots) - 1
    story.delete("c2")
    story.rebalance(fresh=False, missed=missed)
    story.workers["w1"].reads_until = None
    return story


def held_of_c2(story: Story) -> dict[str, set[str]]:
    return {name: {one for one in worker.holds() if one.startswith("c2")} for name, worker in story.workers.items()}


def test_a_leader_that_misses_its_failed_answer_knows_what_was_deleted() -> None:
    story = deleted_in_a_failed_generation("w1")
    story.rebalance()
    assert not any(held_of_c2(story).values())
    assert {one.verdict.grade for one in generations(story.fold())} == {Grade.MATCH}


def test_one_that_leaves_one_of_them_where_it_is_forgets_it() -> None:
    story = deleted_in_a_failed_generation("w1")
    name, jobs = next((name, jobs) for name, jobs in held_of_c2(story).items() if jobs)
    story.rebalance(spare(name, min(jobs)))
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED


@pytest.mark.parametrize("missed", ["w2", "w3"])
def test_a_leader_that_has_its_failed_answer_does_not_know(missed: str) -> None:
    """Whoever else misses it: what it revokes as if it knew is explained by nothing."""
    story = deleted_in_a_failed_generation(missed)
    name, jobs = next((name, jobs) for name, jobs in held_of_c2(story).items() if jobs)
    story.rebalance(revoke(name, min(jobs)))
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED
