"""Cases of share groups: SHARE-H1 to H5, and what only looks like them."""

from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.targets.timing import COVERED_MS
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.share import LATER_STATE, SESSION_MS, Share, first, numbers, pair

SLACK_MS = 5_000
TARGET_MS = SESSION_MS + SLACK_MS
MEMBER_MS = SESSION_MS + COVERED_MS


def back() -> Story:
    story = pair()
    story.after().epoch(1)
    return story.until(1_000)


def member_back() -> Story:
    story = pair()
    story.after().holds("a", 2, numbers("2 3"))
    return story.until(1_000)


def ahead_of_the_target() -> Story:
    story = pair()
    story.after().holds("a", 5, numbers("2 3"))
    return story.until(1_000)


def made_again() -> Story:
    story = pair()
    story.after().gone("a", "b", epoch=4)
    for type_ in (15, 12, 11):
        story.write(type_, None)
    story.after().member("c")
    story.epoch(1)
    story.target(1, {"c": {}})
    story.holds("c", 1, {})
    return story.until(1_000)


def came_back() -> Story:
    """The same member id left and joined again: a new member."""
    story = pair()
    story.after().gone("b", epoch=4)
    story.after().member("b")
    story.epoch(5)
    story.target(5, {"b": numbers("0 1")})
    story.holds("b", 5, numbers("0 1"))
    story.after().holds("a", 5, numbers("2 3"))
    return story.until(1_000)


def holds_less() -> Story:
    story = pair()
    story.after().holds("a", 3, numbers("2"))
    return story.until(1_000)


def holds_more() -> Story:
    story = pair()
    story.after().holds("a", 3, numbers("1 2 3"))
    return story.until(1_000)


def subscribes_no_more() -> Story:
    """Nobody subscribes to the topic any more: the assignor leaves it in the target, the member has nothing of it."""
    story = pair()
    story.after().member("a", ("other",))
    story.epoch(4)
    story.target(4, {})
    story.holds("a", 4, {})
    return story.until(1_000)


def topic_deleted() -> Story:
    """Its partitions have no share state any more; who had them has nothing until the next target."""
    story = pair()
    story.after().initialized({})
    story.after().holds("a", 3, {})
    return story.until(1_000)


def of_a_later_release() -> Story:
    story = pair()
    story.after().holds("a", 3, numbers("2"), state=LATER_STATE)
    return story.until(1_000)


def left_behind() -> Share:
    """c joined, b has its new target, a does not ask."""
    story = pair()
    story.after().member("c")
    story.epoch(4)
    story.target(4, {"a": numbers("3"), "c": numbers("2")})
    story.holds("c", 4, numbers("2"))
    story.after(0).holds("b", 4, numbers("0 1"))
    return story


def did_not_move() -> Story:
    return left_behind().until(TARGET_MS + 1)


def moves_in_time() -> Story:
    story = left_behind()
    story.after(TARGET_MS - 1_000).holds("a", 4, numbers("3"))
    return story.until(600_000)


def removed_in_time() -> Story:
    story = left_behind()
    story.after(SESSION_MS).gone("a", epoch=5)
    story.after().epoch(6)
    story.target(6, {"b": numbers("0 1"), "c": numbers("2 3")})
    story.holds("c", 6, numbers("2 3"))
    story.after().holds("b", 6, numbers("0 1"))
    return story.until(600_000)


def without_a_target() -> Story:
    story = pair()
    story.after().gone("b", epoch=4)
    return story.until(TARGET_MS + 1)


def nobody_left() -> Story:
    story = pair()
    story.after().gone("a", "b", epoch=4)
    return story.until(600_000)


def in_no_target() -> Story:
    """A partition has share state, and the target leaves it out."""
    story = pair()
    story.after().gone("b", epoch=4)
    story.after().epoch(5)
    story.target(5, {"a": numbers("1 2 3")})
    story.holds("a", 5, numbers("1 2 3"))
    return story.until(MEMBER_MS)


