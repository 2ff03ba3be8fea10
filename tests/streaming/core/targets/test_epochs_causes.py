"""Why a member is gone from a group with epochs: whether its session time-out may have passed."""

from dataclasses import replace

import pytest

from rebalance_monitor.schemas.group_values import AssignmentEpoch, Current, GroupEpoch, MemberState
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Owner
from rebalance_monitor.streaming.core.targets.causes import causes_of
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.member_laws import SESSION_MS
from rebalance_monitor.streaming.core.targets.timing import shortest_session_ms
from tests.streaming.core.targets.judged import take_all
from tests.streaming.core.targets.test_epochs_laws import SUBSCRIPTION, record

WROTE_MS = 1_700_000_000_000


def gone_after(waited_ms: int, session_ms: int) -> str:
    """The kind of cause of a member that is gone so long after its last record."""
    holds = Current(epoch=2, previous_epoch=1, state=MemberState.STABLE, assigned=())
    of_a_member = [record(5, SUBSCRIPTION, "m"), record(8, holds, "m")]
    before = take_all(TargetGroup(), [record(3, GroupEpoch(2)), record(6, AssignmentEpoch(2)), *of_a_member], WROTE_MS)
    after = replace(before, epoch=3, members={})
    (cause,) = causes_of(before, after, (), WROTE_MS + waited_ms, session_ms)
    return cause.kind


def test_a_member_that_is_gone_sooner_than_any_time_out_left() -> None:
    assert gone_after(5_000, SESSION_MS) == "member_left"


def test_a_time_out_that_the_owner_states_may_have_passed() -> None:
    assert gone_after(12_000, SESSION_MS) == "member_left"
    assert gone_after(12_000, 10_000) == "member_gone"


@pytest.mark.parametrize(("stated_ms", "used_ms"), [(None, SESSION_MS), (10_000, 10_000), (3_600_000, 3_600_000)])
def test_an_owner_states_the_session_time_out_of_the_broker(stated_ms: int | None, used_ms: int) -> None:
    owner = Owner(groups="*", team="t", session_timeout_ms=stated_ms)
    assert shortest_session_ms(ClusterSettings(name="c", owners=(owner,)), "g") == used_ms


def test_beside_what_the_owner_waits_for_the_session_time_out_is_the_brokers() -> None:
    owner = Owner(groups="*", team="t", session_timeout_ms=60_000, silent_member_ms=3_600_000)
    settings = ClusterSettings(name="c", owners=(owner,))
    assert (shortest_session_ms(settings, "g"), settings.silent_member_ms_of("g")) == (60_000, 3_600_000)
