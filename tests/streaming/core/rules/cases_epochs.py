"""Cases of KIP-848 groups: EPOCHS-E1 to E11, and what only looks like them."""

from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.targets.timing import COVERED_MS
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.epochs import (
    LATER_STATE,
    REBALANCE_MS,
    SESSION_MS,
    TOPIC,
    UNRELEASED,
    UNREVOKED,
    Epochs,
    pair,
)

HEARTBEAT_MS, SLACK_MS, AWAY = 5_000, 5_000, -2
REVOKE_MS = REBALANCE_MS + HEARTBEAT_MS + SLACK_MS
WAIT_MS = REBALANCE_MS + REVOKE_MS + SESSION_MS
TARGET_MS = SESSION_MS + SLACK_MS
OWNER_MS = REBALANCE_MS + SESSION_MS + COVERED_MS


def moving(story: Epochs) -> Epochs:
    """c has joined; b has to give 3 up to it."""
    story.after().member("c")
    story.epoch(3)
    story.target(3, b="2", c="3")
    story.holds("c", 3, "", state=UNRELEASED)
    story.after().holds("a", 3, "0 1")
    return story


def held_by_two() -> Story:
    story = moving(pair())
    story.after().holds("b", 2, "2", state=UNREVOKED, pending="3")
    story.after().holds("c", 3, "3")
    return story.until(1_000)


def in_two_targets() -> Story:
    story = pair()
    story.after().epoch(3)
    story.target(3, a="0 1 2")
    return story.until(1_000)


def ahead_of_the_target() -> Story:
    story = pair()
    story.after().holds("a", 5, "0 1")
    return story.until(1_000)


def back() -> Story:
    story = pair()
    story.after().epoch(1)
    return story.until(1_000)


def made_again() -> Story:
    story = pair()
    story.after().gone("a", "b", epoch=3)
    story.after().write(6, None)
    story.write(3, None)
    story.after().member("c")
    story.epoch(1)
    story.target(1, c="0 1 2 3")
    story.holds("c", 1, "0 1 2 3")
    return story.until(1_000)


def member_back() -> Story:
    """b is at epoch 1 again: of what the coordinator wrote meanwhile it knows nothing."""
    story = pair()
    story.after().holds("b", 1, "2 3")
    return story.until(1_000)


def joined_again() -> Story:
    """b was removed, and joins under its id while the epochs are lower than its last one was."""
    story = pair()
    story.after().holds("b", AWAY, "2 3")
    story.after().gone("b", epoch=3)
    story.after().target(3, a="0 1 2 3")
    story.holds("a", 3, "0 1 2 3")
    story.after().member("b")
    story.holds("b", 0, "", state=UNRELEASED)
    return story.until(1_000)


def static_and_back() -> Story:
    """Epoch -2 is no step back, and the epoch after it follows the one before."""
    story = pair()
    story.after().holds("b", AWAY, "2 3")
    story.after().holds("b", 2, "2 3")
    return story.until(1_000)


def stable_with_another_share() -> Story:
    story = pair()
    story.after().holds("b", 2, "2")
    return story.until(1_000)


def smaller_subscription() -> Story:
    story = pair()
    story.after().epoch(3)
    story.holds("b", 2, "2")
    return story.until(1_000)


def static_and_away() -> Story:
    story = pair()
    story.after().holds("b", AWAY, "2")
    return story.until(1_000)


def revokes_nothing() -> Story:
    story = pair()
    story.after().holds("b", 2, "2 3", state=UNREVOKED)
    return story.until(1_000)


def loses_while_it_revokes() -> Story:
    """b has to give 3 up; 2 is not there any more either."""
    story = pair()
    story.after().epoch(3)
    story.target(3, a="0 1 3", b="2")
    story.holds("b", 2, "", state=UNREVOKED, pending="3")
    return story.until(1_000)


def gives_up_while_a_target_is_due() -> Story:
    """b does not read the topic of 3 any more, which its target still names."""
    story = pair()
    story.after().epoch(3)
    story.holds("b", 2, "2", state=UNREVOKED, pending="3")
    return story.until(1_000)


def later_state() -> Story:
    story = pair()
    story.after().holds("b", 2, "2 3", state=LATER_STATE)
    return story.until(1_000)


