"""Groups of whose topics no sample tells: what is known without a run of the assignor, and that it is so."""

from random import Random

import pytest

from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember
from rebalance_monitor.assignors.consumer.sticky_group import CannotAssign
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicHistory, TopicMetadata, history_of
from rebalance_monitor.streaming.core.consumer.assignors import KEEPING
from rebalance_monitor.streaming.core.consumer.awaited_sample import rests_on_samples
from rebalance_monitor.streaming.core.consumer.members import read_members
from rebalance_monitor.streaming.core.consumer.verdict import judge, surely_rests_on_samples
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.streaming.core.test_answer_mutants import generations

SETTINGS = ClusterSettings(name="c")
NO_RACKS = (frozenset[str](),)
AT_MS = 1_000_000


def some_members(dice: Random) -> list[ConsumerMember]:
    """Members that claim partitions, some of them the same ones, of equal or different subscriptions."""
    topics = [("a",), ("a", "b")][: dice.randint(1, 2)]
    members = []
    for number in range(dice.randint(1, 5)):
        held = tuple({(dice.choice("ab"), dice.randrange(3)) for _ in range(dice.randint(0, 3))})
        generation = dice.choice((-1, 3, 4))
        claim = Claim(held, dice.choice((None, generation)))
        members.append(
            ConsumerMember(
                id=f"m{number}",
                instance_id=f"i{number}" if dice.random() < 0.3 else None,
                topics=dice.choice(topics),
                owned=held,
                generation=generation,
                claim=claim,
                claim_again=claim,
            )
        )
    return members


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", KEEPING)
def test_no_sticky_leader_gives_partitions_of_topics_that_it_does_not_know(name: str, seed: int) -> None:
    """So a sample that shows none of a group's topics explains no answer that gives something."""
    assignor, members = KEEPING[name], some_members(Random(seed))
    for era in assignor.eras:
        if name == "cooperative-sticky" and not era.cooperative:
            continue
        try:
            shares = assignor.recompute(members, {}, era=era).shares
        except CannotAssign:
            continue
        assert not any(shares.values()), era.name


def histories(topics: list[str]) -> list[TopicHistory]:
    """None; one that shows another topic; one that shows the first topic alone; one of all of them."""
    counts = dict.fromkeys(topics, NO_RACKS * 4)
    return [
        NO_SAMPLES,
        *(
            history_of([TopicMetadata(at_ms=at_ms, topics=shown)])
            for at_ms in (AT_MS - 60_000, AT_MS + 1_000)
            for shown in ({"other": NO_RACKS}, {topics[0]: NO_RACKS * 4}, counts)
        ),
    ]


def test_what_surely_rests_on_samples_does() -> None:
    sure = 0
    for body in generations("java-classic"):
        read = read_members(body)
        assert not isinstance(read, str)
        for history in histories(sorted({topic for member in read.members for topic in member.topics})):
            for first in (False, True):
                if surely_rests_on_samples(history, body, read):
                    sure += 1
                    assert rests_on_samples(judge(SETTINGS, history, body, AT_MS, first=first))
    assert sure > 100
