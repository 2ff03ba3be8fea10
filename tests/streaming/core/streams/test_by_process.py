"""End offsets that give a record's answer are found process by process, and where there are none, none are."""

import random
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import pytest

from lab.attack.streams_answers import mutants
from rebalance_monitor.assignors.streams.application import AssignmentConfigs
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.leader import lead
from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import HIGH_AVAILABILITY, StreamsSettings
from rebalance_monitor.streaming.core.streams.by_process import ByProcess, Decision, Work
from rebalance_monitor.streaming.core.streams.caught_up import Possible, possible, sums_of
from rebalance_monitor.streaming.core.streams.differences import difference
from rebalance_monitor.streaming.core.streams.hypotheses import Remembered
from rebalance_monitor.streaming.core.streams.members import UnreadableThread, threads_of
from rebalance_monitor.streaming.core.streams.observed import ObservedRecord, observed
from rebalance_monitor.streaming.core.streams.rounds import Hypothesis, RoundMaker
from rebalance_monitor.streaming.core.streams.search import WORK_FOR_NOTHING
from rebalance_monitor.streaming.core.streams.topology import Seen, key_of, learnt
from rebalance_monitor.streaming.core.streams.verdict import judge
from tests.profile import size
from tests.streaming.core.rules.builders import GROUP
from tests.streaming.core.streams.simulated import Life, Part, Truth

LARGE = (Part(0, "in", 4), Part(1, "re", 9, stateful=True), Part(2, "zz", 6, stateful=True))
"""19 tasks, 15 of them with state."""
SMALL = (Part(1, "re", 3, stateful=True),)
MOST_TRIED, MOST_CHANGED = 150, size(12, 50)
BUILT_IN = (BuiltIn.HIGH_AVAILABILITY, BuiltIn.LEGACY_STICKY)
AT_MS = 1_700_000_000_000


class Round:
    """One record, and what its leader may have read."""

    def __init__(self, truth: Truth, body: GroupGeneration, seen: Seen) -> None:
        threads = threads_of(body)
        assert not isinstance(threads, UnreadableThread)
        self.body = body
        self.seen = learnt(seen, threads)
        self.record: ObservedRecord = observed(GROUP, body.leader, threads, self.seen)
        self.stateful = frozenset((part.number, "") for part in truth.parts if part.stateful)
        self.truth, self.maker = truth, RoundMaker(self.record, AT_MS)
        self.sums = sums_of(self.record)
        self.options: dict[TaskId, Sequence[Possible]] = {
            task: possible(self.sums.get(task, {}), self.record.processes(), truth.acceptable_lag, 0)
            for task in self.record.tasks
            if key_of(task) in self.stateful
        }

    def hypothesis(self, ends: dict[TaskId, int]) -> Hypothesis:
        configs = AssignmentConfigs(
            acceptable_recovery_lag=self.truth.acceptable_lag,
            max_warmup_replicas=self.truth.warm_ups,
            num_standby_replicas=self.truth.standbys,
        )
        assert isinstance(self.truth.assignor, BuiltIn)
        return Hypothesis(
            release=(4, 3), assignor=self.truth.assignor, configs=configs, stateful=self.stateful, ends=ends
        )

    def decided(self, work: int = 1_000_000) -> Decision:
        other = self.maker.other_ends(self.hypothesis({}))
        assert other is not None
        return ByProcess(self.record, other, self.options, self.sums, Work(work), falls_back=True).decide()

    def gives(self, ends: dict[TaskId, int]) -> bool:
        return difference(self.record, lead(self.maker.round(self.hypothesis(ends)))).size == 0


def lived(seed: int, parts: tuple[Part, ...], assignor: BuiltIn, names: str) -> Iterator[Round]:
    """Each record of an application whose processes have two threads and join one after the other."""
    life = Life(random.Random(seed), Truth(parts=parts, assignor=assignor, standbys=1))
    seen: Seen = ()
    for name in names:
        life.join(name, threads=2)
        for _ in range(2):
            life.round()
            row = life.story.rows[-1]
            assert isinstance(row.body, GroupGeneration)
            made = Round(life.truth, row.body, seen)
            seen = made.seen
            yield made
            life.advance(grow=150, catch_up=0.5)


@pytest.mark.parametrize("assignor", BUILT_IN, ids=lambda one: one.value)
def test_end_offsets_are_found_that_give_the_answer_of_a_leader_with_19_tasks(assignor: BuiltIn) -> None:
    found = 0
    for made in lived(3, LARGE, assignor, "abc"):
        if not made.record.unread() and made.record.running():
            ends = made.decided().ends
            assert ends is not None
            assert made.gives(dict(ends))
            found += 1
    assert found > 3


@pytest.mark.parametrize("assignor", BUILT_IN, ids=lambda one: one.value)
def test_what_is_decided_is_what_all_end_offsets_give(assignor: BuiltIn) -> None:
    """In a small group every end offset can be tried."""
    came = {True: 0, False: 0}
    dice = random.Random(1)
    for made in lived(5, SMALL, assignor, "ab"):
        for _, wrong in mutants(made.body, dice):
            changed = Round(made.truth, wrong, made.seen)
            if changed.options.keys() != made.options.keys() or changed.record.threads[0].told.error:
                continue
            if prod(map(len, changed.options.values())) > MOST_TRIED or came[False] == MOST_CHANGED:
                continue
            decision = changed.decided()
            tried = product(*([option.end for option in options] for options in changed.options.values()))
            gives = any(changed.gives(dict(zip(changed.options, ends, strict=True))) for ends in tried)
            if decision.ends is None:
                assert decision.whole
                assert not gives
            else:
                assert changed.gives(dict(decision.ends))
            came[decision.ends is not None] += 1
    assert came[False] > 10


def test_work_that_is_used_up_decides_nothing() -> None:
    *_, made = lived(3, LARGE, BuiltIn.HIGH_AVAILABILITY, "abc")
    decision = made.decided(work=0)
    assert decision.ends is None
    assert not decision.whole


def test_what_one_search_does_not_need_is_left_for_those_after_it() -> None:
    work = Work(90, shared=True)
    parts = []
    for name, part in work.for_each("abc"):
        parts.append(part.left)
        assert part.spend({"a": 10, "b": 40, "c": 20}[name])
    assert parts == [30, 40, 40]
    assert work.left == 20
    alone = Work(90)
    assert [part for _, part in alone.for_each("ab")] == [alone, alone]


def test_a_search_that_proves_nothing_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of unknown settings the right ones may be among the last, and have their part of the work."""
    spent: list[int] = []
    spend = Work.spend

    def counted(self: Work, cells: int) -> bool:
        spent.append(cells)
        return spend(self, cells)

    monkeypatch.setattr(Work, "spend", counted)
    made = list(lived(3, LARGE, BuiltIn.HIGH_AVAILABILITY, "abc"))[4]
    unknown, remembered = StreamsSettings(assignor=HIGH_AVAILABILITY), Remembered(built_in=True)
    found = judge(unknown, made.record, AT_MS, remembered, {})
    assert found.verdict.grade is Grade.EXPLAINABLE
    assert 0 < sum(spent) < WORK_FOR_NOTHING
