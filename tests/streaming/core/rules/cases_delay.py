"""Cases of the rules about a scheduled delay itself: its end stays where it was (K7), and its jobs wait for it (K9)."""

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, NearMiss
from tests.streaming.core.rules.cases_across import DELAY_MS, calm, departure, pause_between_revoking_rounds
from tests.streaming.core.rules.edits import everyone, give
from tests.streaming.core.rules.processes import Given


def the_end_moved() -> Story:
    story = departure()
    story.rebalance(everyone(delay_ms=DELAY_MS), after_ms=20_000)
    return story


def a_new_window_after_a_reset() -> Story:
    story = calm("w1", "w2", "w3", tasks=6)
    lost = story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.back(lost)
    story.rebalance(after_ms=20_000)
    story.leave("w3")
    story.rebalance(after_ms=20_000)
    story.rebalance(after_ms=20_000)
    return story


def a_loss_after_a_pause() -> Story:
    story = pause_between_revoking_rounds()
    story.rebalance(after_ms=100)
    story.rebalance(after_ms=500)
    story.leave("w2")
    story.rebalance(after_ms=5_000)
    story.rebalance(after_ms=5_000)
    return story


def handed_out_too_early() -> Story:
    story = departure()
    lost = {*story.workers["w1"].holds(), *story.workers["w2"].holds()}
    missing = sorted({"c1", *(f"c1-{number}" for number in range(6))} - lost)

    def early(given: Given) -> None:
        everyone(delay_ms=0)(given)
        for name, worker in zip(missing, ("w1", "w2"), strict=False):
            give(worker, name)(given)

    story.rebalance(early, after_ms=20_000)
    return story


def the_jobs_came_back() -> Story:
    story = calm("w1", "w2", "w3", tasks=6)
    lost = story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.back(lost)
    story.rebalance(after_ms=20_000)
    return story


def another_leader_in_the_window() -> Story:
    story = departure()
    story.leave("w1")
    story.rebalance(after_ms=20_000)
    return story


def a_mismatch_in_the_window() -> Story:
    story = departure()
    story.workers["w1"].reads_until = len(story.snapshots) - 1
    story.configure("c2", 1)
    story.rebalance(fresh=False, after_ms=20_000)
    story.workers["w1"].reads_until = None
    story.rebalance(after_ms=5_000)
    return story


def the_lost_jobs_were_deleted() -> Story:
    story = departure()
    story.delete("c1")
    story.rebalance(after_ms=20_000)
    story.rebalance(after_ms=5_000)
    return story


def a_loss_shares_the_pause() -> Story:
    story = pause_between_revoking_rounds()
    story.leave("w2")
    story.rebalance(after_ms=200)
    return story


CASES = (
    Broken(
        code="CONNECT-K7",
        story=the_end_moved,
        subjects=("member connect-w1:8083-00000001",),
        severity=Severity.MEDIUM,
        says="moved by 20000 ms",
    ),
    NearMiss(code="CONNECT-K7", exception="a new window after a reset", story=a_new_window_after_a_reset),
    NearMiss(
        code="CONNECT-K7",
        exception="the pause between two rebalances that revoke gave way to a loss",
        story=a_loss_after_a_pause,
    ),
    Broken(
        code="CONNECT-K9",
        story=handed_out_too_early,
        subjects=("task c1-2", "task c1-5"),
        severity=Severity.INFO,
    ),
    NearMiss(code="CONNECT-K9", exception="they came back", story=the_jobs_came_back),
    NearMiss(code="CONNECT-K9", exception="another leader", story=another_leader_in_the_window),
    NearMiss(
        code="CONNECT-K9",
        exception="the leader's memory is void after a config mismatch",
        story=a_mismatch_in_the_window,
    ),
    NearMiss(code="CONNECT-K9", exception="they were deleted", story=the_lost_jobs_were_deleted),
    NearMiss(
        code="CONNECT-K9",
        exception="a loss that shares the pause between two rebalances that revoke",
        story=a_loss_shares_the_pause,
    ),
)
