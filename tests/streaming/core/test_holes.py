"""Generations that left no record: the time between two records that were read proves nothing about them."""

import random
from collections.abc import Iterable

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Certainty, Result, Severity
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, Replayed, decode, replay
from tests.profile import LONG
from tests.streaming.core.rules.builders import Story, incidents
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS, calm, departure
from tests.streaming.core.rules.cases_status import owners
from tests.streaming.core.rules.edits import everyone
from tests.vector_files import CAPTURES

NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())


def harmful(told: Replayed) -> set[tuple[str, str]]:
    """Code and each subject of every incident above info: how findings are grouped may change with a record."""
    incidents_ = [one for one in told.objects if one["kind"] == "violation" and one["severity"] != "info"]
    return {(one["code"], str(subject)) for one in incidents_ for subject in one["subjects"]}


def recorded(known: ClusterSettings, records: list[RawRecord]) -> list[int]:
    """The places of the group's own records."""
    rows = ((at, decode(record, known)) for at, record in enumerate(records))
    return [at for at, row in rows if row is not None and isinstance(row.body, GroupGeneration)]


@pytest.mark.parametrize("name", NAMES)
def test_neighbouring_records_left_out_accuse_nobody(name: str) -> None:
    """One to three records left out at every place: no incident above info that the whole capture does not have."""
    known = settings_of(CAPTURES / name)
    records = list(records_of(CAPTURES / name))
    own = recorded(known, records)
    holes = [own[at : at + count] for count in (1, 2, 3) for at in range(len(own) - count + 1)]
    chosen = holes if LONG else random.Random(name).sample(holes, min(len(holes), 5))
    whole = harmful(replay(records, known))
    for hole in chosen:
        rest = [record for at, record in enumerate(records) if at not in hole]
        assert harmful(replay(rest, known)) <= whole, hole


def live(story: Story) -> list[Result]:
    """As a monitor tells it that was down while some records came: every record is read with the time of its own."""
    group = story.followed()
    for row in story.rows:
        group.fold([row], max(row.timestamp_ms, story.rows[0].timestamp_ms))
    return group.results


def above_info(results: Iterable[Result]) -> set[str]:
    return {one.code for one in incidents(results) if one.severity is not Severity.INFO}


def test_a_delay_may_have_been_resolved_by_a_generation_that_left_no_record() -> None:
    story = departure()
    story.rebalance(recorded=False, after_ms=DELAY_MS + 50)
    story.rebalance(after_ms=20 * MINUTE_MS)
    assert not above_info(live(story))
    assert not above_info(story.fold())


def test_a_job_that_waits_at_both_ends_of_a_hole_is_at_most_possibly_forgotten() -> None:
    """And it is certain once the next records show it again, without a hole."""
    story = calm()
    story.configure("c2", 1)
    nothing = everyone(connectors=(), tasks=())
    story.rebalance(nothing)
    story.skip(1)
    story.rebalance(nothing, after_ms=20 * MINUTE_MS)
    told = incidents(live(story), "CONNECT-K5")
    assert {(one.severity, one.certainty) for one in told} == {(Severity.INFO, Certainty.POSSIBLE)}
    story.rebalance(nothing, after_ms=20 * MINUTE_MS)
    told = incidents(live(story), "CONNECT-K5")
    assert (told[-1].severity, told[-1].certainty) == (Severity.HIGH, Certainty.CERTAIN)


def test_a_task_may_have_been_moved_meanwhile() -> None:
    story = owners()
    for name in sorted(story.workers["w2"].holds()):
        story.status(name, "RUNNING", "w2")
    story.skip(2)
    story.rebalance(after_ms=5 * MINUTE_MS)
    assert "CONNECT-K4" not in above_info(live(story))
    assert "CONNECT-K4" in above_info(story.until(2 * MINUTE_MS).fold())  # and has not been taken up since


def test_what_was_taken_up_in_a_generation_without_a_record_has_been_taken_up() -> None:
    """And its worker stops it for a rebalance that lasts, long after its former owner has."""
    story = owners()
    for name, worker in story.workers.items():
        for job in sorted(worker.holds()):
            story.status(job, "RUNNING", name)
    moved = sorted(story.workers["w2"].holds())
    story.wait(MINUTE_MS)
    for job in moved:
        story.status(job, "UNASSIGNED", "w2")
    story.leave("w2")
    story.rebalance(recorded=False)
    for job in moved:
        story.status(job, "RUNNING", "w1")
    story.rebalance()
    story.wait(MINUTE_MS)
    for job in moved:
        story.status(job, "UNASSIGNED", "w1")
    story.join("w3")
    story.rebalance(after_ms=MINUTE_MS // 2)
    assert "CONNECT-K4" not in above_info(story.fold())
