"""Each law of a KIP-848 group's state on a state that breaks it, and what must stay silent."""

from dataclasses import replace

import pytest

from rebalance_monitor.assignors.broker import uniform
from rebalance_monitor.assignors.broker.model import BrokerGroup, BrokerTopic, Outcome
from rebalance_monitor.schemas.group_records import GroupRecord, Value
from rebalance_monitor.schemas.group_values import (
    AssignmentEpoch,
    ClassicMember,
    ConsumerMember,
    Current,
    GroupEpoch,
    MemberState,
    Partitions,
    ResolvedRegex,
    Target,
    TopicPartitions,
    UnknownState,
)
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.targets.assigning import preferred
from rebalance_monitor.streaming.core.targets.breaches import Breach
from rebalance_monitor.streaming.core.targets.expected import Comparison, explained
from rebalance_monitor.streaming.core.targets.group import TargetGroup, waiting_for
from rebalance_monitor.streaming.core.targets.kinds import CONSUMER
from rebalance_monitor.streaming.core.targets.law import Law
from rebalance_monitor.streaming.core.targets.laws import epoch_decreased
from rebalance_monitor.streaming.core.targets.lifecycle import TargetsLifecycle
from rebalance_monitor.streaming.core.targets.member import STATIC_AWAY
from rebalance_monitor.streaming.core.targets.moves import unlike_before
from rebalance_monitor.streaming.core.targets.operation import Computed, Operation
from rebalance_monitor.streaming.core.targets.state import TargetsState
from tests.streaming.core.targets.judged import (
    moment_of,
    overdue_findings,
    state_findings,
    take_all,
    tally_of,
    target_incomplete,
)

T = bytes(16)
SUBSCRIPTION = ConsumerMember(
    instance_id=None, rack=None, client_id="c", client_host="/h", names=("t",), regex=None,
    rebalance_timeout_ms=8_000, server_assignor=None, classic=None,
)  # fmt: skip


def of(*numbers: int) -> Partitions:
    return (TopicPartitions(T, numbers),) if numbers else ()


def record(type_: int, value: Value | None, member: str | None = None) -> GroupRecord:
    return GroupRecord(type=type_, group="g", member=member, value=value)


def current(
    epoch: int, held: Partitions, state: MemberState | UnknownState = MemberState.STABLE, pending: Partitions = ()
) -> Current:
    return Current(epoch=epoch, previous_epoch=epoch - 1, state=state, assigned=held, pending_revocation=pending)


def group(
    *, epoch: int = 5, assigned: int = 5, at_ms: int = 1_000, **members: tuple[Partitions, Current]
) -> TargetGroup:
    records = [record(3, GroupEpoch(epoch)), record(6, AssignmentEpoch(assigned))]
    for name, (target, held) in members.items():
        records += [record(5, SUBSCRIPTION, name), record(7, Target(target), name), record(8, held, name)]
    return take_all(TargetGroup(), records, at_ms)


def moment(before: TargetGroup, after: TargetGroup, *records: GroupRecord) -> Operation:
    return moment_of(2_000, records, before, after)


def moved(before: TargetGroup, *records: GroupRecord) -> list[Breach]:
    """What these records of one moment break beside the records before them."""
    operation = moment(before, take_all(before, records, 2_000), *records)
    return [*epoch_decreased(operation), *unlike_before(operation)]


def laws(found: list[Breach]) -> list[Law]:
    return [finding.law for finding in found]


SOUND = group(a=(of(0, 1), current(5, of(0, 1))), b=(of(2), current(5, of(2))))


