"""Cases of the rules about how a group goes on: CONNECT-K10 to K13 and K15 to K17."""

from dataclasses import replace

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import CONFIGS, Story
from tests.streaming.core.rules.cases import Broken, NearMiss
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS, calm
from tests.streaming.core.rules.cases_delay import the_jobs_came_back
from tests.streaming.core.rules.edits import both, drop, everyone, revoke

# -- K10 to K13 --------------------------------------------------------------------------------------------------------


def again_and_again() -> Story:
    story = calm()
    for _ in range(4):
        story.rebalance(after_ms=3_000)
    return story


def takes_and_gives_for_ever() -> Story:
    """A leader that takes a task away in every other round although nothing has changed."""
    story = calm("w1", "w2")
    for _ in range(8):
        taken = min(name for name in story.workers["w1"].holds() if "-" in name)
        story.rebalance(revoke("w1", taken), after_ms=3_000)
        story.rebalance(after_ms=3_000)
    return story


def revocations_follow_each_newcomer() -> Story:
    story = Story(max_delay_ms=60_000)
    for number in range(4):
        story.configure(f"c{number}", 8)
    story.join("w1")
    story.rebalance()
    for number in range(2, 9):
        story.join(f"w{number}")
        pending = True
        while pending:
            given = [one for one in story.rebalance(after_ms=300).values() if not isinstance(one, bytes)]
            pending = any(one.revoked_connectors or one.revoked_tasks or one.delay_ms for one in given)
            story.wait(given[0].delay_ms)
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


def taken_by_another_leader_and_waited_for() -> Story:
    """`w1` leads, is cut off, and comes back while `w2` leads; it misses that round, `w2` leaves, and it leads again:
    what `w2` had in the round that `w1` led is lost."""
    story = Story.begun({"c1": 2, "c2": 3}, "w1")
    story.join("w2")
    for _ in range(3):
        story.rebalance()
    story.back(story.leave("w1"))
    story.delete("c2")
    story.rebalance(leader="w2", missed=("w1",))
    story.leave("w2")
    story.rebalance(after_ms=5_000)
    return story


def taken_by_another_leader_from_one_who_stays() -> Story:
    """`w4`, which leaves, had nothing: no leader can take the task for lost with it."""
    story = calm()
    story.join("w3")
    story.join("w4")
    before = {name for worker in story.workers.values() for name in worker.holds()}
    story.rebalance(leader="w2")
    after = {name for worker in story.workers.values() for name in worker.holds()}
    story.leave("w4")
    story.rebalance(both(drop("w3", min(before - after)), everyone(delay_ms=1_000)), leader="w1")
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
    story = Story.begun({"c1": 1}, "w1")
    return story


INFO, MEDIUM, HIGH = Severity.INFO, Severity.MEDIUM, Severity.HIGH
W1, W2 = "worker w1:8083", "worker w2:8083"
CASES = (
    Broken(code="CONNECT-K10", story=again_and_again, subjects=("group g",), severity=MEDIUM, says="in a row"),
    Broken(
        code="CONNECT-K10",
        story=takes_and_gives_for_ever,
        subjects=("group g",),
        severity=MEDIUM,
        along=frozenset({"CONNECT-I13"}),
        says="more than",
    ),
    NearMiss(code="CONNECT-K10", exception="a rolling restart", story=a_rolling_restart),
    NearMiss(
        code="CONNECT-K10",
        exception="revocations that follow members that come one after the other",
        story=revocations_follow_each_newcomer,
    ),
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
        code="CONNECT-K15",
        story=taken_and_given_to_nobody,
        subjects=("task c1-1",),
        severity=HIGH,
    ),
    Broken(
        code="CONNECT-K15",
        story=taken_by_another_leader_from_one_who_stays,
        subjects=("task c1-0",),
        severity=HIGH,
    ),
    NearMiss(code="CONNECT-K15", exception="deleted meanwhile", story=deleted_after_it_was_taken),
    NearMiss(
        code="CONNECT-K15",
        exception="taken back from a delay candidate, and a member left before the follow-up",
        story=taken_back_and_a_member_left,
    ),
    NearMiss(
        code="CONNECT-K15",
        exception="another leader took them, and this one waits for a worker that had them when it led",
        story=taken_by_another_leader_and_waited_for,
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
