"""Worked examples of the sticky assignors: the ones their modules tell, and one for each rule that groups run into."""

import pytest

from rebalance_monitor.assignors.consumer import sticky, sticky_cooperative
from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember, ConsumerResult, TopicPartition, TopicRacks
from rebalance_monitor.assignors.consumer.sticky_claims import settle
from rebalance_monitor.assignors.consumer.sticky_eras import ERAS, NEWEST, NoSuchEra, StickyEra, sticky_era_of
from rebalance_monitor.assignors.consumer.sticky_group import NO_STATE, CannotAssign, group_of
from rebalance_monitor.assignors.consumer.sticky_moves import Moves, PartitionSet, partition_hash

NO_RACK: frozenset[str] = frozenset()


def plain(**counts: int) -> TopicRacks:
    return {topic: (NO_RACK,) * count for topic, count in counts.items()}


def tps(text: str) -> tuple[TopicPartition, ...]:
    return tuple((one.rpartition("-")[0], int(one.rpartition("-")[2])) for one in text.split())


def member(
    name: str, topics: str, claimed: str = "", claim_generation: int | None = None, *, generation: int = -1,
    rack: str | None = None,
) -> ConsumerMember:  # fmt: skip
    """Claims the same way for both assignors: in user data and as owned."""
    return ConsumerMember(
        id=name, topics=tuple(topics.split()), rack=rack, owned=tps(claimed), generation=generation,
        claim=Claim(tps(claimed), claim_generation),
    )  # fmt: skip


def shown(answer: ConsumerResult) -> dict[str, str]:
    return {name: " ".join(f"{topic}-{number}" for topic, number in share) for name, share in answer.shares.items()}


def test_a_partition_claimed_in_two_generations_stays_with_the_newer_one() -> None:
    members = [
        member("m1", "a", "a-0 a-1 a-2", 7, generation=7),
        member("m2", "a", "a-2 a-3", 6, generation=7),
        member("m3", "a", generation=7),
    ]
    assert shown(sticky.recompute(members, plain(a=5))) == {"m1": "a-0 a-1", "m2": "a-3 a-4", "m3": "a-2"}


def test_sticky_compares_with_the_generation_in_the_rivals_subscription() -> None:
    """The rival's user data say 7, but its subscription says 8: the later claim of 7 loses."""
    settled = {
        rivals: settle(
            group_of(
                [member("m1", "a", "a-0", 7, generation=rivals), member("m2", "a", "a-0", 7)],
                plain(a=2),
                NEWEST,
                cooperative=False,
            )
        )
        for rivals in (6, 7, 8)
    }
    assert {rivals: claims.held for rivals, claims in settled.items()} == {
        6: {"m1": [], "m2": [("a", 0)]},
        7: {"m1": [], "m2": []},
        8: {"m1": [("a", 0)], "m2": []},
    }
    assert [claims.twice for claims in settled.values()] == [set(), {("a", 0)}, set()]


def test_a_partition_claimed_twice_in_one_generation_is_freed() -> None:
    members = [
        member("m1", "a", "a-0 a-1 a-2", 5, generation=5),
        member("m2", "a", "a-2 a-3", 5, generation=5),
        member("m3", "a"),
    ]
    assert shown(sticky.recompute(members, plain(a=5))) == {"m1": "a-0 a-1", "m2": "a-3 a-4", "m3": "a-2"}
    # It changes hands in any case, so a cooperative leader holds it back.
    assert shown(sticky_cooperative.recompute(members, plain(a=5))) == {
        "m1": "a-0 a-1",
        "m2": "a-3 a-4",
        "m3": "",
    }


@pytest.mark.parametrize(("release", "of_m2"), [("2.8.0", ""), ("3.4.0", ""), ("3.4.1", "a-2"), ("4.3.1", "a-2")])
def test_only_since_3_4_1_a_claim_of_an_older_generation_counts_if_nobody_else_has_one(
    release: str, of_m2: str
) -> None:
    members = [member("m1", "a", "a-0 a-1", 7, generation=7), member("m2", "a", "a-1 a-2", 6, generation=6)]
    claims = settle(group_of(members, plain(a=3), sticky_era_of(release), cooperative=False))
    assert claims.held == {"m1": list(tps("a-0 a-1")), "m2": list(tps(of_m2))}


def test_general_moves_to_the_member_that_has_fewest() -> None:
    members = [member("m1", "a b", "a-0 a-1 b-0 b-1", 7), member("m2", "b", "b-2 b-3", 7), member("m3", "b", "", 7)]
    assert shown(sticky.recompute(members, plain(a=2, b=4))) == {
        "m1": "a-0 a-1",
        "m2": "b-2 b-3",
        "m3": "b-0 b-1",
    }