def waits_though_it_has_all() -> Story:
    story = pair()
    story.after().holds("b", 2, "2 3", state=UNRELEASED)
    return story.until(1_000)


def revoking(story: Epochs) -> Epochs:
    """b has to give 3 up and does not; nobody else waits for it yet."""
    story.after().epoch(3)
    story.target(3, a="0 1 3", b="2")
    story.holds("b", 2, "2", state=UNREVOKED, pending="3")
    story.holds("a", 3, "0 1", state=UNRELEASED)
    return story


def does_not_revoke() -> Story:
    return revoking(pair()).until(REVOKE_MS + 1)


def removed_in_time() -> Story:
    story = revoking(pair())
    story.after(REBALANCE_MS).gone("b", epoch=4)
    story.after().target(4, a="0 1 2 3")
    story.holds("a", 4, "0 1 2 3")
    return story.until(REVOKE_MS)


def silent() -> Story:
    story = pair()
    story.after().epoch(3)
    story.target(3, a="0", b="1 2 3")
    story.holds("a", 3, "0")
    return story.until(SESSION_MS + SLACK_MS + 1)


def silent_while_it_revokes() -> Story:
    return revoking(pair()).until(SESSION_MS + SLACK_MS + 1)


def silent_until_it_joins() -> Story:
    story = pair()
    story.after().member("b", classic=True)
    story.after().epoch(3)
    story.target(3, a="0", b="1 2 3")
    story.holds("a", 3, "0")
    return story.until(SESSION_MS + REBALANCE_MS)


def waits_for_an_away_member() -> Story:
    """b is static and away, and the coordinator keeps its partitions for longer than any time-out."""
    story = pair()
    story.after().holds("b", AWAY, "2 3")
    story.after().epoch(3)
    story.target(3, a="0 1 3", b="2")
    story.holds("a", 3, "0 1", state=UNRELEASED)
    return story.until(WAIT_MS + 1)


def waits_anew() -> Story:
    story = pair()
    story.after().holds("b", AWAY, "2 3")
    story.after().epoch(3)
    story.target(3, a="0 1 3", b="2")
    story.holds("a", 3, "0 1", state=UNRELEASED)
    story.after(WAIT_MS - 1_000).epoch(4)
    story.target(4, a="0 1 2", b="3")
    story.holds("a", 4, "0 1", state=UNRELEASED)
    return story.until(5_000)


def no_target_comes() -> Story:
    story = pair()
    story.after().epoch(3)
    return story.until(TARGET_MS + 1)


def classic_members_alone() -> Story:
    story = pair()
    for name in "ab":
        story.after().member(name, classic=True)
    story.after().epoch(3)
    return story.until(SESSION_MS + REBALANCE_MS)


def nobody_there() -> Story:
    story = pair()
    story.after().gone("a", "b", epoch=3)
    return story.until(TARGET_MS + 1)


def partition_left_out() -> Story:
    return pair(partitions=5).until(OWNER_MS)


def left_out_while_a_target_is_due() -> Story:
    story = pair(partitions=5)
    story.after().epoch(3)
    return story.until(OWNER_MS)


def other_pattern() -> Story:
    """As coordinators of 4.3 write it: b has no topics until it is known which ones fit its pattern."""
    story = pair()
    story.after().member("b", pattern="[ab]")
    story.holds("b", 2, "", state=UNREVOKED, pending="2 3")
    story.after().holds("b", 2, "")
    story.after().resolved("[ab]", TOPIC)
    story.epoch(3)
    return story


def target_in_time() -> Story:
    story = pair(partitions=5)
    story.after().epoch(3)
    story.target(3, b="2 3 4")
    story.holds("b", 3, "2 3 4")
    story.holds("a", 3, "0 1")
    return story.until(OWNER_MS)


