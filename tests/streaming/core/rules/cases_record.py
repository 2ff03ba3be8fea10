"""Cases of the laws about the jobs in one record: CONNECT-I1 to I8."""

from collections.abc import Callable
from dataclasses import replace

from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, STATUSES, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.edits import Change, both, drop, give, revoke, spare

C, H, M = Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM
NOTHING_KNOWN = ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES)


def settled(story: Story) -> Story:
    """One more config record without effect: the jobs before it exist for every leader."""
    story.config("session-key", {"key": "k"}, story.snapshots[-1])
    return story


def fresh_pair(tasks: int = 2, *connectors: str, story: Story | None = None) -> Story:
    """Connector c1 (and more) and two workers without anything."""
    story = story or Story()
    for name in ("c1", *connectors):
        story.configure(name, tasks)
    settled(story).join("w1", "w2")
    return story


def pair(tasks: int = 2, *connectors: str, story: Story | None = None) -> Story:
    """The same after a correct round: for two tasks, w1 has c1 and c1-0, w2 has c1-1."""
    story = fresh_pair(tasks, *connectors, story=story)
    story.rebalance()
    return story


def zombie() -> Story:
    """w2 was cut off with c1-1, which w1 got after the delay; now it is back with it."""
    story = pair()
    cut_off = story.leave("w2")
    story.rebalance()
    story.rebalance(after_ms=300_100)
    story.back(cut_off)
    return story


def mismatch(story: Story) -> Story:
    """The leader has read less than the others: a round that ends in an error."""
    story.workers[story.leader or "w1"].reads_until = len(story.snapshots) - 1
    settled(story).rebalance(fresh=False)
    return story


def job_in_two_hands() -> Story:
    story = fresh_pair()
    story.rebalance(give("w2", "c1-0"))
    return story


def error_with_zombie() -> Story:
    return mismatch(zombie())


def zombie_keeps_its_job() -> Story:
    story = zombie()
    story.rebalance(spare("w2", "c1-1"))
    return story


def zombie_gives_up_its_job() -> Story:
    story = zombie()
    story.rebalance()
    story.rebalance()
    return story


def given_again() -> Story:
    story = pair()
    story.rebalance(give("w1", "c1-0"))
    return story


def dropped() -> Story:
    story = fresh_pair()
    story.rebalance(drop("w2", "c1-1"))
    return story


def dropped_twice() -> Story:
    story = dropped()
    story.rebalance(drop("w2", "c1-1"))
    return story


def third_worker_joins() -> Story:
    story = pair(6)
    story.join("w3")
    story.rebalance()
    return story


def worker_lost() -> Story:
    story = pair(6)
    story.leave("w2")
    story.join("w3")
    story.rebalance()
    return story


def nothing_assigned_yet() -> Story:
    story = fresh_pair()
    story.leader = "w1"
    return mismatch(story)


def created_by_the_last_record() -> Story:
    story = pair()
    story.configure("c2")
    story.rebalance(drop("w2", "c2"))
    return story


def inconsistent_for_a_fresh_leader() -> Story:
    story = Story()
    story.configure("c1", 2)
    story.config("task-c1-0", {"properties": {}}, story.snapshots[-1])
    settled(story).join("w1", "w2")
    story.rebalance(both(drop("w1", "c1-0"), drop("w2", "c1-1")))
    return story


def deleted(story: Story, *names: str, surely: bool = True) -> Story:
    """c2 is deleted, which w2 holds; and others, too. Without any connector left nothing is balanced."""
    for name in (*names, "c2"):
        story.delete(name)
    return settled(story) if surely else story


def deleted_job_stays() -> Story:
    story = pair(0, "c2")
    deleted(story).rebalance(spare("w2", "c2"))
    return story


def deleted_job_handed_out() -> Story:
    story = fresh_pair()
    story.rebalance(give("w2", "c9"))
    return story


def new_leader_finds_deleted_job() -> Story:
    story = pair(0, "c2")
    deleted(story, "c1").rebalance(leader="w2")
    return story


def leader_forgot() -> Story:
    story = pair(0, "c2")
    story.configure("c3")
    settled(story).rebalance(missed={"w1"})
    deleted(story).rebalance()
    return story


def zombie_brings_deleted_job() -> Story:
    story = pair(0, "c2")
    cut_off = story.leave("w2")
    story.rebalance()
    deleted(story, "c1").rebalance()
    story.back(cut_off)
    story.rebalance()
    return story


def deleted_by_the_last_record() -> Story:
    story = pair(0, "c2")
    deleted(story, surely=False).rebalance(spare("w2", "c2"))
    return story


