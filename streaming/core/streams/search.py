"""Which hypotheses give the answer in a record: a search with a budget of leader runs.

First every frame (release, assignor, configuration, statefulness) is run once, with the likeliest end offsets. Then the
frames are searched, the nearest first: from an assumption about every task's end offset, one task after the other is
changed, and the assumption whose answer is nearest to the record is changed next. Assumptions that cannot place a task
as the record does are left out beforehand (`caught_up.fits`).

    budget 300 runs      frames 1 .. 10, one run each      nearest: frame 1, 4 differences
    frame 1              task 2_0 further: 2 differences   task 2_1 further, too: 0 differences: found
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import prod

from rebalance_monitor.assignors.streams.application import UNBOUNDED_LAG
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.eras import era_of
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.leader import LeaderAnswer, lead
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.streaming.core.streams.caught_up import Placed, Possible, fits, possible, sums_of
from rebalance_monitor.streaming.core.streams.hypotheses import Frame
from rebalance_monitor.streaming.core.streams.observed import Observed
from rebalance_monitor.streaming.core.streams.rounds import Hypothesis, RoundMaker, difference
from rebalance_monitor.streaming.core.streams.topology import key_of

MOST_RUNS = 300
CELLS = 60_000
"""Tasks times processes over all runs: a large group gets fewer runs."""
FEWEST_RUNS = 12
DEFAULT_JAVA = 17
"""Matters to the sticky assignors alone."""
ALL_OF = 64
"""So many assumptions are all run, to see whether they answer alike."""

Choice = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A hypothesis whose answer is the record's. `only`: every assumption about end offsets answers so."""

    hypothesis: Hypothesis
    answer: LeaderAnswer
    only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """No hypothesis was found. `exhausted`: every one of these frames was tried; `failed`: the leader fails in all;
    `nearest`: what the nearest answer has otherwise; its `answer` is what was expected."""

    exhausted: bool
    failed: str = ""
    nearest: str = ""
    answer: LeaderAnswer | None = None


