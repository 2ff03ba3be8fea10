"""Cases of the rules across records: CONNECT-K1 and CONNECT-K5 to CONNECT-K17."""

from dataclasses import replace

from assignors.connect_model import Jobs
from streaming.core.results import Severity
from tests.streaming.core.rules.builders import CONFIGS, Story
from tests.streaming.core.rules.cases import Broken, NearMiss
from tests.streaming.core.rules.edits import drop, everyone, give

MINUTE_MS = 60_000
DELAY_MS = 300_000
PATIENCE_MS = 70_000
OTHERS = "CONNECT-I13"


def calm(*workers: str, tasks: int = 4) -> Story:
    """One connector, everything handed out, everybody has applied it."""
    story = Story()
    story.configure("c1", tasks)
    story.join(*(workers or ("w1", "w2")))
    story.rebalance()
    story.rebalance()
    return story


def departure(*, after_ms: int = 10_000) -> Story:
    """w3 is gone, its jobs wait for it: a window of DELAY_MS is open."""
    story = calm("w1", "w2", "w3", tasks=6)
    story.leave("w3")
    story.rebalance(after_ms=after_ms)
    return story


# -- K1 ----------------------------------------------------------------------------------------------------------------


def a_job_vanished_from_a_report() -> Story:
    story = calm()
    worker = story.workers["w2"]
    worker.held = Jobs(worker.held.connectors, worker.held.tasks[1:])
    story.rebalance()
    return story


def gave_up_everything() -> Story:
    story = calm()
    worker = story.workers["w2"]
    worker.held, worker.header = Jobs(), None
    story.rebalance()
    return story


def missed_the_answer() -> Story:
    story = calm()
    story.configure("c2", 2)
    story.rebalance(missed=("w2",))
    story.rebalance()
    return story


def changed_in_unseen_generations() -> Story:
    story = calm()
    worker = story.workers["w2"]
    worker.held = Jobs(worker.held.connectors, worker.held.tasks[1:])
    story.skip(2)
    story.rebalance()
    return story


# -- K5 ----------------------------------------------------------------------------------------------------------------


def never_handed_out_after_the_delay() -> Story:
    story = departure()
    story.rebalance(drop_given, after_ms=DELAY_MS + 1_000)
    return story.until(10 * MINUTE_MS)


def drop_given(given: dict[str, object]) -> None:
    """Hand out nothing at all."""
    everyone(connectors=(), tasks=())(given)  # type: ignore[arg-type]


def another_departure_opened_a_new_window() -> Story:
    """The candidate that got the lost jobs left before that generation could be recorded."""
    story = calm("w1", "w2", "w3", "w4", tasks=8)
    story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.leave("w4")
    story.skip(1)
    story.rebalance(everyone(delay_ms=DELAY_MS), after_ms=DELAY_MS - 20_000)
    return story.until(DELAY_MS)


def taken_back_from_a_candidate() -> Story:
    story = calm("w1", "w2", "w3", tasks=7)
    story.leave("w2")
    story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.join("w4")
    story.rebalance(after_ms=10_000)
    story.rebalance(after_ms=DELAY_MS)
    story.rebalance(after_ms=PATIENCE_MS)
    return story.until(1_000)


def nobody_is_left() -> Story:
    story = departure()
    story.empty()
    return story.until(20 * MINUTE_MS)


# -- K6, K8, K14 -------------------------------------------------------------------------------------------------------


def a_newcomer_left_after_a_revoking_round() -> Story:
    """The leader opens a full delay although nothing is lost (an inheritance of the assignor)."""
    story = calm()
    story.join("w3")
    story.rebalance()
    story.leave("w3")
    story.rebalance()
    return story


def nothing_came_after_the_delay() -> Story:
    return a_newcomer_left_after_a_revoking_round().until(DELAY_MS + PATIENCE_MS)


def the_group_emptied_during_the_delay() -> Story:
    story = departure()
    story.empty()
    return story.until(20 * MINUTE_MS)