def test_a_sound_group_breaks_nothing() -> None:
    assert state_findings(SOUND, {"t": (T, 3), "other": (bytes([1] * 16), 9)}) == []
    assert tally_of(SOUND).converged
    assert overdue_findings(SOUND, 10**9) == []


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        (group(a=(of(0), current(5, of(0))), b=((), current(4, of(0)))), Law.SEVERAL_HOLDERS),
        (group(a=(of(0), current(4, ())), b=(of(0), current(4, ()))), Law.SEVERAL_TARGETS),
        (group(epoch=4, a=((), current(4, ()))), Law.EPOCH_ORDER),
        (group(a=((), current(6, ()))), Law.EPOCH_ORDER),
        (group(a=(of(0), current(5, of(1)))), Law.STABLE_UNLIKE_TARGET),
        (group(a=(of(0), current(5, ()))), Law.STABLE_UNLIKE_TARGET),
        (group(a=((), current(4, (), MemberState.UNREVOKED))), Law.PENDING_UNLIKE_STATE),
        (group(a=((), current(5, (), pending=of(1)))), Law.PENDING_UNLIKE_STATE),
        (group(a=(of(0), current(5, of(0), MemberState.UNRELEASED))), Law.UNRELEASED_HOLDS_ALL),
    ],
)
def test_each_law_finds_its_own_breach(wrong: TargetGroup, law: Law) -> None:
    assert laws(state_findings(wrong)) == [law]


def test_a_target_that_lacks_a_partition_counts_only_for_the_newest_target() -> None:
    counts = {"t": (T, 4)}
    assert [finding.units for finding in target_incomplete(SOUND, counts)] == [frozenset({(T, 3)})]
    assert list(target_incomplete(replace(SOUND, epoch=6), counts)) == []
    unknown = replace(SOUND.members["a"], metadata=None)
    assert list(target_incomplete(replace(SOUND, members={**SOUND.members, "a": unknown}), counts)) == []


def test_members_that_are_away_count_for_ownership_only() -> None:
    away = group(a=(of(0, 1), current(STATIC_AWAY, of(0))))
    assert state_findings(away) == []
    assert tally_of(away).converged
    both = group(a=(of(0), current(STATIC_AWAY, of(0))), b=((), current(5, of(0))))
    assert laws(state_findings(both)) == [Law.SEVERAL_HOLDERS, Law.STABLE_UNLIKE_TARGET]


def test_less_than_the_target_is_sound_while_a_new_target_is_due() -> None:
    assert state_findings(group(epoch=6, a=(of(0, 1), current(5, of(0))))) == []
    assert laws(state_findings(group(epoch=6, a=(of(0), current(5, of(0, 1)))))) == [Law.STABLE_UNLIKE_TARGET]


def test_of_a_state_nobody_knows_only_its_number_is_told() -> None:
    (found,) = state_findings(group(a=(of(0), current(5, (), UnknownState(7), of(3)))))
    assert (found.law, found.member) == (Law.STATE_UNKNOWN, "a")


def test_epochs_that_go_back() -> None:
    assert laws(list(epoch_decreased(moment(SOUND, replace(SOUND, epoch=4))))) == [Law.EPOCH_DECREASED]
    assert list(epoch_decreased(moment(SOUND, TargetGroup()))) == []


def test_a_members_epoch_that_goes_back() -> None:
    fallen = record(8, current(2, of(2)), "b")
    (found,) = moved(SOUND, fallen)
    assert (found.law, found.member, found.fell_from) == (Law.EPOCH_DECREASED, "b", 5)
    assert moved(SOUND, record(8, None, "b"), fallen) == [], "it was removed and joined again"
    assert moved(SOUND, record(3, None), record(3, GroupEpoch(2)), fallen) == [], "the group was made again"


def test_the_epoch_of_a_static_member_that_is_away_is_no_step_back() -> None:
    away = Current(epoch=STATIC_AWAY, previous_epoch=4, state=MemberState.STABLE, assigned=of(2))
    left = take_all(SOUND, [record(8, away, "b")], 2_000)
    assert moved(SOUND, record(8, away, "b")) == []
    assert state_findings(left) == []
    assert moved(left, record(8, current(5, of(2)), "b")) == []
    assert laws(moved(left, record(8, current(3, of(2)), "b"))) == [Law.EPOCH_DECREASED]


