"""Cases of the laws about a consumer leader's answer: CONSUMER-C02 to C08, C10, C11, C13, C15 and C16."""

from dataclasses import replace

from rebalance_monitor.assignors.consumer.other_deals import ROUND_ROBIN_ASSIGNER
from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.model.settings import OwnAssignor
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.consumers import Consumer, group, record, shares

C, H, M, L, INFO = Severity
RANGE, ROUNDROBIN, STICKY, COOPERATIVE = "range", "roundrobin", "sticky", "cooperative-sticky"
THE_GROUP = f"group {GROUP}"
EVEN = shares(m1="a-0 a-1", m2="a-2 a-3")
UNEVEN = shares(m1="a-0 a-1 a-2", m2="a-3")
UNKNOWN_CLIENT = "a leader of an unknown client: info"
EACH_TIME = "an assignor of somebody's own that does so in each generation: info"
ON_PURPOSE = "the configuration says that the assignor does so"
WRITTEN_AGAIN = "the same generation was written again"
CONVERTED = "the first record of a group that another protocol may have assigned"


def unknown_leader(story_of: str, members: tuple[Consumer, ...]) -> Story:
    return group(story_of, tuple(replace(one, java=False) for one in members))


# -- C02, C13: who may have what ---------------------------------------------------------------------------------------


def unsubscribed() -> Story:
    return group(ROUNDROBIN, (Consumer(id="m1", given="a-0"), Consumer(id="m2", given="a-1 b-0")))


def unsubscribed_under_another_assignor() -> Story:
    return group("pinned", (Consumer(id="m1", given="a-0 b-0"),))


def unsubscribed_after_a_member_was_replaced() -> Story:
    stays = Consumer(id="m2", given="a-1")
    story = group(ROUNDROBIN, (Consumer(id="m1", given="a-0", instance="i"), stays))
    return record(story, ROUNDROBIN, Consumer(id="m1-2", topics="b", given="a-0", instance="i"), stays, again=True)


def unsubscribed_after_a_conversion() -> Story:
    story = Story()
    story.generation = 6
    return record(story, ROUNDROBIN, Consumer(id="m1", given="a-0 b-0"))


def unsubscribed_for_once_under_another_assignor() -> Story:
    before = (Consumer(id="m1", given="a-0"), Consumer(id="m2", topics="a b", given="a-1 b-0"))
    after = (Consumer(id="m1", given="a-0 b-0"), Consumer(id="m2", topics="a b", given="a-1"))
    return group("pinned", before, after)


def unsubscribed_in_kafkajs() -> Story:
    """m1 leads and subscribes to both topics; all of them are dealt to both members."""
    return group(
        ROUND_ROBIN_ASSIGNER,
        (Consumer(id="m1", topics="a b", given="a-0 b-0", version=0), Consumer(id="m2", given="a-1 b-1", version=0)),
    )


def unsubscribed_and_not_as_kafkajs_deals() -> Story:
    return group(
        ROUND_ROBIN_ASSIGNER,
        (Consumer(id="m1", topics="a b", given="a-1 b-0", version=0), Consumer(id="m2", given="a-0 b-1", version=0)),
    )


def two_owners() -> Story:
    return group(ROUNDROBIN, shares(m1="a-0 a-1", m2="a-1 a-2"))


def two_owners_under_another_assignor() -> Story:
    shared = shares(m1="a-0 a-1", m2="a-0 a-1")
    return group("broadcast", (Consumer(id="m1", given="a-0 a-1"),), shared, shared)


def two_owners_for_once_under_another_assignor() -> Story:
    return group("pinned", shares(m1="a-0", m2="a-1"), shares(m1="a-0 a-1", m2="a-1"))


def two_owners_on_purpose() -> Story:
    story = two_owners_for_once_under_another_assignor()
    story.settings = replace(story.settings, own_assignors={"g*": (OwnAssignor.SHARES,)})
    return story


# -- C03: nothing that somebody still owns -----------------------------------------------------------------------------


def taken_early() -> Story:
    return group(COOPERATIVE, shares(m1="a-0", m2="a-1", held={"m1": "a-0 a-1"}))


