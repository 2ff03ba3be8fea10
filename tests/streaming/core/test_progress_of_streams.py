"""Partitions that stand still and lag on one member, in Streams groups of both protocols: found by active tasks."""

import pytest

from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Certainty, GroupProgress, MemberLag, Severity
from rebalance_monitor.streaming.core.streams.state import read_by
from tests.streaming.core.rules.builders import Story, incidents
from tests.streaming.core.rules.cases_progress import EVERY_MS, LAGS, LONG_MS, STANDS, far, polled, steady, still
from tests.streaming.core.rules.streams import Thread, group, record
from tests.streaming.core.rules.streams_groups import StreamsGroupStory

WARM = 4
"""Samples in which everybody advances."""


def later_still(number: int) -> tuple[int, int]:
    """It advances for a while, then it does not."""
    return steady(number) if number < WARM else (steady(WARM)[0], steady(number)[1])


def classic() -> Story:
    return group((Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1", standby="0_0")))


def streams(*, sources: tuple[str, ...] = ("a",), stateful: bool = False) -> StreamsGroupStory:
    """Two threads of a KIP-1071 group; with state, each also has a copy of the other's task."""
    story = StreamsGroupStory().sampled(2)
    copies = ("0_1", "0_0") if stateful else ("", "")
    held = {"m1": f"0_0 / {copies[0]}", "m2": f"0_1 / {copies[1]}"}
    story.topology({"0": list(sources)}, stateful=("0",) if stateful else ())
    for name in held:
        story.thread(name)
    story.epoch(1)
    story.target(1, **held)
    for name, tasks in held.items():
        story.holds(name, 1, tasks)
    return story


def test_a_thread_whose_partition_stands_still_is_named() -> None:
    story = polled(classic(), {"t0-0": steady, "t0-1": later_still}, for_ms=LONG_MS + WARM * EVERY_MS)
    (opened, *_) = incidents(story.fold(), STANDS)
    assert [f"{one.type} {one.id}" for one in opened.subjects] == ["partition t0-1", "member b1"]
    assert (opened.severity, opened.certainty) == (Severity.MEDIUM, Certainty.LIKELY)
    assert opened.message.startswith("b1 holds t0-1: it stands at offset 140 since ")


def test_a_member_of_a_kip_1071_group_is_named_by_its_active_tasks() -> None:
    story = polled(streams(), {"a-0": steady, "a-1": still})
    (opened, *_) = incidents(story.fold(), STANDS)
    assert [f"{one.type} {one.id}" for one in opened.subjects] == ["partition a-1", "member m2"]
    assert opened.severity is Severity.MEDIUM, "a task without state has nothing to restore"


@pytest.mark.parametrize(
    ("story", "topic"), [(classic(), "t0"), (streams(stateful=True), "a")], ids=["classic", "kip-1071"]
)
def test_a_task_that_may_be_restoring_its_state_is_information_only(story: Story, topic: str) -> None:
    (opened, *_) = incidents(polled(story, {f"{topic}-0": steady, f"{topic}-1": still}).fold(), STANDS)
    assert (opened.severity, opened.certainty) == (Severity.INFO, Certainty.POSSIBLE)
    assert "may be restoring its state" in opened.message


def test_a_thread_that_was_given_a_task_anew_may_be_restoring_it() -> None:
    """The last owner committed a moment before: that the offset grew says nothing of the new one."""
    story = classic()
    record(story, Thread(id="a1", active="0_0"), Thread(id="c1", active="0_1"))
    (opened, *_) = incidents(polled(story, {"t0-0": steady, "t0-1": still}).fold(), STANDS)
    assert (opened.severity, opened.subjects[-1].id) == (Severity.INFO, "c1")


def test_a_thread_that_kept_its_tasks_over_a_probing_rebalance_is_not_restoring() -> None:
    """Nobody is restoring what he read before the last record and holds still."""
    threads = (Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1"))
    reading, gained_ms = None, []
    for moment_ms, story in ((5_000, group(threads)), (9_000, group(threads, threads))):
        body = story.rows[-1].body
        assert isinstance(body, GroupGeneration)
        reading = read_by(reading, body, (), moment_ms)
        assert reading is not None
        gained_ms.append(reading.holdings(None).taken_ms)
    assert gained_ms == [{"t0-0": 5_000, "t0-1": 5_000}] * 2


def test_a_process_that_took_the_place_of_a_static_one_restores_anew() -> None:
    story = group((Thread(id="a1", active="0_0", instance="i"),))
    body = story.rows[-1].body
    assert isinstance(body, GroupGeneration)
    before = read_by(None, body, (), 5_000)
    after = read_by(before, body, ("i",), 9_000)
    assert after is not None
    assert (after.holdings(None).taken_ms, after.since_ms) == ({"t0-0": 9_000}, 5_000)


def test_lag_on_one_thread_is_told() -> None:
    classic_one = polled(classic(), {"t0-0": steady, "t0-1": far}, for_ms=21 * EVERY_MS)
    assert incidents(classic_one.fold(), LAGS)[0].subjects[0].id == "b1"
    streams_one = polled(streams(), {"a-0": steady, "a-1": far}, for_ms=21 * EVERY_MS)
    assert incidents(streams_one.fold(), LAGS)[0].subjects[0].id == "m2"


def test_copies_read_changelogs_and_no_partition_of_the_group() -> None:
    story = polled(streams(stateful=True), {"a-0": steady, "a-1": steady}, for_ms=EVERY_MS)
    latest = [one for one in story.fold() if isinstance(one, GroupProgress)][-1]
    assert [(one.member, one.partitions) for one in latest.members] == [("m1", 1), ("m2", 1)]
    story = polled(classic(), {"t0-0": steady, "t0-1": steady}, for_ms=EVERY_MS)
    latest = [one for one in story.fold() if isinstance(one, GroupProgress)][-1]
    assert latest.members[0] == MemberLag(
        member="a1", partitions=1, advancing=1, caught_up=0, standing=0, unknown=0, lag=5
    )


def test_who_reads_the_topics_of_a_pattern_is_not_known() -> None:
    story = streams()
    story.topology({"0": ["a"]}, patterns=("a.*",))
    assert incidents(polled(story, {"a-0": steady, "a-1": still}).fold(), STANDS) == []