def pause_between_revoking_rounds() -> Story:
    """Two newcomers one after the other: the second revoking round waits 40 ms."""
    story = Story()
    for name in ("c1", "c2"):
        story.configure(name, 4)
    story.join("w1")
    story.rebalance()
    story.join("w2")
    story.rebalance()
    story.join("w3")
    story.rebalance(after_ms=500)
    return story


def nobody_handed_out_what_was_taken() -> Story:
    story = calm()
    story.join("w3")
    story.rebalance()
    return story.until(PATIENCE_MS)


def the_group_emptied_after_a_revocation() -> Story:
    story = calm()
    story.join("w3")
    story.rebalance()
    story.empty()
    return story.until(20 * MINUTE_MS)


# -- K7, K9 ------------------------------------------------------------------------------------------------------------


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

    def early(given: dict[str, object]) -> None:
        everyone(delay_ms=0)(given)  # type: ignore[arg-type]
        for name, worker in zip(missing, ("w1", "w2"), strict=False):
            give(worker, name)(given)  # type: ignore[arg-type]

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


# -- K10 to K13 --------------------------------------------------------------------------------------------------------


def again_and_again() -> Story:
    story = calm()
    for _ in range(4):
        story.rebalance(after_ms=3_000)
    return story


def a_rolling_restart() -> Story:
    story = calm(*(f"w{number}" for number in range(1, 13)), tasks=24)
    for name in list(story.workers):
        lost = story.leave(name)
        story.rebalance(after_ms=5_000)
        story.join(lost.name)
        story.rebalance(after_ms=5_000)
    for _ in range(2):
        story.rebalance(after_ms=2_000)
    return story


def many_connectors_at_once() -> Story:
    workers = ("w1", "w2", "w3", "w4", "w5", "w6")
    story = calm(*workers)
    for number in range(20):
        story.configure(f"bulk{number}", 2)
        for _ in workers:
            story.rebalance(after_ms=300)
    return story


def a_member_never_catches_up() -> Story:
    story = calm()
    story.workers["w2"].reads_until = len(story.snapshots) - 1
    for number in range(5):
        story.configure(f"c{number + 2}", 1)
        story.rebalance()
    return story


def the_config_topic_is_made_anew() -> Story:
    """The same cluster, another topic under the old name: offsets start over, and so do the members'."""
    story = calm()
    for number in range(3):
        story.configure(f"c{number + 2}", 1)
        story.rebalance()
    rows = len(story.rows)
    story.snapshots = [{}]
    story.configure("c1", 4)
    story.rows[rows:] = [replace(row, topic_id="another") for row in story.rows[rows:]]
    story.rows[:rows] = [replace(row, topic_id="first") if row.topic == CONFIGS else row for row in story.rows[:rows]]
    for _ in range(2):
        story.rebalance()
        story.configure("c9", 1)
        story.rows[-1] = replace(story.rows[-1], topic_id="another")
    return story


def a_newcomer_reads_late() -> Story:
    story = calm()
    story.configure("c2", 1)
    story.rebalance()
    story.join("w3")
    story.workers["w3"].reads_until = 1
    story.rebalance()
    story.rebalance()
    story.workers["w3"].reads_until = None
    story.rebalance(after_ms=5_000)
    return story


def the_offset_fell() -> Story:
    story = calm()
    before = len(story.snapshots) - 1
    story.configure("c2", 1)
    story.rebalance()
    for worker in story.workers.values():
        worker.reads_until = before
    story.rebalance()
    return story


def a_restarted_leader_lags() -> Story:
    story = calm()
    before = len(story.snapshots) - 1
    story.configure("c2", 1)
    story.rebalance()
    story.restart("w1")
    for worker in story.workers.values():
        worker.reads_until = before
    story.rebalance(leader="w1")
    return story