def never_initialized() -> Story:
    """The topic has a partition that never gets share state."""
    story = pair()
    story.sampled(5)
    story.after(60_000).epoch(4, 2)
    story.target(4, {})
    story.holds("a", 4, numbers("2 3"))
    story.initialized(numbers("0 1 2 3"), numbers("4"))
    story.after().holds("b", 4, numbers("0 1"))
    return story.until(MEMBER_MS)


def initialized_in_time() -> Story:
    story = first()
    story.sampled(4)
    story.after(MEMBER_MS - 2_000).initialized(numbers("0 1 2 3"))
    story.after().epoch(2)
    story.target(2, {"a": numbers("0 1 2 3")})
    story.holds("a", 2, numbers("0 1 2 3"))
    return story.until(1_200_000)


def a_new_target_is_due() -> Story:
    """What is in no target then is H4's to say."""
    story = pair()
    story.after().gone("b", epoch=4)
    return story.until(MEMBER_MS + 1)


def not_subscribed() -> Story:
    """A topic that has share state from before, which nobody subscribes to."""
    story = Share(ids={"a": bytes(range(16)), "b": bytes(range(1, 17))})
    story.member("a")
    story.epoch(1)
    story.target(1, {"a": {}})
    story.holds("a", 1, {})
    story.after().initialized({"a": [0], "b": [0]})
    story.after().epoch(2)
    story.target(2, {"a": {"a": [0]}})
    story.holds("a", 2, {"a": [0]})
    return story.until(1_200_000)


CASES: tuple[Case, ...] = (
    Broken(code="SHARE-H1", story=back, subjects=("group g",), severity=Severity.HIGH,
           says="has a target of epoch 3 at group epoch 1"),
    Broken(code="SHARE-H1", story=member_back, subjects=("member a",), severity=Severity.HIGH, says="is at epoch 2"),
    Broken(code="SHARE-H1", story=ahead_of_the_target, subjects=("member a",), severity=Severity.HIGH,
           says="is at epoch 5, with a target of epoch 3"),
    NearMiss(code="SHARE-H1", exception="the group was deleted and made again", story=made_again),
    NearMiss(code="SHARE-H1", exception="a member left and joined again", story=came_back),
    Broken(code="SHARE-H2", story=holds_less, subjects=("member a",), severity=Severity.HIGH,
           says="does not hold exactly its target: a-3"),
    Broken(code="SHARE-H2", story=holds_more, subjects=("member a",), severity=Severity.HIGH, says=": a-1"),
    NearMiss(code="SHARE-H2", exception="a topic of its target that it does not subscribe to any more",
             story=subscribes_no_more),
    NearMiss(code="SHARE-H2", exception="a topic that was deleted, or that nobody has named", story=topic_deleted),
    NearMiss(code="SHARE-H2", exception="a state that no known release has", story=of_a_later_release),
    Broken(code="SHARE-H3", story=did_not_move, subjects=("member a",), severity=Severity.MEDIUM,
           says="is at epoch 3, behind target 4 since 2027-01-15 08:00:05 UTC"),
    NearMiss(code="SHARE-H3", exception="it moved, or was removed, in time", story=moves_in_time),
    NearMiss(code="SHARE-H3", exception="it moved, or was removed, in time", story=removed_in_time),
    Broken(code="SHARE-H4", story=without_a_target, subjects=("group g",), severity=Severity.HIGH,
           says="has been at epoch 4 since 2027-01-15 08:00:05 UTC, with a target of epoch 3"),
    NearMiss(code="SHARE-H4", exception="nobody is in the group", story=nobody_left),
    Broken(code="SHARE-H5", story=in_no_target, subjects=("partition a-0",), severity=Severity.CRITICAL,
           says="a-0 is in no member's target (epoch 5)"),
    Broken(code="SHARE-H5", story=never_initialized, subjects=("partition a-4",), severity=Severity.CRITICAL,
           says="its share state was never initialized"),
    NearMiss(code="SHARE-H5", exception="a target that came in time", story=initialized_in_time),
    NearMiss(code="SHARE-H5", exception="a new target is due", story=a_new_target_is_due, at_most=Severity.HIGH),
    NearMiss(code="SHARE-H5", exception="a topic that nobody subscribes to", story=not_subscribed),
)  # fmt: skip