def moved_in_one_round() -> Story:
    story = pair(6)
    story.join("w3")
    story.rebalance(give("w3", "c1-0"))
    return story


def revoked_elsewhere() -> Story:
    story = pair()
    story.rebalance(revoke("w1", "c1-1"))
    return story


def candidate_loses_again() -> Story:
    """w2 and w3 are lost, w4 joins empty: after the delay it gets all eight tasks and must give two back at once."""
    story = fresh_pair(12)
    story.join("w3")
    story.rebalance()
    story.leave("w2")
    story.leave("w3")
    story.join("w4")
    story.rebalance()
    story.rebalance(after_ms=300_100)
    return story


def lopsided() -> Story:
    story = fresh_pair(4)
    story.rebalance(both(drop("w2", "c1-1"), give("w1", "c1-1")))
    return story


def ghosts_on_old_workers() -> Story:
    story = pair(3, "c2")
    story.delete("c1")
    story.delete("c2")
    settled(story).join("w3")
    story.rebalance(leader="w3")
    return story


def old_leader_does_not_balance() -> Story:
    known = replace(NOTHING_KNOWN, max_delay_ms=300_000, release="2.8.2")
    story = pair(0, "c2", "c3", "c4", "c5", "c6", story=Story(era="A3a", known=known))
    story.delete("c2")
    story.delete("c4")
    settled(story).rebalance()
    story.rebalance()
    return story


def connector_and_its_task() -> Story:
    return pair(1)


def swapped_answer(first: str, mine: str, other: str, yours: str) -> Change:
    there = both(drop(first, mine), give(other, mine))
    return both(there, drop(other, yours), give(first, yours))


def broken(code: str, story: Callable[[], Story], severity: Severity, *subjects: str, says: str = "") -> Broken:
    return Broken(code=f"CONNECT-{code}", story=story, severity=severity, subjects=subjects, says=says)


def near(code: str, exception: str, story: Callable[[], Story], at_most: Severity | None = None) -> NearMiss:
    return NearMiss(code=f"CONNECT-{code}", exception=exception, story=story, at_most=at_most)


W1, W2, W3 = "worker w1:8083", "worker w2:8083", "worker w3:8083"
CASES: tuple[Case, ...] = (
    broken("I1", job_in_two_hands, C, "task c1-0", W1, W2),
    near("I1", "the rebalance ended in an error and revoked nothing", error_with_zombie),
    broken("I2", zombie_keeps_its_job, C, "task c1-1", W1, W2),
    near("I2", "a zombie returned and every holder must stop it: medium", zombie_gives_up_its_job, M),
    broken("I3", given_again, C, "task c1-0", W1),
    broken("I4", dropped, H, "task c1-1"),
    broken("I4", dropped_twice, C, "task c1-1", says="KAFKA-9848"),
    near("I4", "revoked in this rebalance", third_worker_joins),
    near("I4", "lost, and the delay runs", worker_lost),
    near("I4", "the rebalance ended in an error", nothing_assigned_yet),
    near(
        "I4",
        "configured by the very last config record, which the leader may not have applied",
        created_by_the_last_record,
    ),
    near(
        "I4",
        "a freshly started worker may read the connector's tasks as inconsistent",
        inconsistent_for_a_fresh_leader,
    ),
    broken("I5", deleted_job_stays, M, "connector c2", W2),
    broken("I5", deleted_job_handed_out, C, "connector c9", W2),
    near("I5", "a new leader does not remember it", new_leader_finds_deleted_job),
    near("I5", "the leader forgot the rebalance before", leader_forgot),
    near("I5", "a zombie brought it back", zombie_brings_deleted_job),
    near(
        "I5",
        "deleted by the very last config record, which the leader may not have applied",
        deleted_by_the_last_record,
    ),
    broken("I6", moved_in_one_round, C, "task c1-0", W3, W1),
    broken("I7", revoked_elsewhere, Severity.LOW, "task c1-1", W1),
    near("I7", "the delay is over, and balancing takes back what a candidate was just given", candidate_loses_again),
    broken("I8", lopsided, M, W1, W2, says="w1:8083 holds 3 tasks and w2:8083 holds 1"),
    near("I8", "revocations are under way", third_worker_joins),
    near("I8", "a delay or back-off runs", worker_lost),
    near("I8", "a worker holds a connector or task that is no longer configured", ghosts_on_old_workers),
    near("I8", "leaders before 3.4 do not balance within one", old_leader_does_not_balance),
    near("I8", "connectors and tasks together may differ by two", connector_and_its_task),
)