def one_worker_keeps_the_group_down() -> Story:
    story = calm()
    story.protocol = "compatible"
    story.join("w3")
    story.rebalance()
    story.rebalance()
    return story.until(11 * MINUTE_MS)


def a_rolling_downgrade() -> Story:
    story = calm()
    story.protocol = "compatible"
    for name in ("w1", "w2"):
        story.restart(name)
        story.rebalance(after_ms=30_000)
    story.rebalance()
    return story.until(30 * MINUTE_MS)


# -- K15 to K17 --------------------------------------------------------------------------------------------------------


def taken_and_given_to_nobody() -> Story:
    story = calm()
    story.join("w3")
    before = {name for worker in story.workers.values() for name in worker.holds()}
    story.rebalance()
    after = {name for worker in story.workers.values() for name in worker.holds()}
    taken = sorted(before - after)
    story.rebalance(drop("w3", taken[0]))
    return story


def deleted_after_it_was_taken() -> Story:
    story = calm()
    story.configure("c2", 3)
    story.rebalance()
    story.rebalance()
    story.join("w3")
    story.rebalance()
    story.delete("c2")
    story.rebalance()
    story.rebalance()
    return story


def taken_back_and_a_member_left() -> Story:
    story = calm("w1", "w2", "w3", tasks=7)
    story.leave("w2")
    story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.join("w4")
    story.join("w5")
    story.rebalance(after_ms=10_000)
    story.rebalance(after_ms=DELAY_MS)
    story.leave("w5")
    story.rebalance(after_ms=5_000)
    return story


def a_cut_off_worker_returns() -> Story:
    return the_jobs_came_back()


def a_restart_holds_nothing() -> Story:
    story = calm()
    story.restart("w2")
    story.rebalance()
    return story


def somebody_else_leads() -> Story:
    story = calm()
    story.rebalance(leader="w2")
    return story


def the_first_generation() -> Story:
    story = Story()
    story.configure("c1", 1)
    story.join("w1")
    story.rebalance()
    return story


