"""A classic consumer group's history under the protocol of KIP-848: what a coordinator's targets would have moved."""

import pytest

from rebalance_monitor.streaming.stories.whatif.change import WrongChange
from rebalance_monitor.streaming.stories.whatif.consumer import DealtMember
from rebalance_monitor.streaming.stories.whatif.consumer_targets import TargetDeal, target_ways
from rebalance_monitor.streaming.stories.whatif.history import under_assignor, under_targets
from tests.streaming.stories.whatif.test_rolling import CLASSIC, until

TOPICS = {"a": [frozenset[str]()] * 5, "b": [frozenset[str]()] * 3}
DEALS = [way.deal(TOPICS) for way in target_ways("uniform", None)]


def held(deal: TargetDeal, members: dict[str, DealtMember]) -> dict[str, DealtMember]:
    shares = deal.shares(members)
    assert shares is not None
    assert sorted(part for share in shares.values() for part in share) == [("a", n) for n in range(5)] + [
        ("b", n) for n in range(3)
    ]
    return {one: DealtMember(None, shares[one], 1) for one in members}


@pytest.mark.parametrize("deal", DEALS, ids=lambda deal: f"{deal.release}-{deal.java_version}-{deal.turn}")
def test_everything_is_given_out_evenly_and_who_stays_keeps_what_it_had(deal: TargetDeal) -> None:
    three = held(deal, {name: DealtMember(None, (), -1) for name in ("m1", "m2", "m3")})
    assert sorted(len(one.holds) for one in three.values()) == [2, 3, 3]
    two = held(deal, {name: three[name] for name in ("m1", "m3")})
    assert [len(one.holds) for one in two.values()] == [4, 4]
    assert all(set(three[name].holds) <= set(two[name].holds) for name in two)


def test_ids_that_nobody_knows_make_a_range() -> None:
    empty = {name: DealtMember(None, (), -1) for name in ("m1", "m2", "m3")}
    assert len({tuple(sorted(held(deal, empty).items(), key=lambda one: one[0])) for deal in DEALS}) > 1


def test_a_partition_that_changes_hands_takes_no_second_rebalance() -> None:
    history = until(CLASSIC, "j-range", 56)
    recorded, targets = under_assignor(history, "range").recorded, under_targets(history, "uniform")
    assert targets.recorded == recorded
    assert targets.range_of("rebalances") == (recorded.rebalances, recorded.rebalances)
    assert targets.range_of("stopped")[1] < recorded.stopped / 5


@pytest.mark.parametrize(
    ("name", "release", "sentence"),
    [
        ("sticky", None, "'sticky' is no assignor of the protocol consumer; take one of uniform, range"),
        ("uniform", "3.6", "Kafka 3.6 has no protocol consumer; take 3.7 or a later release"),
        ("uniform", "new", "new"),
    ],
)
def test_what_the_protocol_does_not_have_is_refused(name: str, release: str | None, sentence: str) -> None:
    with pytest.raises(WrongChange, match=sentence):
        target_ways(name, release)
