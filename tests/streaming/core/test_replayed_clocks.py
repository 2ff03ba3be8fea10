"""Who confirms that time has passed where nobody read along: other clocks of the same input.

Each story is told three times: witnesses say so (certain), nobody else does (possible), and the coordinator's clock has
jumped (possible at most: that is the case all this care is for).
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask
from rebalance_monitor.streaming.core.connect.topics import StatusChange
from rebalance_monitor.streaming.core.model.results import Certainty, Severity
from tests.streaming.core.rules.builders import OFFSETS, Story, incidents
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS, PATIENCE_MS, calm
from tests.streaming.core.rules.processes import Given, Worker
from tests.streaming.core.rules.test_no_alarm import LIVES, WORLDS
from tests.streaming.core.test_clock_steps import BROKERS_MS, Punctual, alarms
from tests.streaming.core.test_clocks import moved

STEP_MS = 20 * MINUTE_MS


def stops(story: Story, name: str) -> None:
    """A worker says of all it holds that it has stopped it."""
    for job in sorted(_jobs(story.workers[name]), key=str):
        story.status(job, "UNASSIGNED", name)


def starts(story: Story) -> None:
    """Every worker takes up what it holds."""
    story.wait(50)
    for name, worker in story.workers.items():
        for job in sorted(worker.holds()):
            story.status(job, "RUNNING", name)


def busy(story: Story, ms: int, partition: int = 0) -> None:
    """A consumer commits every four seconds meanwhile."""
    for _ in range(ms // 4_000):
        story.wait(4_000)
        story.commit_offsets(partition)
    story.wait(ms % 4_000)


def followed(story: Story, after_ms: int, *, told: bool, commits: bool) -> Story:
    """The next generation, so much later; `commits`: its partition has records all the while, `told`: workers say that
    they have started."""
    if commits:
        busy(story, after_ms)
        after_ms = 0
    story.rebalance(after_ms=after_ms)
    if told:
        starts(story)
    return story


def left(after_ms: int, *, told: bool = True, commits: bool = False) -> Story:
    """w3 leaves, a delay is announced, and what follows comes `after_ms` later."""
    story = calm("w1", "w2", "w3", tasks=6)
    if told:
        starts(story)
        story.wait(1_000)
        stops(story, "w3")
    story.wait(1_000)
    story.leave("w3")
    story.rebalance(after_ms=100)
    return followed(story, after_ms, told=told, commits=commits)


def taken(after_ms: int, *, told: bool = True, commits: bool = False) -> Story:
    """w3 joins, others give jobs up for it, and it is given them `after_ms` later."""
    story = calm()
    if told:
        starts(story)
        story.wait(1_000)
    story.join("w3")
    before = {name: worker.holds() for name, worker in story.workers.items()}
    story.rebalance()
    if told:
        story.wait(100)
        for name, worker in story.workers.items():
            for job in sorted(before[name] - worker.holds()):
                story.status(job, "UNASSIGNED", name, generation=story.generation - 1)
    return followed(story, after_ms, told=told, commits=commits)


def downgraded(after_ms: int, *, told: bool = True, commits: bool = False) -> Story:
    """One of two workers comes back with a lower protocol, the other one is still as it was when a third one joins."""
    story = calm()
    story.protocol = "compatible"
    story.restart("w1")
    story.rebalance()
    story.rebalance()
    if told:
        starts(story)
    if commits:
        busy(story, after_ms)
        after_ms = 0
    story.join("w3")
    story.rebalance(after_ms=after_ms)
    if told:
        starts(story)
    return story


TOLD = [
    (left, DELAY_MS + PATIENCE_MS + STEP_MS, {"CONNECT-K5", "CONNECT-K6"}),
    (taken, PATIENCE_MS + STEP_MS, {"CONNECT-K14"}),
    (downgraded, STEP_MS, {"CONNECT-K13"}),
]
CERTAIN = {"CONNECT-K13": (Severity.MEDIUM, Certainty.LIKELY)}
"""What a rule is told with at its fullest, if not with high severity and for certain."""


def told_of(story: Story, codes: set[str]) -> set[tuple[str, Severity, Certainty]]:
    return {(one.code, one.severity, one.certainty) for one in incidents(story.replayed()) if one.code in codes}


@pytest.mark.parametrize(("happens", "after_ms", "codes"), TOLD)
@pytest.mark.parametrize("how", ["statuses", "commits"])
def test_what_other_clocks_confirm_is_certain(
    happens: Callable[..., Story], after_ms: int, codes: set[str], how: str
) -> None:
    story = happens(after_ms, told=how == "statuses", commits=how == "commits")
    assert told_of(story, codes) == {(code, *CERTAIN.get(code, (Severity.HIGH, Certainty.CERTAIN))) for code in codes}


@pytest.mark.parametrize(("happens", "after_ms", "codes"), TOLD)
def test_what_the_coordinator_alone_says_is_possible(
    happens: Callable[..., Story], after_ms: int, codes: set[str]
) -> None:
    found = told_of(happens(after_ms, told=False), codes)
    assert found == {(code, Severity.INFO, Certainty.POSSIBLE) for code in codes}


@pytest.mark.parametrize(("happens", "codes"), [(one, codes) for one, _, codes in TOLD])
@pytest.mark.parametrize("how", ["statuses", "commits", "neither"])
def test_a_coordinator_that_jumps_ahead_is_not_believed(
    happens: Callable[..., Story], codes: set[str], how: str
) -> None:
    story = happens(20_000, told=how == "statuses", commits=how == "commits")
    at = max(index for index, row in enumerate(story.rows) if row.topic == OFFSETS)
    story.rows[at] = moved(story.rows[at], STEP_MS)
    assert {severity for _, severity, _ in told_of(story, codes)} <= {Severity.INFO}


def off(story: Story, names: Iterable[str], ms: int) -> None:
    """These workers' clocks are ahead, and have always been."""
    urls = {f"{name}:8083" for name in names}
    story.rows = [
        replace(row, timestamp_ms=row.timestamp_ms + ms)
        if isinstance(row.body, StatusChange) and row.body.record.worker_id in urls
        else row
        for row in story.rows
    ]


