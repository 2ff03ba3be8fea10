"""Cases of Streams groups of the new protocol: EPOCHS-T1 to T13, and what only looks like them."""

from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.targets.kinds import STREAMS
from rebalance_monitor.streaming.core.targets.timing import COVERED_MS
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.streams_groups import (
    LATER_STATE,
    REBALANCE_MS,
    SESSION_MS,
    UNRELEASED,
    UNREVOKED,
    StreamsGroupStory,
    threads,
)

HEARTBEAT_MS, SLACK_MS, AWAY = 5_000, 5_000, -2
REVOKE_MS = REBALANCE_MS + HEARTBEAT_MS + SLACK_MS
WAIT_MS = REBALANCE_MS + REVOKE_MS + SESSION_MS
TARGET_MS = SESSION_MS + STREAMS.first_target_ms + SLACK_MS
OWNER_MS = REBALANCE_MS + SESSION_MS + COVERED_MS


def run_by_two() -> Story:
    story = threads()
    story.after().holds("a", 2, "0_0 0_1 / 0_3", state=UNREVOKED, pending="0_2")
    return story.until(1_000)


def in_two_targets() -> Story:
    story = threads()
    story.after().epoch(3)
    story.target(3, a="0_0 0_1 0_2 / 0_3")
    return story.until(1_000)


def ahead_of_the_target() -> Story:
    story = threads()
    story.after().holds("a", 5, "0_0 0_1 / 0_2 0_3")
    return story.until(1_000)


def back() -> Story:
    story = threads()
    story.after().epoch(1)
    return story.until(1_000)


def made_again() -> Story:
    story = threads()
    story.after().gone("a", "b", epoch=3)
    for type_ in (20, 23, 17):
        story.write(type_, None)
    story.after().thread("c")
    story.topology()
    story.epoch(1)
    story.target(1, c="0_0 0_1 0_2 0_3")
    story.holds("c", 1, "0_0 0_1 0_2 0_3")
    return story.until(1_000)


def member_back() -> Story:
    """b is at epoch 1 again: of what the coordinator wrote meanwhile it knows nothing."""
    story = threads()
    story.after().holds("b", 1, "0_2 0_3 / 0_0 0_1")
    return story.until(1_000)


def drops_a_task_that_it_keeps() -> Story:
    """b waits for more and has not 0_3 any more, which its target names."""
    story = threads()
    story.after().epoch(3, standbys=1)
    story.target(3, a="0_0 / 0_2 0_3", b="0_1 0_2 0_3 / 0_0")
    story.holds("b", 3, "0_2 / 0_0", state=UNRELEASED)
    return story.until(1_000)


def joined_again() -> Story:
    story = threads()
    story.after().gone("b", epoch=3)
    story.after().thread("b")
    story.holds("b", 0, "", state=UNRELEASED)
    return story.until(1_000)


def static_and_back() -> Story:
    story = threads()
    story.after().holds("b", -2, "0_2 0_3 / 0_0 0_1")
    story.after().holds("b", 2, "0_2 0_3 / 0_0 0_1")
    return story.until(1_000)


def stable_with_another_role() -> Story:
    """b does not keep the standby of 0_1 that it should."""
    story = threads()
    story.after().holds("b", 2, "0_2 0_3 / 0_0")
    return story.until(1_000)


def less_while_a_target_is_due() -> Story:
    story = threads()
    story.after().epoch(3, standbys=1)
    story.holds("b", 2, "0_2 0_3 / 0_0")
    return story.until(1_000)


def static_and_away() -> Story:
    story = threads()
    story.after().holds("b", AWAY, "0_2")
    return story.until(1_000)


def revokes_nothing() -> Story:
    story = threads()
    story.after().holds("b", 2, "0_2 0_3 / 0_0 0_1", state=UNREVOKED)
    return story.until(1_000)


def later_state() -> Story:
    story = threads()
    story.after().holds("b", 2, "0_2 / 0_0 0_1", state=LATER_STATE)
    return story.until(1_000)


def waits_though_it_has_all() -> Story:
    story = threads()
    story.after().holds("b", 2, "0_2 0_3 / 0_0 0_1", state=UNRELEASED)
    return story.until(1_000)


