"""How kafkajs, kafka-go and @platformatic/kafka deal: examples of their own tests, and what holds for all of them."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.assignors.consumer import other_deals
from rebalance_monitor.assignors.consumer.model import ConsumerMember


def topics(**counts: int) -> dict[str, tuple[frozenset[str], ...]]:
    return {name: (frozenset[str](),) * count for name, count in counts.items()}


def members(*names: str, subscribed: tuple[str, ...] = ("a", "b")) -> list[ConsumerMember]:
    return [ConsumerMember(id=name, topics=subscribed) for name in names]


def test_kafkajs_goes_on_with_the_circle_from_topic_to_topic() -> None:
    """The example in kafkajs' own test."""
    shares = other_deals.kafkajs(members("m3", "m1", "m4", "m2"), ("a", "b"), topics(a=14, b=5))
    assert {name: [shown for shown in share if shown[0] == "b"] for name, share in shares.items()} == {
        "m1": [("b", 2)],
        "m2": [("b", 3)],
        "m3": [("b", 0), ("b", 4)],
        "m4": [("b", 1)],
    }
    assert [number for name, number in shares["m1"] if name == "a"] == [0, 4, 8, 12]


def test_kafkajs_deals_the_topics_in_the_order_of_its_leader() -> None:
    assert other_deals.kafkajs(members("m1", "m2"), ("b", "a"), topics(a=1, b=1)) == {
        "m1": (("b", 0),),
        "m2": (("a", 0),),
    }


def test_kafkajs_sorts_members_by_utf_16() -> None:
    """JavaScript compares code units: a character beyond the first plane sorts before U+FF61."""
    shares = other_deals.kafkajs(members("\uff61", "\U0001f600"), ("a",), topics(a=1))
    assert shares == {"\U0001f600": (("a", 0),), "\uff61": ()}


def test_before_1_13_each_topic_began_with_the_first_member() -> None:
    shares = other_deals.kafkajs_before_1_13(members("m1", "m2"), ("a", "b"), topics(a=1, b=1))
    assert shares == {"m1": (("a", 0), ("b", 0)), "m2": ()}


def test_kafka_go_cuts_a_topic_where_the_share_of_each_member_ends() -> None:
    """Kafka's class gives the larger block to the first member, kafka-go to the last."""
    assert other_deals.kafka_go(members("m2", "m1", subscribed=("a",)), topics(a=5), other_deals.blocks) == {
        "m1": (("a", 0), ("a", 1)),
        "m2": (("a", 2), ("a", 3), ("a", 4)),
    }


def test_platformatic_deals_in_the_order_of_the_coordinator_in_earlier_releases() -> None:
    asked = members("m2", "m1", subscribed=("a",))
    early = other_deals.platformatic(asked, ("a",), topics(a=1), other_deals.circle, ordered=False)
    late = other_deals.platformatic(asked, ("a",), topics(a=1), other_deals.circle, ordered=True)
    assert early == {"m2": (("a", 0),), "m1": ()}
    assert late == {"m2": (), "m1": (("a", 0),)}


def test_sarama_sorts_partitions_as_text() -> None:
    shares = other_deals.sarama_circle(members("m2", "m1", subscribed=("a",)), topics(a=11))
    assert [number for _, number in shares["m1"]] == [0, 10, 3, 5, 7, 9]
    assert [number for _, number in shares["m2"]] == [1, 2, 4, 6, 8]


def test_ruby_kafka_takes_members_as_they_are_listed() -> None:
    shares = other_deals.ruby_kafka(members("m2", "m1", subscribed=("b", "a")), topics(a=1, b=2))
    assert shares == {"m2": (("a", 0), ("b", 1)), "m1": (("b", 0),)}


def test_kafka_node_takes_topics_as_they_are_subscribed_to() -> None:
    asked = members("m2", "m1", subscribed=("b", "a"))
    assert other_deals.kafka_node(asked, topics(a=1, b=1)) == {"m1": (("b", 0),), "m2": (("a", 0),)}
    assert other_deals.ruby_kafka_before_1_4(asked, topics(a=1, b=1)) == {"m2": (("b", 0),), "m1": (("a", 0),)}
    passed = [ConsumerMember(id="m1", topics=("a",)), ConsumerMember(id="m2", topics=("b", "a"))]
    assert other_deals.kafka_node(passed, topics(a=1, b=1)) == {"m1": (("a", 0),), "m2": (("b", 0),)}


@given(
    st.integers(1, 7),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9)),
    st.sampled_from(["circle", "blocks"]),
)
def test_each_partition_of_the_leaders_topics_is_dealt_once(size: int, counts: dict[str, int], name: str) -> None:
    deal = other_deals.circle if name == "circle" else other_deals.blocks
    asked = members(*(f"m{number}" for number in range(size)), subscribed=tuple(counts))
    shares = other_deals.platformatic(asked, tuple(counts), topics(**counts), deal, ordered=True)
    dealt = sorted(one for share in shares.values() for one in share)
    assert dealt == sorted((topic, number) for topic, count in counts.items() for number in range(count))
    sizes = [len(share) for share in shares.values()]
    assert max(sizes) - min(sizes) <= (1 if name == "circle" else len(counts))