@pytest.mark.parametrize(("happens", "codes"), [(one, codes) for one, _, codes in TOLD])
def test_workers_whose_clocks_are_off_like_the_next_coordinators_confirm_nothing(
    happens: Callable[..., Story], codes: set[str]
) -> None:
    """By the clock of the one that takes up its jobs no more time has passed between the two records than there was."""
    story = happens(20_000)
    at = max(index for index, row in enumerate(story.rows) if row.topic == OFFSETS)
    story.rows[at] = moved(story.rows[at], STEP_MS)
    off(story, ("w2",), STEP_MS)
    story.rows = [
        row
        for index, row in enumerate(story.rows)
        if index <= at or (isinstance(row.body, StatusChange) and row.body.record.worker_id == "w2:8083")
    ]
    assert {severity for _, severity, _ in told_of(story, codes)} <= {Severity.INFO}


@pytest.mark.parametrize(("happens", "after_ms", "codes"), TOLD)
def test_workers_whose_clocks_are_off_confirm_all_the_same(
    happens: Callable[..., Story], after_ms: int, codes: set[str]
) -> None:
    story = happens(after_ms)
    off(story, ("w1", "w2", "w3"), -STEP_MS)
    assert told_of(story, codes) == {(code, *CERTAIN.get(code, (Severity.HIGH, Certainty.CERTAIN))) for code in codes}


