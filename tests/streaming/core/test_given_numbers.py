"""What an answer allows of the topics that its leader knew."""

import pytest

from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember
from rebalance_monitor.streaming.core.consumer.given_numbers import given_numbers

HELD = (("t", 0), ("t", 2), ("t", 5))
MEMBER = ConsumerMember(id="m1", topics=("t", "u"), owned=HELD, claim=Claim(HELD, 3))
GIVEN = {"m1": (("t", 0), ("t", 1), ("t", 3))}


@pytest.mark.parametrize(
    ("assignor", "counts"),
    [
        ("range", set[int]()),  # t-2 is missing, which range would give
        ("sticky", set[int]()),
        ("cooperative-sticky", {4}),  # t-2 changes hands
    ],
)
def test_every_partition_that_a_leader_knows_is_given_or_held_back(assignor: str, counts: set[int]) -> None:
    numbers = given_numbers(assignor, [MEMBER], GIVEN)
    assert {count for count in range(9) if numbers.may_be("t", [None] * count)} == counts
    assert not numbers.may_be("t", None)


@pytest.mark.parametrize("assignor", ["range", "sticky", "cooperative-sticky"])
def test_a_topic_of_which_nothing_is_given_was_not_known(assignor: str) -> None:
    numbers = given_numbers(assignor, [MEMBER], GIVEN)
    assert numbers.may_be("u", None)
    assert not numbers.may_be("u", [None])


def test_a_sticky_leader_may_keep_what_a_topic_has_no_more() -> None:
    given = {"m1": (("t", 0), ("t", 1), ("t", 5))}
    assert given_numbers("sticky", [MEMBER], given).may_be("t", [None] * 2)
    assert not given_numbers("range", [MEMBER], given).may_be("t", [None] * 2)
