"""Cases of the laws about headers, bytes and the answer as a whole: CONNECT-I9 to I13, CONSUMER-C12."""

from dataclasses import replace

from rebalance_monitor.schemas.group_metadata import GroupMember
from rebalance_monitor.streaming.core.model.findings import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_record import (
    NOTHING_KNOWN,
    W1,
    W2,
    C,
    H,
    M,
    broken,
    fresh_pair,
    near,
    pair,
    swapped_answer,
)
from tests.streaming.core.rules.consumers import Consumer, group
from tests.streaming.core.rules.edits import blob, everyone, header


def wrong_leader_url() -> Story:
    story = fresh_pair()
    story.rebalance(header("w2", leader_url="http://elsewhere:8083/"))
    return story


def version_1_for_sessioned() -> Story:
    return pair(story=Story(era="A3a", known=NOTHING_KNOWN))


def version_1_of_a_release_that_writes_2() -> Story:
    known = replace(NOTHING_KNOWN, max_delay_ms=300_000, release="3.9.1")
    story = fresh_pair(story=Story(known=known))
    story.rebalance(everyone(version=1))
    return story


def version_3_for_sessioned() -> Story:
    story = fresh_pair()
    story.rebalance(everyone(version=3))
    return story


def release_older_than_the_protocol() -> Story:
    return pair(story=Story(known=replace(NOTHING_KNOWN, release="2.0.1")))


def offset_too_low() -> Story:
    story = fresh_pair()
    story.rebalance(everyone(config_offset=len(story.snapshots) - 2))
    return story


def delay_too_long() -> Story:
    story = fresh_pair()
    story.rebalance(everyone(delay_ms=300_001))
    return story


def long_delay_of_unknown_leader() -> Story:
    story = pair(story=Story(max_delay_ms=900_000, known=NOTHING_KNOWN))
    story.leave("w2")
    story.rebalance()
    return story


def left_out() -> Story:
    story = fresh_pair()
    story.rebalance(blob("w2", b""))
    return story


def swapped() -> Story:
    story = fresh_pair(4)
    story.rebalance(swapped_answer("w1", "c1-0", "w2", "c1-1"))
    return story


def old_family_unannounced() -> Story:
    story = fresh_pair(7, story=Story(era="A3a", known=replace(NOTHING_KNOWN, max_delay_ms=300_000)))
    story.rebalance()
    story.join("w3")
    story.rebalance()
    story.rebalance()
    return story


def fork() -> Story:
    return pair(story=Story(called="cooperative-fork"))


def unseen_rounds() -> Story:
    """The round in which the delay began left no record."""
    story = pair(6)
    story.leave("w2")
    story.rebalance(recorded=False)
    story.join("w3")
    story.rebalance()
    story.rebalance(after_ms=300_000)
    return story


def unreadable_consumer() -> Story:
    story = Story()
    story.generation = 1
    member = GroupMember(
        member_id="consumer-1",
        client_id="consumer",
        client_host="/10.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=b"\x00",
        assignment=b"",
    )
    story.group_record((member,), protocol_type="consumer")
    return story


def about_to_join(protocol_type: str) -> Story:
    """A member of which there is nothing yet but its name."""
    story = Story()
    story.generation = 1
    member = GroupMember(
        member_id="new-1",
        client_id="new",
        client_host="/10.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=b"",
        assignment=b"",
    )
    story.group_record((member,), protocol_type=protocol_type)
    return story


def a_worker_about_to_join() -> Story:
    return about_to_join("connect")


def a_consumer_about_to_join() -> Story:
    return about_to_join("consumer")


def a_subscription_that_ends_behind_its_user_data() -> Story:
    return group("range", (Consumer(id="m1", given="a-0 a-1", version=1, short=True),))


CASES: tuple[Case, ...] = (
    broken("I9", wrong_leader_url, C, W2, says="leader URL"),
    near(
        "I9",
        "the leader runs another release than the configured one: info",
        version_1_of_a_release_that_writes_2,
        Severity.INFO,
    ),
    broken("I9", version_3_for_sessioned, C, W1, says="version 3"),
    near("I9", "releases before 3.3 write version 1 for sessioned", version_1_for_sessioned),
    near("I9", "releases before 3.3 write version 1 for sessioned", release_older_than_the_protocol),
    broken("I10", offset_too_low, H, W1),
    broken("I11", delay_too_long, M, W1),
    near("I11", "the leader's maximum is not known", long_delay_of_unknown_leader),
    broken("I12", left_out, H, "member connect-w2:8083-00000002", says="empty"),
    near("I12", "a member that is about to join has neither", a_worker_about_to_join),
    broken("I13", swapped, H, W1, says="was given other connectors or tasks than expected"),
    near("I13", "an older algorithm family", old_family_unannounced),
    near("I13", "an unknown fork that speaks a protocol of its own", fork),
    near("I13", "a gap in the history", unseen_rounds),
    Broken(code="CONSUMER-C12", story=unreadable_consumer, severity=H, subjects=("member consumer-1",)),
    NearMiss(
        code="CONSUMER-C12",
        exception="a member that is about to join has neither",
        story=a_consumer_about_to_join,
    ),
    NearMiss(
        code="CONSUMER-C12",
        exception="a subscription that ends behind its user data",
        story=a_subscription_that_ends_behind_its_user_data,
    ),
)