INFO, MEDIUM, HIGH = Severity.INFO, Severity.MEDIUM, Severity.HIGH
W1, W2 = "worker w1:8083", "worker w2:8083"
CASES = (
    Broken(code="CONNECT-K1", story=a_job_vanished_from_a_report, subjects=(W2,), severity=MEDIUM, says="lacks c1-"),
    NearMiss(code="CONNECT-K1", exception="it gave up its jobs: no allocation", story=gave_up_everything),
    NearMiss(
        code="CONNECT-K1", exception="it missed the answer and reports what it had before", story=missed_the_answer
    ),
    NearMiss(code="CONNECT-K1", exception="generations are missing between", story=changed_in_unseen_generations),
    Broken(
        code="CONNECT-K5",
        story=never_handed_out_after_the_delay,
        subjects=("task c1-2", "task c1-5"),
        severity=HIGH,
        along=frozenset({"CONNECT-I4"}),
    ),
    NearMiss(
        code="CONNECT-K5",
        exception="another departure opened a new window",
        story=another_departure_opened_a_new_window,
    ),
    NearMiss(
        code="CONNECT-K5",
        exception="taken back from a delay candidate, which starts its wait anew",
        story=taken_back_from_a_candidate,
    ),
    NearMiss(code="CONNECT-K5", exception="the group has no member at all", story=nobody_is_left),
    Broken(code="CONNECT-K6", story=nothing_came_after_the_delay, subjects=("group g",), severity=HIGH),
    NearMiss(code="CONNECT-K6", exception="the group emptied", story=the_group_emptied_during_the_delay),
    Broken(
        code="CONNECT-K7",
        story=the_end_moved,
        subjects=("member connect-w1:8083-00000001",),
        severity=MEDIUM,
        says="moved by 20000 ms",
    ),
    NearMiss(code="CONNECT-K7", exception="a new window after a reset", story=a_new_window_after_a_reset),
    NearMiss(
        code="CONNECT-K7",
        exception="the pause between two revoking rounds gave way to a loss",
        story=a_loss_after_a_pause,
    ),
    Broken(code="CONNECT-K8", story=a_newcomer_left_after_a_revoking_round, subjects=("group g",), severity=INFO),
    NearMiss(code="CONNECT-K8", exception="the pause between two revoking rounds", story=pause_between_revoking_rounds),
    Broken(
        code="CONNECT-K9",
        story=handed_out_too_early,
        subjects=("task c1-2", "task c1-5"),
        severity=INFO,
        along=frozenset({OTHERS}),
    ),
    NearMiss(code="CONNECT-K9", exception="the jobs came back", story=the_jobs_came_back),
    NearMiss(code="CONNECT-K9", exception="another leader", story=another_leader_in_the_window),
    NearMiss(
        code="CONNECT-K9",
        exception="the leader's memory is void after a config mismatch",
        story=a_mismatch_in_the_window,
    ),
    NearMiss(code="CONNECT-K9", exception="the lost jobs were deleted", story=the_lost_jobs_were_deleted),
    NearMiss(
        code="CONNECT-K9",
        exception="a loss that shares the pause between two revoking rounds",
        story=a_loss_shares_the_pause,
    ),
    Broken(code="CONNECT-K10", story=again_and_again, subjects=("group g",), severity=MEDIUM, says="in a row"),
    NearMiss(code="CONNECT-K10", exception="a rolling restart", story=a_rolling_restart),
    NearMiss(code="CONNECT-K10", exception="many connectors created at once", story=many_connectors_at_once),
    Broken(code="CONNECT-K11", story=a_member_never_catches_up, subjects=(W2,), severity=HIGH),
    NearMiss(
        code="CONNECT-K11",
        exception="the config topic is new and starts over",
        story=the_config_topic_is_made_anew,
    ),
    NearMiss(code="CONNECT-K11", exception="the member has just joined", story=a_newcomer_reads_late),
    Broken(code="CONNECT-K12", story=the_offset_fell, subjects=("member connect-w1:8083-00000001",), severity=HIGH),
    NearMiss(
        code="CONNECT-K12",
        exception="the config topic is new and starts over",
        story=the_config_topic_is_made_anew,
    ),
    NearMiss(code="CONNECT-K12", exception="the leader has restarted and lags", story=a_restarted_leader_lags),
    Broken(code="CONNECT-K13", story=one_worker_keeps_the_group_down, subjects=("group g",), severity=MEDIUM),
    NearMiss(code="CONNECT-K13", exception="a rolling downgrade", story=a_rolling_downgrade),
    Broken(
        code="CONNECT-K14",
        story=nobody_handed_out_what_was_taken,
        subjects=("task c1-1",),
        severity=HIGH,
    ),
    NearMiss(code="CONNECT-K14", exception="the group emptied", story=the_group_emptied_after_a_revocation),
    Broken(
        code="CONNECT-K15",
        story=taken_and_given_to_nobody,
        subjects=("task c1-1",),
        severity=HIGH,
        along=frozenset({"CONNECT-I4"}),
    ),
    NearMiss(code="CONNECT-K15", exception="deleted meanwhile", story=deleted_after_it_was_taken),
    NearMiss(
        code="CONNECT-K15",
        exception="taken back from a delay candidate, and a member left before the follow-up",
        story=taken_back_and_a_member_left,
    ),
    Broken(code="CONNECT-K16", story=a_cut_off_worker_returns, subjects=("worker w3:8083",), severity=INFO),
    NearMiss(code="CONNECT-K16", exception="restarted, and holds nothing", story=a_restart_holds_nothing),
    Broken(
        code="CONNECT-K17",
        story=somebody_else_leads,
        subjects=("member connect-w2:8083-00000002",),
        severity=INFO,
    ),
    NearMiss(code="CONNECT-K17", exception="the first generation of a group", story=the_first_generation),
)
