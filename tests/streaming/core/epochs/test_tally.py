"""A tally that follows single records says what one says that is made of the whole group."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.schemas.group_values import AssignmentEpoch, GroupEpoch, MemberState, Target, UnknownState
from rebalance_monitor.schemas.streams_values import StreamsCurrent, StreamsTarget
from rebalance_monitor.streaming.core.epochs import laws, timing
from rebalance_monitor.streaming.core.epochs.group import STATIC_AWAY, EpochGroup
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.epochs.tally import EpochTally
from rebalance_monitor.streaming.core.targets.operation import changed_by, take_all
from rebalance_monitor.streaming.core.targets.timing import SESSION_MS, settled
from tests.streaming.core.epochs.test_epochs_laws import CLASSIC, SUBSCRIPTION, current, of, record
from tests.streaming.core.epochs.test_waiting_chains import metadata, tasks

NAMES = st.sampled_from("abc")
EPOCHS = st.integers(1, 3)
PARTITIONS = st.builds(lambda some: of(*some), st.sets(st.integers(0, 2)))
TASKS = st.builds(tasks, st.frozensets(st.integers(0, 2)))
STATES = st.sampled_from([*MemberState, UnknownState(7)])
MEMBER_EPOCHS = st.one_of(EPOCHS, st.just(STATIC_AWAY))
AT_MS = st.integers(0, 400_000)
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
    st.builds(lambda name, process: record(19, metadata(process), name), NAMES, st.sampled_from("pq")),
    st.builds(
        lambda name, active, standby, warm_up: record(
            21, StreamsTarget(active=active, standby=standby, warmup=warm_up), name
        ),
        *(NAMES, TASKS, TASKS, TASKS),
    ),
    tasks_held(),
)
STEPS = st.lists(
    st.tuples(st.lists(st.one_of(*OF_CONSUMERS, *OF_STREAMS), min_size=1, max_size=4), st.integers(1, 60_000)),
    min_size=1,
    max_size=12,
)


@given(STEPS, AT_MS, AT_MS)
def test_a_tally_that_followed_is_one_that_was_made_anew(
    steps: list[tuple[list[GroupRecord], int]], now_ms: int, after_ms: int
) -> None:
    group, at_ms = EpochGroup(), 0
    tally = EpochTally(group, SESSION_MS)
    for records, passed_ms in steps:
        at_ms += passed_ms
        after = take_all(group, records, at_ms)
        tally, group = tally.after(after, changed_by(records, group)), after
        anew = EpochTally(group, SESSION_MS)
        assert laws.state_findings(tally) == laws.state_findings(anew)
        assert laws.overdue_findings(tally, now_ms) == laws.overdue_findings(anew, now_ms)
        assert list(laws.target_incomplete(tally, COUNTS)) == list(laws.target_incomplete(anew, COUNTS))
        assert list(laws.tasks_incomplete(tally, {"0": 3})) == list(laws.tasks_incomplete(anew, {"0": 3}))
        for moment_ms in (None, after_ms):
            assert laws.next_due_ms(tally, moment_ms) == laws.next_due_ms(anew, moment_ms)
        assert (tally.reached, tally.ready, tally.unknown) == (anew.reached, anew.ready, anew.unknown)
        assert (set(tally.names), tally.late) == (set(anew.names), anew.late)


@given(STEPS, st.lists(st.integers(-30_000, 30_000), min_size=1), AT_MS, AT_MS)
def test_times_that_are_moved_on_later_are_those_that_were_moved_at_once(
    steps: list[tuple[list[GroupRecord], int]], moves_ms: list[int], now_ms: int, after_ms: int
) -> None:
    late, at_once, at_ms = EpochsState(), EpochsState(), 0
    for (records, passed_ms), by_ms in zip(steps, moves_ms, strict=False):
        at_ms += passed_ms
        late = timing.shifted(late, by_ms)
        at_once = settled(timing.shifted(at_once, by_ms))
        late = replace(late, view=take_all(late.view, records, at_ms))
        at_once = replace(at_once, view=take_all(at_once.view, records, at_ms))
        assert settled(late) == settled(at_once)
        moved_later, other = EpochTally(late.view, SESSION_MS), EpochTally(at_once.view, SESSION_MS)
        assert laws.overdue_findings(moved_later, now_ms) == laws.overdue_findings(other, now_ms)
        assert laws.next_due_ms(moved_later, after_ms) == laws.next_due_ms(other, after_ms)


def test_who_waits_for_the_same_is_told_in_the_order_in_which_members_came() -> None:
    records = [record(3, GroupEpoch(2)), record(6, AssignmentEpoch(2))]
    for name in "cab":
        records += [record(5, SUBSCRIPTION, name), record(7, Target(()), name), record(8, current(3, of(0)), name)]
    found = laws.state_findings(EpochTally(take_all(EpochGroup(), records, 0), SESSION_MS))
    assert [breach.member for breach in found] == [None, "c", "a", "b"]