def claimed_by_two() -> Story:
    return group(COOPERATIVE, shares(m1="a-0", m2="a-1", held={"m1": "a-0 a-1", "m2": "a-1"}))


def claimed_in_an_older_generation() -> Story:
    m1, m2 = shares(m1="a-0", m2="a-1", held={"m1": "a-0 a-1", "m2": ""})
    return group(COOPERATIVE, (replace(m1, generation=1), replace(m2, generation=4)))


def claimed_in_an_older_generation_by_a_client_before_3_4() -> Story:
    """Only the user data say in which generation m1 held a-1: it never got its share of the one that followed."""
    return group(
        COOPERATIVE,
        (
            Consumer(id="m1", given="a-0", held="a-0 a-1", generation=1, version=1),
            Consumer(id="m2", given="a-1", held="", generation=2, version=1),
        ),
    )


# -- C04, C06, C07: even shares ----------------------------------------------------------------------------------------


def uneven_sticky() -> Story:
    return group(STICKY, UNEVEN)


def held_back() -> Story:
    """a-1 and a-2 change hands: m2 has them after the next generation."""
    return group(COOPERATIVE, shares(m1="a-0 a-3", m2="", held={"m1": "a-0 a-1 a-2 a-3"}))


def uneven_sticky_of_an_unknown_client() -> Story:
    return unknown_leader(STICKY, UNEVEN)


def uneven_range() -> Story:
    return group(RANGE, UNEVEN)


def range_with_a_hole() -> Story:
    return group(RANGE, shares(m1="a-0 a-2", m2="a-1 a-3"))


def range_with_racks() -> Story:
    members = shares(m1="a-0 a-2", m2="a-1 a-3")
    return group(RANGE, tuple(replace(one, rack=f"r{number}") for number, one in enumerate(members)))


def range_of_kafka_python() -> Story:
    static = Consumer(id="s", client_id="kafka-python-2", instance="i", java=False)
    return group(RANGE, (static, Consumer(id="m", given="a-0 a-1 a-2", client_id="kafka-python-2", java=False)))


def range_of_an_unknown_client() -> Story:
    return unknown_leader(RANGE, UNEVEN)


def uneven_roundrobin() -> Story:
    return group(ROUNDROBIN, UNEVEN)


def different_subscriptions() -> Story:
    return group(ROUNDROBIN, (Consumer(id="m1", given="a-0 a-1 a-2"), Consumer(id="m2", topics="b", given="b-0")))


def uneven_roundrobin_of_an_unknown_client() -> Story:
    return unknown_leader(ROUNDROBIN, UNEVEN)


# -- C08: the same number on the same member ---------------------------------------------------------------------------


def not_copartitioned() -> Story:
    return group(RANGE, shares("a b", m1="a-0 a-1 b-2 b-3", m2="a-2 a-3 b-0 b-1"))


def not_copartitioned_by_an_unknown_client() -> Story:
    return unknown_leader(RANGE, shares("a b", m1="a-0 b-1", m2="a-1 b-0"))


def not_copartitioned_with_racks() -> Story:
    members = shares("a b", m1="a-0 b-1", m2="a-1 b-0")
    return group(RANGE, tuple(replace(one, rack=f"r{number}") for number, one in enumerate(members)))


# -- C05, C10: no move that helps nobody -------------------------------------------------------------------------------


def swapped(held_by_m2: str = "a-1 c-0") -> Story:
    return group(
        STICKY,
        (
            Consumer(id="m1", topics="b a", given="b-0 a-1", held="b-0 a-0"),
            Consumer(id="m2", topics="c a", given="c-0 a-0", held=held_by_m2),
        ),
    )


def swapped_after_a_conflict() -> Story:
    return swapped("a-1 c-0 a-0")


def swapped_and_given_twice() -> Story:
    """m1 keeps a-0, which m2 was given too: nothing went from m1 to m2."""
    return group(
        STICKY,
        (
            Consumer(id="m1", topics="b a", given="b-0 a-0 a-1", held="b-0 a-0"),
            Consumer(id="m2", topics="c a", given="c-0 a-0", held="a-1 c-0"),
        ),
    )


