"""Two Connect clusters in one group id, and a monitor that is told the wrong topic: nobody is accused by a topic that
is not his own, and the reason names who is foreign and what to compare."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from rebalance_monitor.assignors.connect.model import ConnectRound, Jobs
from rebalance_monitor.streaming.core.connect.topics import ConfigChange
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Result, Severity
from tests.streaming.core.rules.builders import CONFIGS, Story, generations, incidents
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS, calm, departure
from tests.streaming.core.rules.edits import give
from tests.streaming.core.rules.processes import Worker

BY_CONFIG = {
    "CONNECT-I4", "CONNECT-I5", "CONNECT-I8", "CONNECT-I13", "CONNECT-K5", "CONNECT-K6", "CONNECT-K7", "CONNECT-K12",
    "CONNECT-K15",
}  # fmt: skip


class Shared(Story):
    """A group that workers of two clusters join: those called x… read a topic that the monitor does not."""

    def __init__(self, theirs: dict[str, int], *, records: int, protocol: str = "sessioned") -> None:
        super().__init__(protocol)
        self.mine = self.snapshots
        self.other: list[dict[str, int]] = [{}] * records + [theirs]

    @contextmanager
    def topic_of(self, name: str) -> Iterator[None]:
        before = self.snapshots
        self.snapshots = self.other if name.startswith("x") else self.mine
        yield
        self.snapshots = before

    def offset_of(self, worker: Worker) -> int:
        with self.topic_of(worker.name):
            return super().offset_of(worker)

    def round_of(self, fresh: bool = True, behind: bool = False) -> ConnectRound:
        with self.topic_of(self.leader or ""):
            return super().round_of(fresh, behind)


def shared(theirs_records: int, protocol: str = "sessioned") -> Shared:
    story = Shared({"payments": 3, "audit": 1}, records=theirs_records, protocol=protocol)
    story.configure("orders", 4)
    story.configure("stock", 2)
    return story


def by_config(results: list[Result]) -> set[str]:
    return {one.code for one in incidents(results) if one.severity is not Severity.INFO} & BY_CONFIG


def told(results: list[Result]) -> list[Generation]:
    """The last word on each generation."""
    return [one for one in generations(results) if one.verdict.pending_until_ms is None]


def grades(results: list[Result]) -> list[Grade]:
    return [one.verdict.grade for one in told(results)]


@pytest.mark.parametrize("protocol", ["sessioned", "compatible", "default"])
def test_a_leader_of_the_other_cluster_is_named_and_not_judged(protocol: str) -> None:
    story = shared(3, protocol)
    ours = len(story.snapshots) - 1
    story.other = [{}] * ours + story.other[-1:]
    story.join("w1", "w2", "x1")
    story.rebalance(leader="w1")
    story.rebalance()
    for _ in range(3):
        story.rebalance(leader="x1")
    story.rebalance(leader="w1")
    results = story.fold()
    assert grades(results)[:5] == [Grade.MATCH] * 2 + [Grade.NOT_JUDGED] * 3
    assert grades(results)[5] in (Grade.MATCH, Grade.EXPLAINABLE)
    for generation in told(results)[2:5]:
        reason = generation.verdict.why
        assert all(part in reason for part in ("foreign worker: x1:8083", "payments", CONFIGS, "config.storage.topic"))
        assert "clusters[]" not in reason
    assert not by_config(results)


def test_a_group_that_is_first_seen_under_the_other_clusters_leader() -> None:
    """Everything is handed out already, so the round itself gives nothing away but what lies about."""
    story = shared(0)
    story.other = [{}] * (len(story.snapshots) - 1) + story.other[-1:]
    story.join("x1", "w1")
    story.rebalance(leader="x1")
    first = len(story.rows)
    story.rebalance()
    story.rebalance()
    del story.rows[first - 1]
    results = story.fold()
    assert grades(results) == [Grade.NOT_JUDGED] * 2
    assert not by_config(results)


def test_a_worker_of_the_other_cluster_that_has_read_further() -> None:
    """Its offset is one that the watched topic never reaches: the leader answers with the error, over and over."""
    story = shared(57)
    story.join("w1", "w2")
    story.rebalance()
    story.rebalance()
    story.join("x1")
    for _ in range(4):
        story.rebalance(leader="w1")
    results = story.fold()
    assert grades(results) == [Grade.MATCH] * 2 + [Grade.NOT_JUDGED] * 4
    reason = told(results)[-1].verdict.why
    assert "only x1:8083 read further" in reason
    assert "config.storage.topic" in reason
    assert not by_config(results)
    said = {one.code: one.message for one in incidents(results) if one.severity is not Severity.INFO}
    assert "CONNECT-K11" in said
    assert "another Connect cluster" in said["CONNECT-K11"]


def test_a_worker_of_the_other_cluster_that_never_catches_up_is_said_once() -> None:
    story = shared(2)
    story.join("w1", "w2", "x1")
    for _ in range(6):
        story.rebalance(leader="w1")
    results = story.fold()
    assert set(grades(results)) == {Grade.MATCH}
    (opened,) = [one for one in incidents(results, "CONNECT-K11") if one.transition == "opened"]
    assert [subject.id for subject in opened.subjects] == ["x1:8083"]
    assert "another Connect cluster" in opened.message
    assert not by_config(results)


def test_a_monitor_that_is_told_the_wrong_topic_says_so() -> None:
    for records in (0, 3, 57):
        story = shared(records)
        if records == 0:
            story.other = [{}] * (len(story.snapshots) - 1) + story.other[-1:]
        story.join("x1", "x2", "x3")
        story.rebalance()
        story.rebalance()
        story.leave("x3")
        story.rebalance()
        story.rebalance(after_ms=DELAY_MS + 100)
        results = story.until(20 * MINUTE_MS).fold()
        assert set(grades(results)) == {Grade.NOT_JUDGED}
        reason = told(results)[0].verdict.why
        assert CONFIGS in reason
        assert "config_topic" in reason or "all workers have read further" in reason
        assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_a_topic_of_which_nothing_can_be_read_says_so() -> None:
    """It was deleted, it is called otherwise, or the monitor may not read it."""
    story = departure()
    story.rows = [row for row in story.rows if not isinstance(row.body, ConfigChange)]
    results = story.until(20 * MINUTE_MS).fold()
    assert set(grades(results)) == {Grade.NOT_JUDGED}
    assert "nothing of it has been read" in told(results)[0].verdict.why
    assert not by_config(results) - {"CONNECT-K6"}  # the delay itself has never ended, whoever was configured


def test_a_topic_made_anew_while_the_workers_remember_the_old_one() -> None:
    story = calm()
    rows = len(story.rows)
    story.rows = [replace(row, topic_id="first") if row.topic == CONFIGS else row for row in story.rows]
    before = story.snapshots
    story.snapshots = [{}]
    story.config("session-key", {"key": "a"}, {})
    story.rows[rows] = replace(story.rows[rows], topic_id="second")
    story.snapshots = before
    story.rebalance()
    story.rebalance()
    results = story.fold()
    assert grades(results)[-2:] == [Grade.NOT_JUDGED] * 2
    assert "was it made anew" in told(results)[-1].verdict.why
    assert not by_config(results)


def test_one_of_ours_is_never_taken_for_a_foreign_worker() -> None:
    """A process reads one topic all its life: what it hands out beyond that is its own mistake."""
    story = calm()
    story.rebalance(give("w1", "never-configured"))
    results = story.fold()
    assert grades(results)[-1] is Grade.UNEXPLAINED
    assert {one.severity for one in incidents(results, "CONNECT-I5")} == {Severity.CRITICAL}


def test_a_new_leader_that_hands_out_all_of_ours_and_more_is_none_either() -> None:
    story = Story()
    story.configure("c1", 2)
    story.join("w1", "w2")
    story.rebalance(give("w1", "never-configured"))
    assert grades(story.fold()) == [Grade.UNEXPLAINED]


def test_jobs_that_were_handed_out_unseen_do_not_wait_any_more() -> None:
    """The config records of that round never came; its own shares say who holds what."""
    story = departure()
    story.configure("c9", 1)
    held_back = [row for row in story.rows if row.topic == CONFIGS and row.timestamp_ms == story.now_ms]
    story.rebalance(after_ms=DELAY_MS + 100)
    story.rows = [row for row in story.rows if row not in held_back]
    results = story.until(20 * MINUTE_MS).fold()
    assert grades(results)[-1] is Grade.NOT_JUDGED
    assert not incidents(results, "CONNECT-K5")


@pytest.mark.parametrize("records", [1, 6, 40])
def test_clusters_that_take_turns_as_leaders_make_no_false_alarm(records: int) -> None:
    story = shared(records)
    story.join("w1", "x1", "w2", "x2")
    story.rebalance(leader="w1")
    story.rebalance(leader="x1")
    story.rebalance(leader="x1")
    story.leave("x1")
    story.rebalance(leader="w1")
    story.rebalance(leader="x2")
    story.join("x1")
    story.rebalance(leader="w2")
    story.rebalance(leader="w1", after_ms=DELAY_MS + 1_000)
    story.rebalance(leader="x2")
    results = story.until(MINUTE_MS).fold()
    assert Grade.UNEXPLAINED not in grades(results)
    assert not by_config(results) - {"CONNECT-K6"}


def test_the_reason_is_kept_across_batches_and_restarts() -> None:
    story = shared(3)
    story.other = [{}] * (len(story.snapshots) - 1) + story.other[-1:]
    story.join("w1", "x1")
    story.rebalance(leader="w1")
    story.rebalance(leader="x1")
    story.rebalance(leader="x1")
    group = story.followed()
    for row in story.rows:
        group.fold([row], row.timestamp_ms)
    assert not [one for one in incidents(group.results) if one.code in BY_CONFIG]
    assert [one.verdict.grade for one in generations(group.results)] == [
        Grade.MATCH,
        Grade.NOT_JUDGED,
        Grade.NOT_JUDGED,
    ]


@pytest.mark.parametrize("committed", [True, False], ids=["with tasks", "without a commit"])
def test_a_leader_that_has_not_read_of_a_deletion_is_not_foreign(committed: bool) -> None:
    """It was cut off while the connector was deleted and the others went on, then leads alone by what it had read."""
    story = Shared({}, records=0)
    story.configure("geo-2", 3 if committed else None)
    story.other = list(story.mine)
    story.join("w1", "x1")
    story.rebalance(leader="x1")
    cut_off = story.leave("x1")
    story.delete("geo-2")
    story.configure("mail", 1)
    for _ in range(3):
        story.rebalance()
    story.leave("w1")
    cut_off.held, cut_off.header = Jobs(), None
    story.back(cut_off)
    story.rebalance(leader="x1")
    story.rebalance(leader="x1", after_ms=DELAY_MS + 100)
    results = story.fold()
    assert not [one for one in told(results) if "foreign" in one.verdict.why]
    assert not by_config(results)
