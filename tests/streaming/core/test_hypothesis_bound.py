"""What happens when a leader's memory could be more things than are followed."""

from dataclasses import replace

import pytest

from rebalance_monitor.assignors.connect.model import Jobs, LeaderMemory
from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.connect import verdict
from rebalance_monitor.streaming.core.connect.leader import hypotheses
from rebalance_monitor.streaming.core.connect.leader.hypotheses import MAX_HYPOTHESES, Carried, Process
from rebalance_monitor.streaming.core.connect.leader.packed import LeaderHypothesis
from rebalance_monitor.streaming.core.connect.leader.rounds import Case
from rebalance_monitor.streaming.core.connect.observed import WorkerView
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.replay import replay
from tests.vector_files import CAPTURES

CAPTURE = CAPTURES / "steady"
SETTINGS = ConnectSettings(config_topic="steady-configs", release="4.3.1", max_delay_ms=10_000, java_version=17)


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch) -> Case:
    """A generation of a real cluster that is a match, without a delay and after the first."""
    seen: list[Case] = []
    judge = verdict.judge

    def noted(case: Case) -> verdict.Judgement:
        seen.append(case)
        return judge(case)

    monkeypatch.setattr(verdict, "judge", noted)
    replay(records_of(CAPTURE), ClusterSettings(name="steady", connect={"steady": SETTINGS}))
    monkeypatch.undo()
    return next(one for one in seen if one.last is not None and not one.observed.delay_ms)


def many(case: Case) -> tuple[LeaderHypothesis, ...]:
    """More minds than are followed, all of which give the observed answer: only the maximum delay tells them apart."""
    [known] = case.carried.hypotheses
    return tuple(replace(known, max_delay_ms=10_000 + number) for number in range(MAX_HYPOTHESES + 1))


def wrong(case: Case) -> tuple[LeaderHypothesis, ...]:
    """A mind that remembers a delay still running."""
    [known] = case.carried.hypotheses
    at_ms = case.observed.at_ms
    lost = Jobs(("gone",), tuple((name, 99) for name in case.history.state_at(10**9).connectors()))  # type: ignore[union-attr]
    memory = LeaderMemory(previous=lost, revoked_in_previous=True, scheduled_ms=at_ms + 9_000, delay_ms=9_000)
    return (replace(known, memory=replace(memory, previous_generation=known.memory.previous_generation)),)


def test_the_first_are_kept_and_the_process_is_marked(case: Case) -> None:
    judged = verdict.judge(replace(case, carried=Carried(many(case), complete=True)))
    assert judged.verdict.grade is Grade.MATCH
    assert len(judged.hypotheses) == MAX_HYPOTHESES
    assert judged.cut
    assert [one.max_delay_ms for one in judged.hypotheses] == [10_000 + number for number in range(MAX_HYPOTHESES)]


def test_below_the_bound_nothing_is_marked(case: Case) -> None:
    judged = verdict.judge(replace(case, carried=Carried(many(case)[:MAX_HYPOTHESES], complete=True)))
    assert len(judged.hypotheses) == MAX_HYPOTHESES
    assert not judged.cut


def test_the_mark_stays_while_the_carried_ones_answer_right(case: Case) -> None:
    judged = verdict.judge(replace(case, carried=Carried(case.carried.hypotheses, complete=True, cut=True)))
    assert judged.verdict.grade is Grade.MATCH
    assert judged.cut


@pytest.mark.parametrize("cut", [False, True])
def test_an_answer_of_a_mind_left_out_is_explained_by_the_bound(case: Case, cut: bool) -> None:
    judged = verdict.judge(replace(case, carried=Carried(wrong(case), complete=True, cut=cut)))
    assert judged.verdict.grade is (Grade.EXPLAINABLE if cut else Grade.UNEXPLAINED)
    assert (judged.verdict.reason == hypotheses.BOUND_EXCEEDED) is cut
    assert judged.hypotheses
    assert not judged.cut


def test_a_worker_that_may_have_led_brings_its_mark_and_its_memories(case: Case) -> None:
    view = WorkerView("new-id", "host:8083", 7, False, None, frozenset(), frozenset(), frozenset())
    process = Process.of("old-id", Carried(many(case)[:MAX_HYPOTHESES], complete=True))
    not_known = replace(SETTINGS, max_delay_ms=None)  # a configured maximum would leave one of these memories
    carried = hypotheses.carried_into(view, {"host:8083": process}, ("A5",), not_known, seen_from_start=True)
    assert carried.cut  # the empty memory of a new process comes on top
    assert len(carried.hypotheses) == MAX_HYPOTHESES
    assert carried.hypotheses[0].memory == LeaderMemory()
    again = hypotheses.carried_into(
        replace(view, member_id="old-id"),
        {"host:8083": replace(process, cut=True)},
        ("A5",),
        not_known,
        seen_from_start=True,
    )
    assert again.cut