def moved_for_nothing() -> Story:
    before = shares("b a", m1="b-0 a-0", m2="b-1 a-1")
    after = shares("b a", m1="b-1 a-0", m2="b-0 a-1", held={"m1": "b-0 a-0", "m2": "b-1 a-1"})
    return group(STICKY, before, after)


def moved_after_a_loss() -> Story:
    """m2 was out of the group for a moment, and comes back with nothing."""
    before = shares("b a", m1="b-0 a-0", m2="b-1 a-1")
    after = shares("b a", m1="b-1 a-0", m2="b-0 a-1", held={"m1": "b-0 a-0"})
    return group(STICKY, before, after)


def moved_for_nothing_by_an_unknown_client() -> Story:
    before = shares(m1="a-0", m2="a-1")
    after = shares(m1="a-1", m2="a-0", held={"m1": "a-0", "m2": "a-1"})
    return group(STICKY, before, tuple(replace(one, java=False) for one in after))


# -- C11: clients that differ ------------------------------------------------------------------------------------------


def mixed_clients() -> Story:
    return group(RANGE, (Consumer(id="m1", given="a-0"), Consumer(id="m2", given="a-1", version=1)))


def a_subscription_that_needs_no_more() -> Story:
    return group(RANGE, (Consumer(id="m1", given="a-0", version=1), Consumer(id="m2", given="a-1", version=0)))


# -- C15, C16: bytes and numbers ---------------------------------------------------------------------------------------


def short_subscription() -> Story:
    return group(RANGE, tuple(replace(one, version=1, short=True) for one in EVEN))


def a_subscription_of_version_0() -> Story:
    return group(RANGE, tuple(replace(one, version=0) for one in EVEN))


def sampled(*samples: tuple[int, int]) -> Story:
    """m1 has a-2. `samples`: how many partitions `a` has, from so many ms after the record on."""
    story = group("pinned", shares(m1="a-0 a-2", m2="a-1"))
    topics = [TopicMetadata(story.now_ms + at_ms, {"a": (frozenset[str](),) * count}) for at_ms, count in samples]
    story.knowledge = knowledge_of(topics)
    return story


def no_such_partition() -> Story:
    return sampled((-10_000, 2), (300_000, 2))


def a_partition_that_came_meanwhile() -> Story:
    return sampled((-10_000, 2), (10_000, 3))


def a_partition_that_no_later_sample_could_show() -> Story:
    return sampled((-10_000, 2))