def test_a_rest_of_a_delay_that_is_read_a_moment_later_adds_no_time() -> None:
    """The delay so far and its rest are together a moment more than the delay: until the rest and both time-outs are
    over nobody is late, whatever the next coordinator's clock says."""
    story = calm("w1", "w2", "w3", tasks=6)
    story.leave("w3")
    story.rebalance(after_ms=100)
    story.join("w4")
    story.rebalance(after_ms=9_000)
    last = max(index for index, row in enumerate(story.rows) if row.topic == OFFSETS)
    story.rows[last] = moved(story.rows[last], 1)
    story.leave("w1")
    story.rebalance(after_ms=1_200)
    jumps = [index for index, row in enumerate(story.rows) if row.topic == OFFSETS and index > last]
    for index in jumps:
        story.rows[index] = moved(story.rows[index], STEP_MS)
    assert {severity for _, severity, _ in told_of(story, LASTING)} <= {Severity.INFO}


# -- the end of the input ----------------------------------------------------------------------------------------------


def waiting(*, told: bool = True) -> Story:
    """The group's last record opens a delay; `told`: a worker's clock agreed with its coordinator's before."""
    story = calm("w1", "w2", "w3", tasks=6)
    if told:
        starts(story)
    story.leave("w3")
    story.rebalance()
    return story


def others(story: Story) -> None:
    """Other partitions of the coordinator's log go on."""
    for partition in (1, 2, 3):
        story.commit_offsets(partition)


def workers(story: Story) -> None:
    """One worker writes a status, and one of another group's commits has about the same time."""
    story.status("c1-0", "RUNNING", "w1")
    story.commit_offsets(1)


def another(story: Story) -> None:
    story.commit_offsets(1)


def a_worker(story: Story) -> None:
    story.status("c1-0", "RUNNING", "w1")


LASTING = {"CONNECT-K5", "CONNECT-K6", "CONNECT-K13", "CONNECT-K14", "CONNECT-K18"}
OVERDUE = {"CONNECT-K5", "CONNECT-K6"}
HIGH = {(code, Severity.HIGH, Certainty.CERTAIN) for code in OVERDUE}
POSSIBLE = {(code, Severity.INFO, Certainty.POSSIBLE) for code in OVERDUE}


@pytest.mark.parametrize("goes_on", [others, workers])
def test_an_end_that_two_clocks_have_reached_is_certain(goes_on: Callable[[Story], None]) -> None:
    story = waiting()
    story.wait(DELAY_MS + 10 * MINUTE_MS)
    goes_on(story)
    assert told_of(story, OVERDUE) == HIGH
    early = waiting()
    early.wait(DELAY_MS)
    goes_on(early)
    assert told_of(early, OVERDUE) == set()


@pytest.mark.parametrize("goes_on", [another, a_worker])
def test_an_end_that_one_clock_alone_has_reached_is_possible(goes_on: Callable[[Story], None]) -> None:
    story = waiting()
    story.wait(DELAY_MS + 10 * MINUTE_MS)
    goes_on(story)
    assert told_of(story, OVERDUE) == POSSIBLE
    assert all("one clock alone" in one.message for one in incidents(story.replayed()) if one.code in OVERDUE)


def test_an_end_that_two_clocks_have_reached_because_they_are_ahead_is_none() -> None:
    story = waiting()
    story.wait(DELAY_MS)
    story.status("c1-0", "RUNNING", "w1")
    story.commit_offsets(1)
    off(story, ("w1",), STEP_MS)
    partition, offset, at_ms = story.commits[-1]
    story.commits[-1] = (partition, offset, at_ms + STEP_MS)
    assert {severity for _, severity, _ in told_of(story, OVERDUE)} <= {Severity.INFO}


def test_a_coordinator_whose_clock_nobody_knows_may_be_behind_the_others() -> None:
    story = waiting(told=False)
    story.wait(DELAY_MS + 10 * MINUTE_MS)
    others(story)
    assert told_of(story, OVERDUE) == POSSIBLE


def test_a_busy_partition_needs_nobody_else() -> None:
    story = waiting(told=False)
    busy(story, DELAY_MS + PATIENCE_MS + 10_000)
    assert told_of(story, OVERDUE) == HIGH


# -- no false alarm ----------------------------------------------------------------------------------------------------


