"""A tally that follows single records says what one says that is made of the whole group, whatever its kind."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.schemas.group_values import (
    AssignmentEpoch,
    GroupEpoch,
    MemberState,
    ShareMember,
    ShareStates,
    Target,
    UnknownState,
)
from rebalance_monitor.schemas.streams_values import StreamsCurrent, StreamsEpoch, StreamsTarget
from rebalance_monitor.streaming.core.targets import laws
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.kind import Kind
from rebalance_monitor.streaming.core.targets.kinds import CONSUMER, SHARE, STREAMS
from rebalance_monitor.streaming.core.targets.member import STATIC_AWAY
from rebalance_monitor.streaming.core.targets.state import TargetsState
from tests.streaming.core.targets.judged import changed_by, state_findings, take_all, tally_of
from tests.streaming.core.targets.test_epochs_laws import CLASSIC, SUBSCRIPTION, current, of, record
from tests.streaming.core.targets.test_waiting_chains import metadata, tasks

NAMES = st.sampled_from("abc")
EPOCHS = st.integers(1, 3)
PARTITIONS = st.builds(lambda some: of(*some), st.sets(st.integers(0, 2)))
TASKS = st.builds(tasks, st.frozensets(st.integers(0, 2)))
STATES = st.sampled_from([*MemberState, UnknownState(7)])
MEMBER_EPOCHS = st.one_of(EPOCHS, st.just(STATIC_AWAY))
AT_MS = st.integers(0, 400_000)
SHARING = ShareMember(rack=None, client_id="c", client_host="/h", names=("t",))
COUNTS = {"t": (of(0)[0].topic, 3)}

OF_CONSUMERS = (
    st.builds(lambda epoch: record(3, GroupEpoch(epoch)), EPOCHS),
    st.builds(lambda epoch: record(6, AssignmentEpoch(epoch)), EPOCHS),
    st.builds(lambda name, value: record(5, value, name), NAMES, st.sampled_from([SUBSCRIPTION, CLASSIC, None])),
    st.builds(lambda name, given: record(7, Target(given), name), NAMES, PARTITIONS),
    st.builds(
        lambda name, *values: record(8, current(*values), name), NAMES, MEMBER_EPOCHS, PARTITIONS, STATES, PARTITIONS
    ),
    st.builds(lambda type_, name: record(type_, None, name), st.sampled_from([7, 8]), NAMES),
    st.just(record(3, None)),
)


@st.composite
def tasks_held(draw: st.DrawFn) -> GroupRecord:
    """Type 22."""
    epoch = draw(MEMBER_EPOCHS)
    value = StreamsCurrent(
        epoch=epoch,
        previous_epoch=epoch - 1,
        state=draw(STATES),
        active=draw(TASKS),
        standby=draw(TASKS),
        warmup=draw(TASKS),
        active_pending_revocation=draw(TASKS),
        standby_pending_revocation=draw(TASKS),
        warmup_pending_revocation=draw(TASKS),
    )
    return record(22, value, draw(NAMES))


OF_STREAMS = (
    st.builds(
        lambda epoch: record(
            17, StreamsEpoch(epoch=epoch, metadata_hash=1, validated_topology_epoch=None, configs=None)
        ),
        EPOCHS,
    ),
    st.builds(lambda epoch: record(20, AssignmentEpoch(epoch)), EPOCHS),
    st.builds(lambda name, process: record(19, metadata(process), name), NAMES, st.sampled_from("pq")),
    st.builds(
        lambda name, active, standby, warm_up: record(
            21, StreamsTarget(active=active, standby=standby, warmup=warm_up), name
        ),
        *(NAMES, TASKS, TASKS, TASKS),
    ),
    tasks_held(),
    st.builds(lambda type_, name: record(type_, None, name), st.sampled_from([19, 21, 22]), NAMES),
    st.just(record(17, None)),
)
OF_SHARES = (
    st.builds(lambda epoch: record(11, GroupEpoch(epoch, 1)), EPOCHS),
    st.builds(lambda epoch: record(12, AssignmentEpoch(epoch)), EPOCHS),
    st.builds(lambda name: record(10, SHARING, name), NAMES),
    st.builds(lambda name, given: record(13, Target(given), name), NAMES, PARTITIONS),
    st.builds(
        lambda name, epoch, held, state: record(14, current(epoch, held, state), name),
        NAMES, EPOCHS, PARTITIONS, st.sampled_from([MemberState.STABLE, UnknownState(7)]),
    ),
    st.builds(lambda type_, name: record(type_, None, name), st.sampled_from([10, 13, 14]), NAMES),
    st.just(record(15, ShareStates(initializing=(), initialized=(), deleting=()))),
    st.just(record(11, None)),
)  # fmt: skip
Steps = list[tuple[list[GroupRecord], int]]
KINDS = {CONSUMER.name: (CONSUMER, OF_CONSUMERS), STREAMS.name: (STREAMS, OF_STREAMS), SHARE.name: (SHARE, OF_SHARES)}


def steps(kind: str) -> st.SearchStrategy[tuple[Kind, Steps]]:
    """Moments of a group of this kind, each with the time since the one before."""
    of, records = KINDS[kind]
    moments = st.tuples(st.lists(st.one_of(*records), min_size=1, max_size=4), st.integers(1, 60_000))
    return st.tuples(st.just(of), st.lists(moments, min_size=1, max_size=12))


ANY = st.sampled_from(sorted(KINDS)).flatmap(steps)


@given(ANY, AT_MS, AT_MS)
def test_a_tally_that_followed_is_one_that_was_made_anew(life: tuple[Kind, Steps], now_ms: int, after_ms: int) -> None:
    kind, moments = life
    group, at_ms = TargetGroup(), 0
    tally = tally_of(group, kind)
    for records, passed_ms in moments:
        at_ms += passed_ms
        after = take_all(group, records, at_ms)
        tally, group = tally.after(after, changed_by(records, group)), after
        anew = tally_of(group, kind)
        assert laws.state_findings(tally) == laws.state_findings(anew)
        assert laws.overdue_findings(tally, now_ms) == laws.overdue_findings(anew, now_ms)
        assert list(laws.target_incomplete(tally, COUNTS)) == list(laws.target_incomplete(anew, COUNTS))
        assert list(laws.tasks_incomplete(tally, {"0": 3})) == list(laws.tasks_incomplete(anew, {"0": 3}))
        for moment_ms in (None, after_ms):
            assert laws.next_due_ms(tally, moment_ms) == laws.next_due_ms(anew, moment_ms)
        assert (tally.reached, tally.ready, tally.unknown) == (anew.reached, anew.ready, anew.unknown)
        assert (set(tally.names), set(tally.wanted), tally.late) == (set(anew.names), set(anew.wanted), anew.late)


@given(ANY)
def test_only_laws_that_have_a_rule_are_found(life: tuple[Kind, Steps]) -> None:
    kind, moments = life
    group = TargetGroup()
    for records, passed_ms in moments:
        group = take_all(group, records, passed_ms)
        found = [*laws.state_findings(tally_of(group, kind)), *laws.overdue_findings(tally_of(group, kind), 10**9)]
        assert {one.law for one in found} <= kind.rules.keys()


@given(ANY, st.lists(st.integers(-30_000, 30_000), min_size=1), AT_MS, AT_MS)
def test_times_that_are_moved_on_later_are_those_that_were_moved_at_once(
    life: tuple[Kind, Steps], moves_ms: list[int], now_ms: int, after_ms: int
) -> None:
    kind, moments = life
    late, at_once, at_ms = TargetsState(), TargetsState(), 0
    for (records, passed_ms), by_ms in zip(moments, moves_ms, strict=False):
        at_ms += passed_ms
        late = late.shifted(by_ms)
        at_once = at_once.shifted(by_ms).settled()
        late = replace(late, view=take_all(late.view, records, at_ms))
        at_once = replace(at_once, view=take_all(at_once.view, records, at_ms))
        assert late.settled() == at_once.settled()
        moved_later, other = tally_of(late.view, kind), tally_of(at_once.view, kind)
        assert laws.overdue_findings(moved_later, now_ms) == laws.overdue_findings(other, now_ms)
        assert laws.next_due_ms(moved_later, after_ms) == laws.next_due_ms(other, after_ms)


def test_who_waits_for_the_same_is_told_in_the_order_in_which_members_came() -> None:
    records = [record(3, GroupEpoch(2)), record(6, AssignmentEpoch(2))]
    for name in "cab":
        records += [record(5, SUBSCRIPTION, name), record(7, Target(()), name), record(8, current(3, of(0)), name)]
    found = state_findings(take_all(TargetGroup(), records, 0))
    assert [breach.member for breach in found] == [None, "c", "a", "b"]