CASES: tuple[Case, ...] = (
    Broken(code="EPOCHS-E1", story=held_by_two, subjects=("partition a-3",), severity=Severity.CRITICAL,
           says="is held by b and c"),
    Broken(code="EPOCHS-E2", story=in_two_targets, subjects=("partition a-2",), severity=Severity.CRITICAL,
           says="in the targets of a and b"),
    Broken(code="EPOCHS-E3", story=ahead_of_the_target, subjects=("member a",), severity=Severity.HIGH,
           says="ahead of the target's 2"),
    Broken(code="EPOCHS-E3", story=back, subjects=("group g",), severity=Severity.HIGH, says="went back to epoch 1"),
    Broken(code="EPOCHS-E3", story=member_back, subjects=("member b",), severity=Severity.HIGH,
           says="went back from epoch 2 to 1"),
    NearMiss(code="EPOCHS-E3", exception="the group was deleted and made again", story=made_again),
    NearMiss(code="EPOCHS-E3", exception="the member was removed and joined again", story=joined_again),
    NearMiss(code="EPOCHS-E3", exception="a static member that came back", story=static_and_back),
    Broken(code="EPOCHS-E4", story=stable_with_another_share, subjects=("member b",), severity=Severity.HIGH,
           says="does not hold exactly its target: a-3"),
    NearMiss(code="EPOCHS-E4", exception="a subscription that became smaller, while a target is due",
             story=smaller_subscription),
    NearMiss(code="EPOCHS-E4", exception="another regular expression, until it is resolved", story=other_pattern),
    NearMiss(code="EPOCHS-E4", exception="a static member that is away", story=static_and_away),
    Broken(code="EPOCHS-E5", story=revokes_nothing, subjects=("member b",), severity=Severity.MEDIUM,
           says="UNREVOKED_PARTITIONS with 0 partitions"),
    Broken(code="EPOCHS-E5", story=loses_while_it_revokes, subjects=("member b",), severity=Severity.MEDIUM,
           says="has not what follows from its record before: a-2"),
    Broken(code="EPOCHS-E5", story=later_state, subjects=("member b",), severity=Severity.INFO,
           says="is in state 7, which no known release has"),
    NearMiss(code="EPOCHS-E5", exception="a state that no known release has", story=later_state, at_most=Severity.INFO),
    NearMiss(code="EPOCHS-E5", exception="a subscription that became smaller, while a target is due",
             story=gives_up_while_a_target_is_due),
    Broken(code="EPOCHS-E6", story=waits_though_it_has_all, subjects=("member b",), severity=Severity.MEDIUM,
           says="UNRELEASED_PARTITIONS at epoch 2"),
    Broken(code="EPOCHS-E7", story=does_not_revoke, subjects=("member b",), severity=Severity.HIGH,
           says="has not given up a-3 since 2027-01-15 08:00:05 UTC"),
    NearMiss(code="EPOCHS-E7", exception="the coordinator removed the member in time", story=removed_in_time),
    Broken(code="EPOCHS-E8", story=silent, subjects=("member b",), severity=Severity.MEDIUM,
           says="is at epoch 2, behind target 3"),
    NearMiss(code="EPOCHS-E8", exception="it has partitions to give up first", story=silent_while_it_revokes),
    NearMiss(code="EPOCHS-E8", exception="a member of the classic protocol has its rebalance time-out, too",
             story=silent_until_it_joins),
    Broken(code="EPOCHS-E9", story=waits_for_an_away_member, subjects=("member a",), severity=Severity.HIGH,
           says="has waited for a-3"),
    NearMiss(code="EPOCHS-E9", exception="a newer target came meanwhile", story=waits_anew),
    Broken(code="EPOCHS-E10", story=no_target_comes, subjects=("group g",), severity=Severity.HIGH,
           says="has been at epoch 3 since 2027-01-15 08:00:05 UTC, with a target of epoch 2"),
    NearMiss(code="EPOCHS-E10", exception="nobody is in the group", story=nobody_there),
    NearMiss(code="EPOCHS-E10", exception="members of the classic protocol alone have their rebalance time-out, too",
             story=classic_members_alone),
    Broken(code="EPOCHS-E11", story=partition_left_out, subjects=("partition a-4",), severity=Severity.CRITICAL,
           says="a-4 is in no member's target"),
    NearMiss(code="EPOCHS-E11", exception="a new target is due", story=left_out_while_a_target_is_due),
    NearMiss(code="EPOCHS-E11", exception="a target that came in time", story=target_in_time),
)  # fmt: skip