def revoking() -> StreamsGroupStory:
    """b has to give 0_3 up and does not; a waits for it, and for nothing else."""
    story = threads()
    story.after().epoch(3, standbys=1)
    story.target(3, a="0_0 0_1 0_3 / 0_2", b="0_2 / 0_0 0_1 0_3")
    story.holds("b", 2, "0_2 / 0_0 0_1", state=UNREVOKED, pending="0_3")
    story.holds("a", 3, "0_0 0_1 / 0_2", state=UNRELEASED)
    return story


def does_not_revoke() -> Story:
    return revoking().until(REVOKE_MS + 1)


def removed_in_time() -> Story:
    story = revoking()
    story.after(REBALANCE_MS).gone("b", epoch=4)
    story.after().target(4, a="0_0 0_1 0_2 0_3")
    story.holds("a", 4, "0_0 0_1 0_2 0_3")
    return story.until(REVOKE_MS)


def silent() -> Story:
    story = threads()
    story.after().epoch(3, standbys=1)
    story.target(3, a="0_0 / 0_2 0_3", b="0_1 0_2 0_3 / 0_0")
    story.holds("a", 3, "0_0 / 0_2 0_3")
    return story.until(SESSION_MS + SLACK_MS + 1)


def silent_while_it_revokes() -> Story:
    return revoking().until(SESSION_MS + SLACK_MS + 1)


def waits_for_an_away_member() -> Story:
    """b is static and away, and the coordinator keeps its tasks for longer than any time-out."""
    story = threads()
    story.after().holds("b", AWAY, "0_2 0_3 / 0_0 0_1")
    story.after().epoch(3, standbys=1)
    story.target(3, a="0_0 0_1 0_3 / 0_2", b="0_2 / 0_0 0_1 0_3")
    story.holds("a", 3, "0_0 0_1 / 0_2", state=UNRELEASED)
    return story.until(WAIT_MS + 1)


def waits_anew() -> Story:
    story = threads()
    story.after().holds("b", AWAY, "0_2 0_3 / 0_0 0_1")
    story.after().epoch(3, standbys=1)
    story.target(3, a="0_0 0_1 0_3 / 0_2", b="0_2 / 0_0 0_1 0_3")
    story.holds("a", 3, "0_0 0_1 / 0_2", state=UNRELEASED)
    story.after(WAIT_MS - 1_000).epoch(4, standbys=1)
    story.target(4, a="0_0 0_1 0_2 / 0_3", b="0_3 / 0_0 0_1 0_2")
    story.holds("a", 4, "0_0 0_1", state=UNRELEASED)
    return story.until(5_000)


def no_target_comes() -> Story:
    story = threads()
    story.after().epoch(3, standbys=1)
    return story.until(TARGET_MS + 1)


def nobody_there() -> Story:
    story = threads()
    story.after().gone("a", "b", epoch=3)
    return story.until(TARGET_MS + 1)


def task_left_out() -> Story:
    return threads(partitions=5).until(OWNER_MS)


def left_out_while_a_target_is_due() -> Story:
    story = threads(partitions=5)
    story.after().epoch(3, standbys=1)
    return story.until(OWNER_MS)


def topic_missing() -> Story:
    """The changelog is not there yet: nobody is given a task."""
    story = StreamsGroupStory().sampled(0)
    story.thread("a")
    story.topology({"0": ["a", "b"]})
    story.epoch(1, ready=False)
    story.target(1, a="")
    story.holds("a", 1, "")
    return story.until(OWNER_MS)


def copies_in_one_process(process: str) -> Story:
    """b keeps a standby of what a runs."""
    story = StreamsGroupStory(1)
    story.thread("a", "p")
    story.thread("b", process)
    story.topology()
    story.epoch(1, standbys=1)
    story.target(1, a="0_0", b="/ 0_0")
    story.holds("a", 1, "0_0")
    story.after().holds("b", 1, "/ 0_0")
    return story.until(1_000)


def two_copies() -> Story:
    return copies_in_one_process("p")


def two_processes_on_one_host() -> Story:
    return copies_in_one_process("q")


def warms_up_alone() -> Story:
    story = threads()
    story.after().epoch(3)
    story.target(3, a="0_0 / 0_2 0_3", b="0_2 0_3 / 0_0 / 0_1")
    return story.until(1_000)