def test_general_gives_partitions_of_a_topic_that_is_no_longer_subscribed_to_others() -> None:
    members = [member("m30", "t0 t1"), member("m27", "t0", "t0-3"), member("m26", "t1", "t0-0")]
    answer = sticky_cooperative.recompute(members, plain(t0=4, t1=1, t2=1))
    assert shown(answer) == {"m30": "t0-2", "m27": "t0-3 t0-1", "m26": "t1-0"}


def test_cooperative_holds_back_what_changes_hands() -> None:
    members = [
        member("m55", "t0 t1 t2", "t1-0", generation=3),
        member("m23", "t0 t1 t2", "t0-0", generation=3),
        member("m58", "t0 t1 t2", "t0-1 t0-2 t1-1 t2-0", generation=3),
        member("m14", "t0 t1 t2", "t1-3 t1-4 t2-1 t2-2", generation=3),
    ]
    assert shown(sticky_cooperative.recompute(members, plain(t0=3, t1=5, t2=5))) == {
        "m14": "t2-1 t2-2 t1-3",
        "m23": "t0-0 t1-2 t2-3",
        "m55": "t1-0 t2-4",
        "m58": "t2-0 t0-1 t1-1 t0-2",
    }


def test_cooperative_moves_a_partition_in_two_generations() -> None:
    first = [member("m1", "t", "t-0 t-1 t-2", generation=1), member("m2", "t")]
    assert shown(sticky_cooperative.recompute(first, plain(t=3))) == {"m1": "t-0 t-1", "m2": ""}
    second = [member("m1", "t", "t-0 t-1", generation=2), member("m2", "t", "", generation=2)]
    assert shown(sticky_cooperative.recompute(second, plain(t=3))) == {"m1": "t-0 t-1", "m2": "t-2"}


def test_a_member_gives_up_what_is_outside_its_rack() -> None:
    topics = {"t0": tuple(frozenset(rack) for rack in "bcbbc")}
    members = [
        member("m13", "t0", rack="a"),
        member("m15", "t0", "t0-3", rack="c", generation=2),
        member("m60", "t0", "t0-1", rack="b", generation=2),
    ]
    assert shown(sticky_cooperative.recompute(members, topics)) == {"m13": "", "m15": "t0-4", "m60": "t0-0 t0-2"}
    assert shown(sticky.recompute(members, topics, era=sticky_era_of("3.4.1"))) == {
        "m13": "t0-0", "m15": "t0-3 t0-2", "m60": "t0-1 t0-4",
    }  # fmt: skip


def test_partitions_of_a_deleted_topic_are_forgotten() -> None:
    members = [member("m1", "a gone", "gone-0 gone-1 a-0", 3), member("m2", "a gone", "a-1", 3)]
    assert shown(sticky.recompute(members, plain(a=2))) == {"m1": "a-0", "m2": "a-1"}
    assert shown(sticky.recompute(members, {"a": (NO_RACK,) * 2, "gone": ()})) == {"m1": "a-0", "m2": "a-1"}


class TestATopicThatShrank:
    """A claim on a partition that no longer exists is kept, and everything behind it is handed out once more."""

    def test_leaves_partitions_in_two_hands(self) -> None:
        members = [member("m1", "a b", "a-7", 3), member("m2", "a b", "b-0", 3)]
        answer = sticky.recompute(members, plain(a=2, b=2))
        assert shown(answer) == {"m1": "a-7 a-0 b-0", "m2": "b-0 a-1 b-1"}

    def test_may_end_the_leaders_round(self) -> None:
        members = [member("m1", "a", "a-5 a-6", 3), member("m2", "a", "a-7 a-8", 3)]
        with pytest.raises(CannotAssign, match=NO_STATE):
            sticky.recompute(members, plain(a=2))

    def test_was_no_matter_up_to_2_8_for_unequal_subscriptions(self) -> None:
        members = [member("m1", "a", "a-7 a-0", 3), member("m2", "a b", "b-0", 3)]
        answer = sticky.recompute(members, plain(a=2, b=1), era=sticky_era_of("2.4.1"))
        assert shown(answer) == {"m1": "a-0 a-1", "m2": "b-0"}


def test_leaders_up_to_2_8_serve_members_in_queues() -> None:
    members = [member("m1", "a", "a-0 a-1 a-2 a-3", 4), member("m2", "a", "", 4), member("m3", "a", "", 4)]
    answer = sticky.recompute(members, plain(a=5), era=sticky_era_of("2.7.2"))
    assert shown(answer) == {"m1": "a-0 a-1", "m2": "a-2 a-4", "m3": "a-3"}


def test_leaders_up_to_2_8_take_from_the_full_where_nothing_is_left() -> None:
    members = [
        member("m1", "a", "a-0 a-1", 4), member("m2", "a", "a-2 a-3", 4), member("m3", "a", "a-4 a-5", 4),
        member("m4", "a", "", 4),
    ]  # fmt: skip
    answer = sticky.recompute(members, plain(a=6), era=sticky_era_of("2.7.2"))
    assert shown(answer) == {"m1": "a-1", "m2": "a-2 a-3", "m3": "a-4 a-5", "m4": "a-0"}


