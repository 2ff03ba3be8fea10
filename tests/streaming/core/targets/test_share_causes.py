"""Operations of one millisecond are one moment to whoever reads: each epoch in it has a cause of its own."""

from dataclasses import replace
from functools import cache
from itertools import groupby, pairwise
from random import Random

import pytest

from rebalance_monitor.schemas.group_values import NamedPartitions, ShareMember, ShareStates
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Certainty, Generation, Grade
from rebalance_monitor.streaming.core.targets.causes import causes_of
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.member import TargetMember
from rebalance_monitor.streaming.core.targets.operation import record_of
from tests.profile import LONG
from tests.streaming.core.targets.captured import SHARES, folded, rows_by_group
from tests.streaming.core.targets.test_share_capture import GROUPS

NEAR_MS = 100
"""Moments so near to each other might have been one."""


def causes(rows: list[Row], group: str) -> dict[int, list[str]]:
    """Kinds of causes by the epoch of the target."""
    told = [one for one in folded(SHARES, group, [rows]) if isinstance(one, Generation)]
    return {one.generation: sorted(cause.kind for cause in one.cause) for one in told}


@cache
def moments(group: str) -> list[list[Row]]:
    return [list(some) for _, some in groupby(rows_by_group(SHARES)[group], key=lambda row: row.timestamp_ms)]


@pytest.mark.parametrize("group", GROUPS)
def test_two_operations_in_one_millisecond_keep_their_causes(group: str) -> None:
    """The initialized partitions are written, and a heartbeat asks for them at once; somebody leaves as another one
    joins."""
    told, every = causes(rows_by_group(SHARES)[group], group), moments(group)
    close = [
        at for at, (one, other) in enumerate(pairwise(every)) if other[0].timestamp_ms - one[0].timestamp_ms < NEAR_MS
    ]
    assert len(close) > 5
    for at in close if LONG else Random(group).sample(close, 5):
        together = [replace(row, timestamp_ms=every[at][0].timestamp_ms) for row in every[at + 1]]
        rows = [row for some in (*every[: at + 1], together, *every[at + 2 :]) for row in some]
        assert causes(rows, group) == told, at


@pytest.mark.parametrize("group", GROUPS)
def test_partitions_that_are_asked_for_as_they_are_initialized_are_the_cause(group: str) -> None:
    every = moments(group)
    at = next(at for at, (one, other) in enumerate(pairwise(every)) if _types(one) == {15} and 11 in _types(other))
    together = [replace(row, timestamp_ms=every[at][0].timestamp_ms) for row in every[at + 1]]
    told = causes([row for some in (*every[:at], every[at], together, *every[at + 2 : at + 6]) for row in some], group)
    assert "partitions_initialized" in {kind for kinds in told.values() for kind in kinds}
    assert "unknown" not in {kind for kinds in told.values() for kind in kinds}


def _types(rows: list[Row]) -> set[int]:
    return {said.type for row in rows if (said := record_of(row)) is not None}


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_whose_first_members_come_at_once_is_judged_from_its_beginning(group: str) -> None:
    first, second = moments(group)[:2]
    together = [replace(row, timestamp_ms=first[0].timestamp_ms) for row in second]
    rows = [*first, *together, *(row for some in moments(group)[2:] for row in some)]
    told = [one for one in folded(SHARES, group, [rows]) if isinstance(one, Generation)]
    assert {one.verdict.grade for one in told} == {Grade.MATCH}


def test_state_of_a_deleted_topic_that_is_left_is_why_each_heartbeat_asks_again() -> None:
    """Until the coordinator has deleted it, it compares partitions with share state and targets, which are unlike."""
    stated = NamedPartitions(topic=b"t" * 16, name="t", numbers=(0, 1))
    member = TargetMember(metadata=ShareMember(rack=None, client_id="c", client_host="/h", names=("t",)))
    before = TargetGroup(
        epoch=7,
        assignment_epoch=7,
        metadata_hash=1,
        states=ShareStates(initializing=(), initialized=(stated,), deleting=()),
        members={"m": member},
    )
    (cause,) = causes_of(before, before.raised(8, 1_000), (), 1_000, 45_000)
    assert (cause.kind, cause.certainty) == ("topic_changed", Certainty.LIKELY)
    behind = before.raised(8, 1_000)
    assert causes_of(behind, behind.raised(9, 1_000), (), 1_000, 45_000) == (), "as the epoch before it"