class Talking(Story):
    """Workers say what they start and stop, and others commit; half of those who leave say nothing any more."""

    seed = 0

    def leave(self, name: str) -> Worker:
        if random.Random(self.seed + self.generation).random() < 0.5:
            stops(self, name)
        return super().leave(name)

    def wait(self, ms: int) -> None:
        if random.Random(self.seed - self.generation).random() < 0.3:
            busy_ms = ms // 2
            self.now_ms += ms - busy_ms
            for _ in range(busy_ms // 4_000):
                self.now_ms += 4_000
                self.commit_offsets()
            self.now_ms += busy_ms % 4_000
        else:
            self.now_ms += ms

    def rebalance(self, *args: Any, **kwargs: Any) -> Given:
        before = {name: _jobs(worker) for name, worker in self.workers.items()}
        given = super().rebalance(*args, **kwargs)
        at_ms, eager = self.now_ms, self.protocol == "default"
        for name, worker in self.workers.items():
            self.now_ms += 20
            for job in sorted(before[name] - _jobs(worker), key=str):
                self.status(job, "UNASSIGNED", name, generation=self.generation - 1)
            for job in sorted(_jobs(worker) - (frozenset() if eager else before[name]), key=str):
                self.status(job, "RUNNING", name)
        self.now_ms = at_ms
        return given


def _jobs(worker: Worker) -> frozenset[ConnectorOrTask]:
    return frozenset((*worker.held.connectors, *worker.held.tasks))


def taken_over(story: Story, dice: random.Random) -> None:
    """From now and then on another broker writes what is in the group's partition."""
    own = {offset: at for at, (partition, offset, _) in enumerate(story.commits) if partition == 0}
    places = {row.offset: at for at, row in enumerate(story.rows) if row.topic == OFFSETS}
    at_ms = 0
    for offset in sorted({*own, *places}):
        at_ms = dice.choice(BROKERS_MS) if dice.random() < (0.15 if offset in places else 0.01) else at_ms
        if offset in places:
            story.rows[places[offset]] = moved(story.rows[places[offset]], at_ms)
        else:
            partition, _, was_ms = story.commits[own[offset]]
            story.commits[own[offset]] = (partition, offset, was_ms + at_ms)


@pytest.mark.parametrize("world", ["A5", "static", "eager"])
@settings(max_examples=LIVES)
@given(seed=st.integers(0, 2**32), max_delay_ms=st.sampled_from([0, 40, 60_000, 300_000]))
def test_a_right_leader_raises_no_alarm_in_a_replay(world: str, seed: int, max_delay_ms: int) -> None:
    """But for jobs that a returned zombie runs on with, for workers that say nothing when they go and stay away (K21),
    and for what only the coordinator's clock, set back or forth, puts between a status and its record (CONNECT-K4)."""
    protocol, era = WORLDS[world]
    story = Talking(protocol, era=era, max_delay_ms=max_delay_ms)
    story.seed = seed
    Punctual(story, seed).live(8)
    assert not alarms(story, story.replayed()).keys() - {"CONNECT-K2", "CONNECT-K21"}
    taken_over(story, random.Random(seed))
    assert not alarms(story, story.replayed()).keys() - {"CONNECT-K2", "CONNECT-K4", "CONNECT-K21"}


@settings(max_examples=LIVES)
@given(seed=st.integers(0, 2**32), max_delay_ms=st.sampled_from([0, 40, 60_000, 300_000]))
def test_no_clocks_of_workers_and_brokers_together_make_time_pass(seed: int, max_delay_ms: int) -> None:
    """Workers' clocks are off, too, and as far as brokers' are: nothing that has to last before it is told is told."""
    story = Talking("sessioned", max_delay_ms=max_delay_ms)
    story.seed = seed
    Punctual(story, seed).live(8)
    dice = random.Random(seed)
    for name in sorted({row.body.record.worker_id or "" for row in story.rows if isinstance(row.body, StatusChange)}):
        off(story, (name.removesuffix(":8083"),), dice.choice(BROKERS_MS))
    taken_over(story, dice)
    assert not alarms(story, story.replayed()).keys() & LASTING