CASES: tuple[Case, ...] = (
    Broken(code="CONSUMER-C02", story=unsubscribed, subjects=("member m2",), severity=C, says="b-0"),
    Broken(
        code="CONSUMER-C02",
        story=unsubscribed_for_once_under_another_assignor,
        subjects=("member m1",),
        severity=C,
        says="b-0",
    ),
    Broken(
        code="CONSUMER-C02",
        story=unsubscribed_and_not_as_kafkajs_deals,
        subjects=("member m2",),
        severity=C,
        says="b-1",
    ),
    NearMiss(code="CONSUMER-C02", exception=EACH_TIME, story=unsubscribed_under_another_assignor, at_most=INFO),
    NearMiss(
        code="CONSUMER-C02",
        exception="a library that deals the leader's topics to all members: info",
        story=unsubscribed_in_kafkajs,
        at_most=INFO,
    ),
    NearMiss(code="CONSUMER-C02", exception=WRITTEN_AGAIN, story=unsubscribed_after_a_member_was_replaced),
    NearMiss(code="CONSUMER-C02", exception=CONVERTED, story=unsubscribed_after_a_conversion),
    Broken(code="CONSUMER-C03", story=taken_early, subjects=("topic a",), severity=C, says="while m1 still owned it"),
    NearMiss(code="CONSUMER-C03", exception="two members report the partition", story=claimed_by_two),
    NearMiss(
        code="CONSUMER-C03", exception="the report is of an older generation", story=claimed_in_an_older_generation
    ),
    NearMiss(
        code="CONSUMER-C03",
        exception="the report is of an older generation",
        story=claimed_in_an_older_generation_by_a_client_before_3_4,
    ),
    Broken(code="CONSUMER-C04", story=uneven_sticky, subjects=(THE_GROUP,), severity=H, says="1 and 3"),
    NearMiss(code="CONSUMER-C04", exception="partitions that change hands are held back", story=held_back),
    NearMiss(code="CONSUMER-C04", exception=UNKNOWN_CLIENT, story=uneven_sticky_of_an_unknown_client, at_most=INFO),
    Broken(code="CONSUMER-C05", story=swapped, subjects=("topic a",), severity=L, says="a-0 went from m1 to m2"),
    NearMiss(code="CONSUMER-C05", exception="two members reported one partition", story=swapped_after_a_conflict),
    NearMiss(code="CONSUMER-C05", exception="two members were given one partition", story=swapped_and_given_twice),
    Broken(code="CONSUMER-C06", story=uneven_range, subjects=("topic a",), severity=H, says="1 and 3"),
    Broken(code="CONSUMER-C06", story=range_with_a_hole, subjects=("topic a",), severity=H, says="has holes"),
    NearMiss(code="CONSUMER-C06", exception="racks are set: blocks may have holes", story=range_with_racks),
    NearMiss(code="CONSUMER-C06", exception="another library's class of this name", story=range_of_kafka_python),
    NearMiss(code="CONSUMER-C06", exception=UNKNOWN_CLIENT, story=range_of_an_unknown_client, at_most=INFO),
    Broken(code="CONSUMER-C07", story=uneven_roundrobin, subjects=(THE_GROUP,), severity=H),
    NearMiss(code="CONSUMER-C07", exception="subscriptions differ", story=different_subscriptions),
    NearMiss(code="CONSUMER-C07", exception=UNKNOWN_CLIENT, story=uneven_roundrobin_of_an_unknown_client, at_most=INFO),
    Broken(code="CONSUMER-C08", story=not_copartitioned, subjects=("topic b",), severity=H),
    NearMiss(
        code="CONSUMER-C08",
        exception="a leader that is not Kafka's own client",
        story=not_copartitioned_by_an_unknown_client,
    ),
    NearMiss(
        code="CONSUMER-C08",
        exception="racks are set: they may differ between the topics",
        story=not_copartitioned_with_racks,
    ),
    Broken(code="CONSUMER-C10", story=moved_for_nothing, subjects=(THE_GROUP,), severity=M, says="2 partitions"),
    NearMiss(code="CONSUMER-C10", exception="a member lost what it held", story=moved_after_a_loss),
    NearMiss(code="CONSUMER-C10", exception=UNKNOWN_CLIENT, story=moved_for_nothing_by_an_unknown_client, at_most=INFO),
    Broken(code="CONSUMER-C11", story=mixed_clients, subjects=(THE_GROUP,), severity=INFO, says="version 1 by m2"),
    NearMiss(
        code="CONSUMER-C11",
        exception="version 0, which some libraries write where a subscription needs no more",
        story=a_subscription_that_needs_no_more,
    ),
    Broken(code="CONSUMER-C13", story=two_owners, subjects=("topic a",), severity=C, says="a-1 given to m1 and m2"),
    Broken(
        code="CONSUMER-C13",
        story=two_owners_for_once_under_another_assignor,
        subjects=("topic a",),
        severity=C,
        says="a-1 given to m1 and m2",
    ),
    NearMiss(code="CONSUMER-C13", exception=EACH_TIME, story=two_owners_under_another_assignor, at_most=INFO),
    NearMiss(code="CONSUMER-C13", exception=ON_PURPOSE, story=two_owners_on_purpose),
    Broken(code="CONSUMER-C15", story=short_subscription, subjects=(THE_GROUP,), severity=INFO, says="version 1 end"),
    NearMiss(
        code="CONSUMER-C15",
        exception="version 0 has nothing behind the user data",
        story=a_subscription_of_version_0,
    ),
    Broken(code="CONSUMER-C16", story=no_such_partition, subjects=("member m1",), severity=H, says="a-2"),
    NearMiss(code="CONSUMER-C16", exception="the topic has grown meanwhile", story=a_partition_that_came_meanwhile),
    NearMiss(
        code="CONSUMER-C16",
        exception="no sample was taken after the record",
        story=a_partition_that_no_later_sample_could_show,
    ),
)