def test_a_previous_epoch_above_the_members_own() -> None:
    odd = Current(epoch=5, previous_epoch=6, state=MemberState.STABLE, assigned=of(2))
    assert laws(state_findings(group(a=(of(2), odd)))) == [Law.PREVIOUS_AHEAD]


LEAVING = (record(3, GroupEpoch(6)), record(7, Target(of(0)), "a"), record(6, AssignmentEpoch(6)))
"""Member a, which holds 0 and 1, is to give up 1."""


def revoking(held: Partitions, pending: Partitions) -> list[Breach]:
    return moved(SOUND, *LEAVING, record(8, current(5, held, MemberState.UNREVOKED, pending), "a"))


def test_who_revokes_keeps_what_its_target_names_and_gives_up_the_rest() -> None:
    assert revoking(of(0), of(1)) == []


@pytest.mark.parametrize(
    ("held", "pending"),
    [
        (of(), of(1)),
        (of(), of(0, 1)),
        (of(0, 1), of(1)),
        (of(0, 2), of(1)),
        (of(0), of(1, 7)),
        (of(1), of(0)),
    ],
)
def test_wrong_contents_of_who_revokes(held: Partitions, pending: Partitions) -> None:
    assert Law.UNLIKE_BEFORE in laws(revoking(held, pending))


NOTHING_WANTED = (record(3, GroupEpoch(6)), record(7, Target(of()), "a"), record(6, AssignmentEpoch(6)))
"""Member a is to give up all that it holds."""


def test_what_a_member_has_to_give_up_does_not_vanish() -> None:
    both = record(8, current(5, of(), MemberState.UNREVOKED, of(0, 1)), "a")
    one = record(8, current(5, of(), MemberState.UNREVOKED, of(0)), "a")
    assert moved(SOUND, *NOTHING_WANTED, both) == []
    assert laws(moved(SOUND, *NOTHING_WANTED, one)) == [Law.UNLIKE_BEFORE]


def test_what_a_member_has_given_up_is_gone_when_it_revokes_for_the_next_target() -> None:
    first = take_all(SOUND, [*LEAVING, record(8, current(5, of(0), MemberState.UNREVOKED, of(1)), "a")], 2_000)
    more = (record(3, GroupEpoch(7)), record(7, Target(of()), "a"), record(6, AssignmentEpoch(7)))
    assert moved(first, *more, record(8, current(6, of(), MemberState.UNREVOKED, of(0)), "a")) == []


def test_a_static_member_that_goes_away_keeps_what_it_was_assigned() -> None:
    first = take_all(SOUND, [*LEAVING, record(8, current(5, of(0), MemberState.UNREVOKED, of(1)), "a")], 2_000)

    def away(*numbers: int, pending: Partitions = ()) -> GroupRecord:
        state = MemberState.UNREVOKED
        held = Current(
            epoch=STATIC_AWAY, previous_epoch=5, state=state, assigned=of(*numbers), pending_revocation=pending
        )
        return record(8, held, "a")

    assert moved(first, away(0)) == []
    for wrong in (away(), away(0, 7), away(0, pending=of(1))):
        assert laws(moved(first, wrong)) == [Law.UNLIKE_BEFORE]


def test_a_smaller_subscription_gives_up_what_the_target_names() -> None:
    asked = record(3, GroupEpoch(6))
    assert moved(SOUND, asked, record(8, current(5, of(0), MemberState.UNREVOKED, of(1)), "a")) == []


def test_who_waits_keeps_what_it_had() -> None:
    more = (record(3, GroupEpoch(6)), record(7, Target(of(0, 1, 2)), "a"), record(6, AssignmentEpoch(6)))
    assert moved(SOUND, *more, record(8, current(6, of(0, 1), MemberState.UNRELEASED), "a")) == []
    assert laws(moved(SOUND, *more, record(8, current(6, of(0), MemberState.UNRELEASED), "a"))) == [Law.UNLIKE_BEFORE]


