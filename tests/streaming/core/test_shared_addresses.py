"""Workers whose addresses do not tell them apart: MirrorMaker's dedicated mode, or several that advertise the same."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import Story, generations, incidents
from tests.streaming.core.rules.cases_across import MINUTE_MS
from tests.streaming.core.rules.cases_record import settled
from tests.streaming.core.rules.edits import both, drop, give
from tests.streaming.core.rules.test_no_alarm import LIVES, Fate, alarms

SHARED = ["NOTUSED", "http://localhost:8083/"]


class Alike(Story):
    """A group in which every worker advertises the same."""

    url = SHARED[0]

    def join(self, *names: str, static: object = ()) -> None:
        super().join(*names)
        for name in names:
            self.workers[name].advertises = self.url


def alike(url: str, max_delay_ms: int = 300_000) -> Story:
    story = Alike(max_delay_ms=max_delay_ms)
    story.url = url
    return story


@pytest.mark.parametrize("url", SHARED)
def test_another_leader_is_not_taken_for_the_one_before(url: str) -> None:
    """It has a memory of its own: it hands out at once what the one before would have held back for its delay."""
    story = alike(url)
    story.configure("c1", 6)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.rebalance()
    for name in ("w1", "w2", "w3"):
        story.leave(name)
        story.rebalance(after_ms=MINUTE_MS)
        story.join(name)
        for _ in range(3):
            story.rebalance()
    results = story.fold()
    assert {one.verdict.grade for one in generations(results)} == {Grade.MATCH}
    assert "CONNECT-I13" not in {one.code for one in incidents(results)}


@pytest.mark.parametrize("url", SHARED)
def test_who_leaves_and_what_moves_is_seen(url: str) -> None:
    story = alike(url)
    story.configure("c1", 6)
    story.join("w1", "w2", "w3")
    story.rebalance()
    gone = story.leave("w2")
    story.rebalance()
    last = generations(story.fold())[-1]
    assert [(one.kind, [subject.id for subject in one.subjects]) for one in last.cause] == [
        ("worker_left", [gone.member_id])  # one second after a join phase with it
    ]
    assert set(last.diff[gone.member_id].lost) == gone.holds()


@pytest.mark.parametrize("url", SHARED)
def test_an_uneven_load_is_seen(url: str) -> None:
    story = alike(url)
    story.configure("c1", 4)
    settled(story).join("w1", "w2")
    story.rebalance(both(drop("w2", "c1-1"), give("w1", "c1-1")))
    (found,) = [one for one in incidents(story.fold()) if one.code == "CONNECT-I8"]
    assert {subject.type for subject in found.subjects} == {"member"}
    assert len(found.subjects) == 2


def a_report_lacks_a_job(story: Story) -> None:
    worker = story.workers["w2"]
    worker.held = Jobs(worker.held.connectors, worker.held.tasks[1:])
    story.rebalance()


def one_reads_nothing(story: Story) -> None:
    story.workers["w2"].reads_until = len(story.snapshots) - 1
    for number in range(4):
        story.configure(f"more{number}", 1)
        story.rebalance()


def one_comes_back(story: Story) -> None:
    gone = story.leave("w2")
    story.rebalance()
    story.back(gone)
    story.rebalance()


def one_job_on_two(story: Story) -> None:
    held = sorted(name for name in story.workers["w2"].holds() if "-" in name)
    story.rebalance(give("w1", held[0]))


@pytest.mark.parametrize("url", SHARED)
@pytest.mark.parametrize(
    ("fault", "code", "ids"),
    [
        (a_report_lacks_a_job, "CONNECT-K1", ["w2"]),
        (one_reads_nothing, "CONNECT-K11", ["w2"]),
        (one_comes_back, "CONNECT-K16", ["w2"]),
        (one_job_on_two, "CONNECT-I1", ["w1", "w2"]),
    ],
)
def test_a_finding_names_the_member_it_is_about(
    url: str, fault: Callable[[Story], None], code: str, ids: list[str]
) -> None:
    story = alike(url)
    story.configure("c1", 6)
    story.join("w1", "w2")
    story.rebalance()
    story.rebalance()
    fault(story)
    found = [one for one in incidents(story.fold(), code) if one.transition == "opened"]
    named = {subject.id for one in found for subject in one.subjects if subject.type == "member"}
    assert named == {story.workers[name].member_id for name in ids}
    assert not [subject for one in found for subject in one.subjects if subject.type == "worker"]
    assert all(url not in one.message and "localhost" not in one.message for one in found)


def test_who_is_no_longer_alone_under_an_address_has_not_left() -> None:
    story = Story.begun({"c1": 2}, "w1")
    story.join("w2")
    story.workers["w2"].advertises = story.workers["w1"].url
    story.rebalance()
    kinds = {cause.kind: [one.id for one in cause.subjects] for cause in generations(story.fold())[-1].cause}
    assert "worker_left" not in kinds
    assert kinds["worker_joined"] == [story.workers["w2"].member_id]


@pytest.mark.parametrize("url", SHARED)
@settings(max_examples=LIVES)
@given(seed=st.integers(0, 2**32), max_delay_ms=st.sampled_from([0, 1, 1_000, 300_000]))
def test_a_right_leader_raises_no_alarm(url: str, seed: int, max_delay_ms: int) -> None:
    story = alike(url, max_delay_ms)
    Fate(story, seed).live(20)
    assert not alarms(story)