def test_leaders_2_5_to_2_8_forget_what_they_read_before_subscriptions_turned_out_to_differ() -> None:
    members = [member("m1", "a", "a-1", 3), member("m2", "a", "a-0", 3), member("m3", "b")]
    shares = {era.name: shown(sticky.recompute(members, plain(a=2, b=1), era=era)) for era in ERAS}
    forgetful = {name for name, share in shares.items() if share == {"m1": "a-0", "m2": "a-1", "m3": "b-0"}}
    assert forgetful == {"2.5.1 to 2.8.0", "2.8.1 to 2.8"}
    assert all(shares[name] == {"m1": "a-1", "m2": "a-0", "m3": "b-0"} for name in shares.keys() - forgetful)


def test_members_that_subscribe_to_nothing_yet_may_be_taken_for_equal() -> None:
    """A member whose pattern matches no topic; the leader's comparison passes over those that come first."""
    members = [member("m0", ""), member("m1", "c")]
    assert shown(sticky.recompute(members, plain(c=4))) == {"m0": "c-0 c-2", "m1": "c-1 c-3"}
    members = [member("m1", ""), member("m0", "c")]
    assert shown(sticky.recompute(members, plain(c=4))) == {"m1": "", "m0": "c-0 c-1 c-2 c-3"}


def test_no_members_get_nothing() -> None:
    assert sticky.recompute([], plain(a=2)).shares == {}
    assert sticky_cooperative.recompute([], plain(a=2)).shares == {}


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("2.3.0", "2.3"),
        ("2.5.0", "2.4 to 2.5.0"),
        ("2.5.1", "2.5.1 to 2.8.0"),
        ("2.8.0", "2.5.1 to 2.8.0"),
        ("2.8.1", "2.8.1 to 2.8"),
        ("3.4.0", "3.4.0"),
        ("3.4.1-SNAPSHOT", "3.4.1"),
        ("3.5", "3.5.0 to 3.5.1"),
        ("3.7.0", "3.5.2 to 3.7.0"),
        ("3.7.1", "since 3.7.1"),
        ("9.0.0", "since 3.7.1"),
    ],
)
def test_era_of_a_release(release: str, name: str) -> None:
    assert sticky_era_of(release).name == name


def test_releases_without_a_known_era_are_refused() -> None:
    with pytest.raises(NoSuchEra, match=r"2\.2\.2"):
        sticky_era_of("2.2.2")
    with pytest.raises(NoSuchEra, match="cooperative-sticky"):
        sticky_cooperative.recompute([], plain(a=2), era=sticky_era_of("2.3.1"))


@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
def test_eras_begin_one_after_the_other(era: StickyEra) -> None:
    later = ERAS[ERAS.index(era) + 1 :]
    assert all(era.since < one.since for one in later)


class TestMoves:
    def test_take_back_an_earlier_move_of_the_topic(self) -> None:
        moves = Moves()
        moves.record(("t", 0), 2, 1)
        assert moves.instead_of(("t", 5), 1, 2) == ("t", 0)
        assert moves.instead_of(("u", 5), 1, 2) == ("u", 5)
        moves.record(("t", 0), 1, 2)
        assert moves.instead_of(("t", 5), 1, 2) == ("t", 5)

    def test_remember_where_a_partition_came_from_first(self) -> None:
        moves = Moves()
        moves.record(("t", 0), 1, 2)
        moves.record(("t", 0), 2, 3)
        moves.record(("t", 1), 3, 1)
        # t-0 is on its way from 1 to 3: moved on to 1 it counts as going from 1, and nothing went the other way.
        assert moves.instead_of(("t", 0), 3, 1) == ("t", 0)
        assert moves.instead_of(("t", 2), 1, 3) == ("t", 1)


class TestPartitionSet:
    @staticmethod
    def spread(number: int) -> int:
        return (hashed := partition_hash(("t", number))) ^ hashed >> 16

    def test_yields_the_lowest_bucket_first_whatever_came_first(self) -> None:
        found = PartitionSet()
        for number in (9, 3, 5):
            found.add(("t", number))
        assert found.first() == ("t", min((9, 3, 5), key=lambda number: self.spread(number) & 15))

    def test_forgets_what_was_removed_and_says_when_it_is_empty(self) -> None:
        found = PartitionSet()
        found.add(("t", 1))
        assert found
        found.remove(("t", 1))
        assert not found

    def test_marks_a_bucket_that_java_would_keep_as_a_tree(self) -> None:
        crowded = [number for number in range(20_000) if self.spread(number) & 255 == 0][:12]
        found = PartitionSet()
        for number in crowded:
            found.add(("t", number))
        assert found.unsure