def test_a_member_that_does_not_revoke_in_time() -> None:
    slow = group(a=((), current(4, (), MemberState.UNREVOKED, of(1))))
    assert overdue_findings(slow, 1_000 + 18_000) == []
    (finding,) = overdue_findings(slow, 1_000 + 18_001)
    assert (finding.law, finding.member, finding.since_ms) == (Law.STUCK_REVOKING, "a", 1_000)
    again = take_all(slow, [record(8, current(4, (), MemberState.UNREVOKED, of(1)), "a")], 15_000)
    assert laws(overdue_findings(again, 1_000 + 18_001)) == [Law.STUCK_REVOKING], "the clock runs on"


def test_a_member_that_stays_at_an_old_epoch() -> None:
    late = group(a=((), current(4, ())))
    assert overdue_findings(late, 1_000 + 50_000) == []
    assert laws(overdue_findings(late, 1_000 + 50_001)) == [Law.LAGGING]


def test_a_group_that_gets_no_target() -> None:
    waiting = group(epoch=6, a=((), current(5, ())))
    assert overdue_findings(waiting, 1_000 + 50_000) == [], "its only member may be silent so long"
    assert laws(overdue_findings(waiting, 1_000 + 50_001)) == [Law.NO_TARGET]
    assert overdue_findings(group(epoch=6), 10**9) == [], "without members nobody asks for one"


CLASSIC = replace(SUBSCRIPTION, classic=ClassicMember(session_timeout_ms=10_000, protocols=()))


def test_a_classic_member_moves_by_joining_and_has_its_rebalance_time_out_for_it() -> None:
    late = take_all(group(a=((), current(4, ()))), [record(5, replace(CLASSIC, rebalance_timeout_ms=300_000), "a")], 1)
    assert overdue_findings(late, 1_000 + 315_000) == []
    assert laws(overdue_findings(late, 1_000 + 315_001)) == [Law.LAGGING]


def test_classic_members_alone_bring_a_target_by_joining() -> None:
    slow = replace(CLASSIC, rebalance_timeout_ms=300_000)
    waiting = take_all(group(epoch=6, a=((), current(5, ())), b=((), current(5, ()))), [record(5, slow, "a")], 1)
    assert laws(overdue_findings(waiting, 1_000 + 50_001)) == [Law.NO_TARGET], "b is none"
    waiting = take_all(waiting, [record(5, slow, "b")], 1)
    assert overdue_findings(waiting, 1_000 + 315_000) == []
    assert laws(overdue_findings(waiting, 1_000 + 315_001)) == [Law.NO_TARGET]


def test_other_partitions_to_give_up_begin_the_time_anew() -> None:
    """A member that shrinks its subscription while it revokes has its rebalance time-out for what is added."""
    slow = group(a=((), current(4, of(0), MemberState.UNREVOKED, of(1))))
    again = take_all(slow, [record(8, current(4, (), MemberState.UNREVOKED, of(0, 1)), "a")], 7_000)
    assert overdue_findings(again, 7_000 + 18_000) == []
    assert laws(overdue_findings(again, 7_000 + 18_001)) == [Law.STUCK_REVOKING]


def test_who_waits_may_wait_for_two_revocations_of_one_holder() -> None:
    """b was revoking for the target before when the one came that gives its partition to a."""
    waiting = group(
        a=(of(0, 1), current(5, of(0), MemberState.UNRELEASED)),
        b=(of(2), current(4, of(2), MemberState.UNREVOKED, of(1))),
    )
    found = overdue_findings(waiting, 1_000 + 2 * 8_000 + 45_000 + 10_000)
    assert Law.WAITING_LONG not in laws(found)
    found = overdue_findings(waiting, 1_000 + 2 * 8_000 + 45_000 + 10_001)
    assert Law.WAITING_LONG in laws(found)