class Search:
    """One record's search. `floor`: the least end offset of a task by earlier records."""

    def __init__(self, one: Observed, at_ms: int, floor: Mapping[TaskId, int], java_version: int | None) -> None:
        self._one = one
        self._java_version = java_version or DEFAULT_JAVA
        self._maker = RoundMaker(one, at_ms)
        self._floor = floor
        self._sums = sums_of(one)
        self._processes = tuple(one.processes())
        cells = max(len(one.tasks) * len(self._processes), 1)
        self._runs = max(min(MOST_RUNS, CELLS // cells * 4), FEWEST_RUNS)
        self._failed = ""
        self._nearest: tuple[int, str, LeaderAnswer | None] = (1 << 30, "", None)

    def run(self, frames: Sequence[Frame]) -> Found | Missed:
        """The first hypothesis that gives the record's answer."""
        spaces: list[tuple[int, int, _Space]] = []
        exhausted = True
        for number, frame in enumerate(frames):
            if not self._left():
                exhausted = False
                break
            space = self._space(frame)
            if space is None:
                continue
            size = self._try(space, space.start)
            if size == 0:
                return self._found(space, space.start)
            spaces.append((size, number, space))
        for size, _, space in sorted(spaces, key=lambda one: one[:2]):
            choice = self._explore(space, size)
            if choice is not None:
                return self._found(space, choice)
            exhausted = exhausted and space.exhausted
        _, nearest, answer = self._nearest
        return Missed(exhausted=exhausted, failed=self._failed, nearest=nearest, answer=answer)

    def gives(self, hypothesis: Hypothesis) -> bool:
        """Whether this hypothesis gives the record's answer, too."""
        answer = self._lead(hypothesis)
        return answer is not None and difference(self._one, answer).size == 0

    def _left(self) -> bool:
        return self._runs > 0

    def _lead(self, hypothesis: Hypothesis) -> LeaderAnswer | None:
        self._runs -= 1
        try:
            return lead(self._maker.round(replace(hypothesis, java_version=self._java_version)))
        except LeaderFailed as why:
            self._failed = str(why)
            return None

    def _space(self, frame: Frame) -> "_Space | None":
        """The assumptions about end offsets; None where no assumption can place the tasks as the record does."""
        tasks = [task for task in self._one.tasks if key_of(task) in frame.stateful]
        configs = frame.configs
        listed = [
            possible(
                self._sums.get(task, {}), self._processes, configs.acceptable_recovery_lag, self._floor.get(task, 0)
            )
            for task in tasks
        ]
        unpruned = listed
        if frame.assignor is BuiltIn.HIGH_AVAILABILITY and len(self._processes) > 1:
            placed = self._placed(frame, tasks)
            if placed is None:
                return None
            falls_back = era_of(frame.release).most_caught_up
            listed = [
                [one for one in options if fits(one, self._sums.get(task, {}), placed[task], falls_back=falls_back)]
                for task, options in zip(tasks, listed, strict=True)
            ]
            if not all(listed):
                return None
        elif frame.assignor is not BuiltIn.HIGH_AVAILABILITY:
            listed = [options[:1] for options in listed]
        return _Space(frame, tasks, listed, unpruned)

    def _placed(self, frame: Frame, tasks: Sequence[TaskId]) -> dict[TaskId, Placed] | None:
        """Where the ideal placement (everybody caught up) and the record put each task."""
        ideal = self._lead(
            replace(
                _hypothesis(frame, {}),
                configs=replace(frame.configs, acceptable_recovery_lag=UNBOUNDED_LAG),
            )
        )
        if ideal is None or not ideal.shares:
            return None
        runs = {task: process for process, share in ideal.shares.items() for task in share.active}
        copies: dict[TaskId, set[ProcessId]] = {}
        for process, share in ideal.shares.items():
            for task in share.standby:
                copies.setdefault(task, set()).add(process)
        active: dict[TaskId, ProcessId] = {}
        held: dict[TaskId, set[ProcessId]] = {}
        for thread in self._one.threads:
            active.update(dict.fromkeys(thread.active, thread.process_id))
            for task in thread.standby:
                held.setdefault(task, set()).add(thread.process_id)
        return {
            task: Placed(
                ideal=runs[task],
                ideal_copies=frozenset(copies.get(task, ())),
                active=active.get(task),
                copies=frozenset(held.get(task, ())) if task in active else None,
            )
            for task in tasks
            if task in runs
        }

    def _try(self, space: "_Space", choice: Choice) -> int:
        """How far the answer under this assumption is from the record; 0 if it is the record's."""
        space.seen.add(choice)
        answer = self._lead(space.hypothesis(choice))
        if answer is None:
            return 1 << 20
        found = difference(self._one, answer)
        if found.size < self._nearest[0]:
            self._nearest = found.size, found.first, answer
        return found.size

    def _explore(self, space: "_Space", size: int) -> Choice | None:
        queue: list[tuple[int, int, Choice]] = [(size, 0, space.start)]
        while queue:
            _, changes, choice = heappop(queue)
            for near in space.neighbours(choice):
                if near in space.seen:
                    continue
                if not self._left():
                    space.exhausted = False
                    return None
                found = self._try(space, near)
                if found == 0:
                    return near
                heappush(queue, (found, changes + 1, near))
        space.exhausted = not space.ordered_by_lag(self._one)
        return None

    def _found(self, space: "_Space", choice: Choice) -> Found:
        hypothesis = space.hypothesis(choice)
        answer = self._lead(hypothesis)
        assert answer is not None
        return Found(hypothesis, answer, self._only(space))

    def _only(self, space: "_Space") -> bool:
        """Whether every end offset gives this answer, so that it does not rest on one."""
        if space.ordered_by_lag(self._one) or prod(map(len, space.unpruned)) > ALL_OF:
            return False
        every = _Space(space.frame, space.tasks, space.unpruned, space.unpruned)
        return all(self.gives(every.hypothesis(choice)) for choice in every.all_choices())


class _Space:
    """All assumptions about end offsets within one frame: for each stateful task the number of its option."""

    def __init__(
        self,
        frame: Frame,
        tasks: Sequence[TaskId],
        options: Sequence[Sequence[Possible]],
        unpruned: Sequence[Sequence[Possible]],
    ) -> None:
        self.frame, self.tasks, self.unpruned = frame, tasks, unpruned
        self._options = options
        self.start: Choice = (0,) * len(tasks)
        self.seen: set[Choice] = set()
        self.exhausted = False

    def hypothesis(self, choice: Choice) -> Hypothesis:
        """The whole hypothesis."""
        ends = {
            task: options[number].end for task, options, number in zip(self.tasks, self._options, choice, strict=True)
        }
        return _hypothesis(self.frame, ends)

    def neighbours(self, choice: Choice) -> Iterator[Choice]:
        """The assumptions that differ in one task."""
        for at, options in enumerate(self._options):
            for number in range(len(options)):
                if number != choice[at]:
                    yield (*choice[:at], number, *choice[at + 1 :])

    def all_choices(self) -> Iterator[Choice]:
        """Every assumption; there must be few."""
        found: list[Choice] = [()]
        for options in self._options:
            found = [(*choice, number) for choice in found for number in range(len(options))]
        yield from found

    def ordered_by_lag(self, one: Observed) -> bool:
        """Whether a thread's own order depends on exact end offsets: it reports two tasks that it does not run."""
        stateful = self.frame.stateful
        return any(
            sum(total >= 0 and key_of(task) in stateful for task, total in thread.offset_sums.items()) > 1
            for thread in one.threads
        )


def _hypothesis(frame: Frame, ends: Mapping[TaskId, int]) -> Hypothesis:
    return Hypothesis(
        release=frame.release,
        assignor=frame.assignor,
        configs=frame.configs,
        stateful=frame.stateful,
        ends=ends,
        blind=frame.blind,
    )