CASES: tuple[Case, ...] = (
    Broken(code="EPOCHS-T1", story=run_by_two, subjects=("member a", "member b"), severity=Severity.CRITICAL,
           says="0_2: held by a and b"),
    Broken(code="EPOCHS-T2", story=in_two_targets, subjects=("member a", "member b"), severity=Severity.CRITICAL,
           says="0_2: in the targets of a and b"),
    Broken(code="EPOCHS-T3", story=ahead_of_the_target, subjects=("member a",), severity=Severity.HIGH,
           says="ahead of the target's 2"),
    Broken(code="EPOCHS-T3", story=back, subjects=("group g",), severity=Severity.HIGH, says="went back to epoch 1"),
    Broken(code="EPOCHS-T3", story=member_back, subjects=("member b",), severity=Severity.HIGH,
           says="went back from epoch 2 to 1"),
    NearMiss(code="EPOCHS-T3", exception="the group was deleted and made again", story=made_again),
    NearMiss(code="EPOCHS-T3", exception="the member was removed and joined again", story=joined_again),
    NearMiss(code="EPOCHS-T3", exception="a static member that came back", story=static_and_back),
    Broken(code="EPOCHS-T4", story=stable_with_another_role, subjects=("member b",), severity=Severity.HIGH,
           says="does not hold exactly its target: 0_1 (standby)"),
    NearMiss(code="EPOCHS-T4", exception="a target is due, and it has less", story=less_while_a_target_is_due),
    NearMiss(code="EPOCHS-T4", exception="a static member that is away", story=static_and_away),
    Broken(code="EPOCHS-T5", story=revokes_nothing, subjects=("member b",), severity=Severity.MEDIUM,
           says="UNREVOKED_TASKS with 0 tasks"),
    Broken(code="EPOCHS-T5", story=drops_a_task_that_it_keeps, subjects=("member b",), severity=Severity.MEDIUM,
           says="has not what follows from its record before"),
    Broken(code="EPOCHS-T5", story=later_state, subjects=("member b",), severity=Severity.INFO,
           says="is in state 9, which no known release has"),
    NearMiss(code="EPOCHS-T5", exception="a state that no known release has", story=later_state, at_most=Severity.INFO),
    Broken(code="EPOCHS-T6", story=waits_though_it_has_all, subjects=("member b",), severity=Severity.MEDIUM,
           says="UNRELEASED_TASKS at epoch 2"),
    Broken(code="EPOCHS-T7", story=does_not_revoke, subjects=("member b",), severity=Severity.HIGH,
           says="has not given up 0_3 since 2027-01-15 08:00:05 UTC"),
    NearMiss(code="EPOCHS-T7", exception="the coordinator removed the member in time", story=removed_in_time),
    Broken(code="EPOCHS-T8", story=silent, subjects=("member b",), severity=Severity.MEDIUM,
           says="is at epoch 2, behind target 3"),
    NearMiss(code="EPOCHS-T8", exception="it has tasks to give up first", story=silent_while_it_revokes),
    Broken(code="EPOCHS-T9", story=waits_for_an_away_member, subjects=("member a",), severity=Severity.HIGH,
           says="has waited for 0_3"),
    NearMiss(code="EPOCHS-T9", exception="a newer target came meanwhile", story=waits_anew),
    Broken(code="EPOCHS-T10", story=no_target_comes, subjects=("group g",), severity=Severity.HIGH,
           says="has been at epoch 3 since 2027-01-15 08:00:05 UTC, with a target of epoch 2"),
    NearMiss(code="EPOCHS-T10", exception="nobody is in the group", story=nobody_there),
    Broken(code="EPOCHS-T11", story=task_left_out, subjects=("group g",), severity=Severity.CRITICAL,
           says="0_4: active in no member's target"),
    NearMiss(code="EPOCHS-T11", exception="a new target is due", story=left_out_while_a_target_is_due),
    NearMiss(code="EPOCHS-T11", exception="a topic of the topology is missing", story=topic_missing),
    Broken(code="EPOCHS-T12", story=two_copies, subjects=("member a", "member b"), severity=Severity.HIGH,
           says="0_0, 0_0 (standby): in"),
    NearMiss(code="EPOCHS-T12", exception="two processes on one host", story=two_processes_on_one_host),
    Broken(code="EPOCHS-T13", story=warms_up_alone, subjects=("member b",), severity=Severity.HIGH,
           says="0_1 (warm-up): nobody is to run it"),
)  # fmt: skip