def test_who_waits_for_whom() -> None:
    waiting = group(
        a=(of(0, 1, 2), current(5, of(0), MemberState.UNRELEASED)),
        b=((), current(4, (), MemberState.UNREVOKED, of(1))),
    )
    assert state_findings(waiting) == []
    assert waiting_for(waiting) == {"a": {"b": frozenset({(T, 1)}), "": frozenset({(T, 2)})}}


def test_tombstones_delete_key_by_key_and_the_last_one_ends_the_group() -> None:
    left = take_all(SOUND, [record(8, None, "a"), record(7, None, "a")], 2_000)
    assert left.members["a"].metadata == SUBSCRIPTION
    left = take_all(left, [record(5, None, "a"), record(5, None, "nobody")], 2_000)
    assert left.members.keys() == {"b"}
    left = take_all(left, [record(6, None), record(4, None), record(3, None)], 2_000)
    assert (left.epoch, left.assignment_epoch, state_findings(left), overdue_findings(left, 10**9)) == (
        None,
        None,
        [],
        [],
    )


def test_a_regular_expression_adds_its_topics() -> None:
    with_regex = replace(SUBSCRIPTION, regex="t.*")
    state = take_all(SOUND, [record(5, with_regex, "a"), record(16, ResolvedRegex(("t", "tt"), 1, 1), "t.*")], 2_000)
    assert state.names_of(state.members["a"]) == ("t", "tt")
    state = take_all(state, [record(16, None, "t.*")], 3_000)
    assert state.names_of(state.members["a"]) == ("t",)


def test_the_assignor_that_most_members_prefer() -> None:
    assert preferred(SOUND) == ("uniform",)
    prefers = record(5, replace(SUBSCRIPTION, server_assignor="range"), "a")
    assert preferred(take_all(SOUND, [prefers], 2_000)) == ("range",)
    other = record(5, replace(SUBSCRIPTION, server_assignor="uniform"), "b")
    assert len(preferred(take_all(SOUND, [prefers, other], 2_000))) == 2


def test_of_a_large_group_fewer_orders_are_tried() -> None:
    """Ids that share places in the coordinator's map have more orders than anybody can try in time."""
    names = [f"member-{number}" for number in range(300)]
    records = [record(3, GroupEpoch(2)), *(record(5, SUBSCRIPTION, name) for name in names)]
    before = take_all(TargetGroup(), records, 1_000)
    after = take_all(before, [record(7, Target(of(*range(3_000))), names[0]), record(6, AssignmentEpoch(2))], 1_000)
    tried: list[int] = []

    def assign(group: BrokerGroup) -> Outcome:
        tried.append(len(group.members))
        return uniform.assign(group)

    topics = {"t": BrokerTopic(id=T, partitions=3_000)}
    answer = explained(Computed(before, after), topics, assign)
    assert answer is Comparison.UNSURE
    assert 1 < len(tried) < 50


def test_after_a_failed_fold_the_group_is_known_and_not_trusted() -> None:
    known = TargetsState(view=SOUND, trusted=True, shown="Stable")
    left = TargetsLifecycle(CONSUMER).salvage(dumps(known))
    assert left is not None
    assert loads(TargetsState, left) == TargetsState(view=SOUND, shown="Stable")
    assert TargetsLifecycle(CONSUMER).salvage("not a state") is None


def test_a_state_of_a_later_release_is_stored_as_it_is() -> None:
    later = group(a=(of(0), current(5, of(0), UnknownState(7))))
    state = TargetsState(view=later)
    assert loads(TargetsState, dumps(state)) == state


def test_only_members_that_wrote_are_folded_again() -> None:
    """A target of thousands of members comes with one record of what a member holds."""
    records = [*(record(7, Target(of(3)), name) for name in "bcd"), record(6, AssignmentEpoch(5))]
    records.append(record(8, current(5, of(2, 3)), "a"))
    operation = moment(SOUND, take_all(SOUND, records, 2_000), *records)
    steps = list(operation.steps({"a"}))
    assert [one.type for one, _, _ in steps] == [6, 8]
    assert all(set(group.members) <= {"a"} for _, *groups in steps for group in groups)
