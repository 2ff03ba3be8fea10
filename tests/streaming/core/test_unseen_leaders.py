"""Who may have led a round that was not seen, and what it can remember of it: what that excuses, and what not."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.connect.reasons import UNSEEN_REBALANCES
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from tests.streaming.core.rules.builders import Story, generations
from tests.streaming.core.rules.edits import everyone, share
from tests.streaming.core.rules.processes import Given

DELAY_MS = 60_000
RIGHT = {Grade.MATCH, Grade.EXPLAINABLE}


def calm() -> Story:
    """Three workers, one connector, all in balance; w1 leads."""
    story = Story(max_delay_ms=DELAY_MS)
    story.configure("c1", 5)
    story.join("w1", "w2", "w3")
    story.rebalance()
    story.rebalance()
    return story


def verdicts(story: Story) -> list[Verdict]:
    return [one.verdict for one in generations(story.fold()) if one.members]


def invented(given: Given) -> None:
    """A delay that nobody needs, as it would be right after a round that revoked for balance."""
    everyone(delay_ms=DELAY_MS)(given)


def test_a_hole_under_one_leader_makes_no_other_member_a_former_leader() -> None:
    story = calm()
    story.skip(1)
    story.rebalance()
    story.leave("w1")
    story.rebalance(invented, leader="w2")
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED


def test_who_was_a_member_all_the_time_and_does_not_lead_behind_the_hole_did_not_lead_in_it() -> None:
    story = calm()
    story.leave("w1")
    story.skip(1)
    story.rebalance(leader="w2")
    story.rebalance()
    story.leave("w2")
    story.rebalance(invented, leader="w3")
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED


def test_who_started_after_a_narrow_hole_has_led_nothing() -> None:
    story = calm()
    story.leave("w1")
    story.skip(1)
    story.rebalance(leader="w2")
    story.join("w4")
    story.rebalance()
    story.rebalance()
    for name in ("w2", "w3"):
        story.leave(name)
    story.rebalance(invented, leader="w4")
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED


def hidden_lead() -> Story:
    """w2 leads one round that left no record, revokes in it, and comes back under another member id."""
    story = calm()
    story.leave("w1")
    story.join("w4")
    story.rebalance(leader="w2", recorded=False)
    story.back(story.leave("w2"))
    story.leave("w4")
    story.rebalance(leader="w3")
    story.rebalance()
    story.leave("w3")
    return story


def test_who_may_have_led_in_the_hole_is_believed_to_remember_it() -> None:
    story = hidden_lead()
    given = story.rebalance(leader="w2")
    answer = share(given, "w2")
    assert verdicts(story)[-1].grade in RIGHT
    story = hidden_lead()
    story.rebalance(everyone(delay_ms=DELAY_MS if not answer.delay_ms else 0), leader="w2")
    assert verdicts(story)[-1].reason == UNSEEN_REBALANCES


def test_a_lead_that_moves_while_its_leader_stays_says_nothing_about_who_led() -> None:
    story = calm()
    story.rebalance(leader="w2")
    story.skip(1)
    story.rebalance()
    story.leave("w2")
    story.rebalance(invented, leader="w3")
    assert verdicts(story)[-1].reason == UNSEEN_REBALANCES


def test_rounds_before_an_empty_generation_may_be_missing() -> None:
    """The members of the record before may have led them, and be back after it."""
    story = calm()
    story.leave("w1")
    story.skip(1)
    left = story.workers["w2"]
    story.empty()
    story.join("w5")
    story.rebalance(leader="w5")
    story.back(left)
    story.rebalance()
    story.leave("w5")
    story.rebalance(invented, leader="w2")
    assert verdicts(story)[-1].grade in RIGHT


def test_after_a_round_that_was_seen_its_leader_knows_which_jobs_wait() -> None:
    """The delay began in a hole; the record behind it tells its end, and nobody may hand the jobs out before."""
    story = calm()
    story.leave("w3")
    story.rebalance(recorded=False)
    story.rebalance(after_ms=5_000)

    waiting = sorted(frozenset(("c1", number) for number in range(5)) - held(story))
    assert waiting
    story.configure("c2", 0)  # asks for the round, as the end of the delay would

    def early(given: Given) -> None:
        everyone(delay_ms=0)(given)
        given["w1"] = replace(share(given, "w1"), tasks=tuple(waiting))

    story.rebalance(early, after_ms=5_000)
    assert [one.grade for one in verdicts(story)[-2:]] == [Grade.EXPLAINABLE, Grade.UNEXPLAINED]


def held(story: Story) -> frozenset[tuple[str, int]]:
    return frozenset(task for worker in story.workers.values() for task in worker.held.tasks)


def test_who_has_completed_the_round_of_another_leader_takes_no_job_for_lost() -> None:
    """w2 may have led in the hole, but it has followed w3 since: what nobody holds is new to it, and is handed out."""
    story = hidden_lead()
    story.configure("c2", 2)

    def left_lying(given: Given) -> None:
        everyone(delay_ms=DELAY_MS, connectors=(), tasks=())(given)

    story.rebalance(left_lying, leader="w2")
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED


def test_who_comes_back_under_another_id_remembers_what_it_led_itself() -> None:
    """Its allocation names its earlier id as the leader: that was no other worker."""
    story = calm()
    story.leave("w2")
    story.rebalance(recorded=False)
    story.back(story.leave("w1"))
    story.rebalance()
    story.rebalance()
    assert {one.grade for one in verdicts(story)} <= RIGHT


@pytest.mark.parametrize("era", ["A0", "A2", "A4"])
def test_a_delay_of_0_ms_runs_unannounced_and_its_candidates_stay(era: str) -> None:
    """Whoever was idle when the jobs were lost gets all of them, however long ago that was."""
    story = Story("compatible", max_delay_ms=0, era=era)
    story.configure("c1", 6)
    story.join("w1", "w2")
    story.rebalance()
    story.rebalance()
    zombie = story.leave("w2")
    story.join("w3")
    story.rebalance(recorded=False)  # w3 becomes a candidate
    story.back(zombie)
    for _ in range(3):
        story.rebalance()
    story.leave("w2")
    for _ in range(3):
        story.rebalance()
    assert {one.grade for one in verdicts(story)} <= RIGHT


def test_tasks_of_one_connector_stand_in_the_order_of_their_numbers() -> None:
    """The order of connectors is that of a hash set; numbers are dealt out from the first to the last."""
    story = Story()
    story.configure("c1", 3)
    story.join("w1")
    story.rebalance(everyone(tasks=(("c1", 2), ("c1", 0), ("c1", 1))))
    assert verdicts(story)[-1].grade is Grade.UNEXPLAINED
