"""A tally of a share group that follows single records says what one says that is made of the whole group."""

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
from rebalance_monitor.streaming.core.share import laws
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.share.tally import ShareTally
from rebalance_monitor.streaming.core.targets.operation import changed_by, take_all
from rebalance_monitor.streaming.core.targets.timing import SESSION_MS
from tests.streaming.core.epochs.test_epochs_laws import current, of, record

NAMES, EPOCHS, AT_MS = st.sampled_from("abc"), st.integers(1, 3), st.integers(0, 400_000)
PARTITIONS = st.builds(lambda some: of(*some), st.sets(st.integers(0, 2)))
MEMBER = ShareMember(rack=None, client_id="c", client_host="/h", names=("t",))
COUNTS = {"t": (of(0)[0].topic, 3)}
RECORDS = st.one_of(
    st.builds(lambda epoch: record(11, GroupEpoch(epoch, 1)), EPOCHS),
    st.builds(lambda epoch: record(12, AssignmentEpoch(epoch)), EPOCHS),
    st.builds(lambda name: record(10, MEMBER, name), NAMES),
    st.builds(lambda name, given: record(13, Target(given), name), NAMES, PARTITIONS),
    st.builds(
        lambda name, epoch, held, state: record(14, current(epoch, held, state), name),
        NAMES, EPOCHS, PARTITIONS, st.sampled_from([MemberState.STABLE, UnknownState(7)]),
    ),
    st.builds(lambda type_, name: record(type_, None, name), st.sampled_from([10, 13, 14]), NAMES),
    st.just(record(15, ShareStates(initializing=(), initialized=(), deleting=()))),
    st.just(record(11, None)),
)  # fmt: skip
STEPS = st.lists(st.tuples(st.lists(RECORDS, min_size=1, max_size=4), st.integers(1, 60_000)), max_size=12)


@given(STEPS, AT_MS, AT_MS)
def test_a_tally_that_followed_is_one_that_was_made_anew(
    steps: list[tuple[list[GroupRecord], int]], now_ms: int, after_ms: int
) -> None:
    group, at_ms = ShareGroup(), 0
    tally = ShareTally(group, SESSION_MS)
    for records, passed_ms in steps:
        at_ms += passed_ms
        after = take_all(group, records, at_ms)
        tally, group = tally.after(after, changed_by(records, group)), after
        anew = ShareTally(group, SESSION_MS)
        assert laws.breaches_of(tally) == laws.breaches_of(anew)
        assert laws.overdue(tally, now_ms) == laws.overdue(anew, now_ms)
        assert list(laws.without_member(tally, COUNTS)) == list(laws.without_member(anew, COUNTS))
        for moment_ms in (None, after_ms):
            assert laws.next_due_ms(tally, moment_ms) == laws.next_due_ms(anew, moment_ms)
        assert (set(tally.wanted), set(tally.names)) == (set(anew.wanted), set(anew.names))
        assert (tally.late, tally.unknown) == (anew.late, anew.unknown)
