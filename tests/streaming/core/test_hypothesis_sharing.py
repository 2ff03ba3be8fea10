"""Minds that share one run of the assignor, against one run for each of them: the same verdict and memories."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.connect import incremental
from rebalance_monitor.assignors.connect.eras import ERAS, Era
from rebalance_monitor.assignors.connect.model import ConnectResult, ConnectRound, Jobs, LeaderMemory
from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.connect import verdict
from rebalance_monitor.streaming.core.connect.leader import answered_before
from rebalance_monitor.streaming.core.connect.leader.hypotheses import Carried
from rebalance_monitor.streaming.core.connect.leader.packed import LeaderHypothesis
from rebalance_monitor.streaming.core.connect.leader.rounds import Case
from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import replay
from tests.profile import size
from tests.vector_files import CAPTURES

NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir() and not path.name.startswith("eager"))
EVERYTHING = frozenset({one.name for one in fields(Era)} | {"now_ms", "last_completed_generation", "max_delay_ms"})


@cache
def cases(name: str) -> tuple[Case, ...]:
    """Every generation of a recorded cluster as it was judged with nothing configured but the topics."""
    seen: list[Case] = []
    judge = verdict.judge

    def noted(case: Case) -> verdict.Judgement:
        seen.append(case)
        return judge(case)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "judge", noted)
        replay(records_of(CAPTURES / name), ClusterSettings(name=name))
    return tuple(one for one in seen if one.body.protocol != EAGER)


@contextmanager
def counted_runs(*, each_alone: bool) -> Iterator[list[ConnectRound]]:
    """The rounds the assignor ran; `each_alone`: its answers claim to rest on everything, so none is shared."""
    ran: list[ConnectRound] = []
    assign = incremental.assign
    answered_before.LAST.clear()  # what other rounds were answered is not asked here

    def run(memory: LeaderMemory, round_: ConnectRound, **how: Any) -> tuple[ConnectResult, LeaderMemory]:
        ran.append(round_)
        result, after = assign(memory, round_, **how)
        return (replace(result, rests_on=EVERYTHING) if each_alone else result), after

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incremental, "assign", run)
        yield ran


minds = st.builds(
    lambda era, delay_ms, changes: (era, delay_ms, changes),
    st.sampled_from(list(ERAS)),
    st.sampled_from([None, None, 0, 7_000, 9_000, 300_000]),
    st.fixed_dictionaries(
        {},
        optional={
            "forget": st.just(True),
            "revoked_in_previous": st.booleans(),
            "can_revoke": st.booleans(),
            "successive_revocations": st.integers(0, 3),
            "late_ms": st.sampled_from([-100_000, -1, 0, 1, 500, 5_000, 9_000]),
            "generations_ago": st.integers(0, 2),
            "gone": st.sampled_from(["a member that left"]),
        },
    ),
)


def mind(case: Case, era: str, delay_ms: int | None, changes: dict[str, Any]) -> LeaderHypothesis:
    """A mind near those that were carried into this generation."""
    memory = case.carried.hypotheses[0].memory
    plain = {name: value for name, value in changes.items() if name in {one.name for one in fields(LeaderMemory)}}
    memory = replace(memory, **plain)
    if "forget" in changes:
        memory = replace(memory, previous=Jobs(memory.previous.connectors[1:], memory.previous.tasks[1:]))
    if "late_ms" in changes:
        memory = replace(memory, scheduled_ms=case.observed.at_ms + changes["late_ms"], delay_ms=9_000)
    if "generations_ago" in changes:
        memory = replace(memory, previous_generation=case.body.generation - 1 - changes["generations_ago"])
    if "gone" in changes:
        memory = replace(memory, previous_members=memory.previous_members | {changes["gone"]})
    return LeaderHypothesis(era, memory, delay_ms)


@given(
    name=st.sampled_from(NAMES),
    number=st.integers(0, 60),
    others=st.lists(minds, max_size=6),
    keep=st.booleans(),
    missing=st.sampled_from([0, 0, 0, 2]),
)
@settings(max_examples=size(40, 1_200), deadline=None)
def test_sharing_runs_changes_no_verdict_and_no_memory(
    name: str, number: int, others: list[tuple[str, int | None, dict[str, Any]]], keep: bool, missing: int
) -> None:
    case = cases(name)[number % len(cases(name))]
    carried = (*case.carried.hypotheses[: None if keep or not others else 0], *(mind(case, *one) for one in others))
    case = replace(case, carried=Carried(carried, complete=True), missing_generations=missing)
    with counted_runs(each_alone=False) as shared:
        together = verdict.judge(case)
    with counted_runs(each_alone=True) as alone:
        apart = verdict.judge(case)
    assert together == apart
    assert len(shared) <= len(alone)


@pytest.mark.parametrize("name", NAMES)
def test_a_steady_generation_costs_one_run(name: str) -> None:
    """Half of all generations at the least, with all releases possible that were not excluded."""
    runs = []
    for case in cases(name):
        with counted_runs(each_alone=False) as ran:
            if verdict.judge(case).verdict.grade is Grade.MATCH:
                runs.append(len(ran))
    assert sorted(runs)[len(runs) // 2] == 1
