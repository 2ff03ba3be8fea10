"""Which hypotheses give the answer in a record: a search with a budget of leader runs.

First every frame (release, assignor, configuration, statefulness) is run once, with the likeliest end offsets. Then the
frames are searched, those first whose leader prefers processes that lag less, the nearest of them first. Assumptions
that cannot place a task as the record does are left out beforehand (`caught_up.fits`).

    high availability    which end offsets give the answer is decided process by process (`by_process`)
    all others           from an assumption about every task's end offset, one task after the other is changed, and the
                         assumption whose answer is nearest to the record is changed next

    budget 150 runs      frames 1 .. 10, one run each      nearest: frame 1, 4 differences
    frame 1              task 2_0 further: 2 differences   task 2_1 further, too: 0 differences: found
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from math import prod

from rebalance_monitor.assignors.streams.application import RUNNING, UNBOUNDED_LAG
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.eras import era_of
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.leader import LeaderAnswer, lead
from rebalance_monitor.assignors.streams.other_ends import OtherEnds
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds
from rebalance_monitor.streaming.core.model.settings import PlugIn
from .by_process import ByProcess, Work, placed
from .caught_up import Possible, below_sums, firsts, fits, for_order, possible, sums_of, within
from .differences import Difference, Place, difference, difference_but_copies, difference_by_process, places_of
from .hypotheses import NOTHING, Assumptions, Choice, Frame, Worth, hypothesis_of
from .looked_at import LAGS
from .observed import ObservedRecord
from .plug_ins import PlugInRun
from .rounds import Hypothesis, RoundMaker
from .topology import key_of

MOST_RUNS = 150
CELLS = 60_000
"""Tasks times processes over all runs: a large group gets fewer runs."""
FEWEST_RUNS = 4
WORK = 100_000
"""The same for what is decided process by process: a placement costs an eighth of a run."""
WORK_FOR_NOTHING = 10_000
"""The same where a miss proves nothing: three times what the dearest answer of a real application took."""
MOST_PLUG_IN_RUNS = 30
"""Each is a call of a process."""
DEFAULT_JAVA = 17
"""Matters to the sticky assignors alone."""
ALL_OF = 64
"""So many assumptions are all run, to see whether they answer alike."""


@dataclass(frozen=True, slots=True)
class Found:
    """A hypothesis whose answer is the record's. `only`: every assumption about end offsets answers so;
    `sampled`: every one does that samples of the end offsets allow."""

    hypothesis: Hypothesis
    answer: LeaderAnswer
    only: bool
    sampled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """No hypothesis was found. `exhausted`: every one of these frames was tried; `failed`: the leader fails in all;
    `nearest`: what the nearest answer has otherwise; its `answer` is what was expected, under the hypothesis `tried`
    (without any answer: the likeliest one)."""

    exhausted: bool
    failed: str = ""
    nearest: str = ""
    answer: LeaderAnswer | None = None
    tried: Hypothesis | None = None


def runs_of(record: ObservedRecord, most: int = MOST_RUNS, weight: int = 1) -> int:
    """How many runs of the leader a record may cost; `weight`: how many times as much as a plain one each costs."""
    cells = max(len(record.tasks) * len(record.processes()) * weight, 1)
    return max(min(most, CELLS // cells), FEWEST_RUNS)


class Search:
    """One record's search. `floor`: the least end offset of a task by earlier records; `bounds`: between which end
    offsets it lay by samples, for some tasks; `plugged` runs the plug-in."""

    def __init__(
        self,
        record: ObservedRecord,
        at_ms: int,
        floor: Mapping[TaskId, int],
        java_version: int | None,
        plugged: PlugInRun | None = None,
        *,
        bounds: Mapping[TaskId, EndBounds] | None = None,
        parts: int = 1,
        weight: int = 1,
        concludes: bool = True,
    ) -> None:
        """`parts` of the record's runs; `weight`: what one run costs; `concludes`: a miss proves the answer wrong."""
        self._one, self._plugged = record, plugged
        self._java_version = java_version or DEFAULT_JAVA
        self._maker = RoundMaker(record, at_ms, plugged)
        self._bounds = bounds or {}
        self.sampled_state = frozenset(map(key_of, self._bounds))  # whose changelogs were sampled
        # Where samples tell, the search begins with what they tell.
        self._floor = {**floor, **{task: max(floor.get(task, 0), its.least) for task, its in self._bounds.items()}}
        self._sums = sums_of(record)
        self._below = below_sums(record, self._sums, self._bounds)
        self._processes = record.processes()
        most = MOST_RUNS if plugged is None else MOST_PLUG_IN_RUNS
        self._runs = self._more = max(runs_of(record, most, weight) // parts, FEWEST_RUNS)
        self._work = Work((WORK if concludes else WORK_FOR_NOTHING) // (parts * weight), shared=not concludes)
        self.made, self._failed = 0, ""
        self._nearest: tuple[int, str, LeaderAnswer | None] = (1 << 30, "", None)
        self._tried: Hypothesis | None = None

    def run(self, frames: Sequence[Frame]) -> Found | Missed:
        spaces: list[tuple[bool, int, int, Assumptions]] = []
        exhausted = True
        for number, frame in enumerate(frames):
            if not self._left():
                exhausted = False
                break
            if self._answered_alike(frame, (space.frame for *_, space in spaces)):
                continue
            space = self._space(frame)
            if space is None:
                continue
            size = self._try(space, space.start)
            if size == 0:
                return self._found(space, space.hypothesis(space.start))
            spaces.append((self._orders_only(frame), size, number, space))
        for (_, size, _, space), work in self._work.for_each(sorted(spaces, key=lambda one: one[:3])):
            if self._plugged is not None and LAGS not in self._plugged.read:
                break  # no end offset decides
            hypothesis = self._explore(space, size) if space.other is None else self._decide(space, space.other, work)
            if hypothesis is not None:
                return self._found(space, hypothesis)
            exhausted = exhausted and space.exhausted
        _, nearest, answer = self._nearest
        return Missed(exhausted=exhausted, failed=self._failed, nearest=nearest, answer=answer, tried=self._tried)

    def gives(self, hypothesis: Hypothesis) -> bool | None:
        """Whether this hypothesis gives the record's answer, too; None where no run is left to tell."""
        if not self._left():
            return None
        answer = self._lead(hypothesis)
        return answer is not None and self._difference(hypothesis, answer).size == 0

    def ideal(self, hypothesis: Hypothesis) -> dict[TaskId, Place] | None:
        """Where each task with state is once nothing lags; None where the leader fails."""
        configs = replace(hypothesis.configs, acceptable_recovery_lag=UNBOUNDED_LAG)
        answer = self._lead(replace(hypothesis, configs=configs, ends={}))
        return None if answer is None else places_of(answer, hypothesis.stateful)

    def _difference(self, hypothesis: Hypothesis, answer: LeaderAnswer) -> Difference:
        if not answer.assignments:
            return difference_by_process(self._one, answer)
        if hypothesis.copies_unsure:
            return difference_but_copies(self._one, answer, hypothesis)
        return difference(self._one, answer)

    def perform(self, hypothesis: Hypothesis) -> None:
        """Let the plug-in assign once more, and tell it what came of it."""
        with suppress(LeaderFailed):
            lead(self._maker.round(replace(hypothesis, java_version=self._java_version), performs=True))

    def _answered_alike(self, frame: Frame, tried: Iterable[Frame]) -> bool:
        """Whether a plug-in has looked at nothing in which the frame differs from one that was tried; all there is to
        try where it is not called any more."""
        run = self._plugged
        return run is not None and (
            run.lost
            or any(
                (frame.release, frame.stateful) == (one.release, one.stateful)
                and run.indifferent_to(frame.configs, one.configs)
                and not (run.saw_racks and frame.racks != one.racks)
                for one in tried
            )
        )

    @staticmethod
    def _orders_only(frame: Frame) -> bool:
        """Whether end offsets decide nothing but which thread of a process keeps a task. Such frames are searched
        last."""
        by_lag = isinstance(frame.assignor, PlugIn) or frame.assignor is BuiltIn.HIGH_AVAILABILITY
        return frame.blind or not by_lag

    def _left(self) -> bool:
        return self._runs > 0

    def _lead(self, hypothesis: Hypothesis) -> LeaderAnswer | None:
        self._runs -= 1
        self.made += 1
        try:
            return self._maker.answer(replace(hypothesis, java_version=self._java_version))
        except LeaderFailed as why:
            self._failed = str(why)
            return None

    def _space(self, frame: Frame) -> "Assumptions | None":
        """The assumptions about end offsets; None where no assumption can place the tasks as the record does."""
        tasks = [task for task in self._one.tasks if key_of(task) in frame.stateful]
        lag = frame.configs.acceptable_recovery_lag
        listed = [
            possible(
                self._sums.get(task, {}), self._processes, lag, self._floor.get(task, 0), below=task in self._below
            )
            for task in tasks
        ]
        unpruned = listed
        by_lag = frame.assignor is BuiltIn.HIGH_AVAILABILITY and not frame.blind
        if isinstance(frame.assignor, PlugIn):
            return Assumptions(frame, tasks, listed, unpruned)
        sticky = frame.assignor is BuiltIn.LEGACY_STICKY and era_of(frame.release).high_availability and not frame.blind
        if by_lag or sticky:
            self._runs -= 1
            try:
                other = self._maker.other_ends(replace(hypothesis_of(frame, {}), java_version=self._java_version))
            except LeaderFailed as why:
                self._failed, other = str(why), None
            if other is None or sticky:
                return None if other is None else Assumptions(frame, tasks, listed, unpruned, other)
            places = placed(other, self._one)
            falls_back = era_of(frame.release).most_caught_up
            listed = [
                firsts(
                    one for one in options if fits(one, self._sums.get(task, {}), places[task], falls_back=falls_back)
                )
                for task, options in zip(tasks, listed, strict=True)
            ]
            return Assumptions(frame, tasks, listed, unpruned, other) if all(listed) else None
        # No process is preferred for its lag, but each thread keeps what it lags least of first.
        ordered = not frame.blind and any(len(threads) > 1 for threads in self._processes.values())
        listed = [for_order(options) if ordered else options[:1] for options in listed]
        return Assumptions(frame, tasks, listed, unpruned)

    def _try(self, space: Assumptions, choice: Choice) -> int:
        """How far the answer under this assumption is from the record; 0 if it is the record's."""
        hypothesis = space.hypothesis(choice)
        answer = self._lead(hypothesis)
        if answer is None:
            self._tried = self._tried or hypothesis
            space.seen[choice] = Worth(frozenset(space.tasks))
            return 1 << 20
        size = self._compared(hypothesis, answer)
        space.seen[choice] = self._worth_changing(space, answer) if size else NOTHING
        return size

    def _differs(self, hypothesis: Hypothesis) -> int:
        """How far the answer under this hypothesis is from the record; 0 if it is the record's."""
        answer = self._lead(hypothesis)
        return 1 << 20 if answer is None else self._compared(hypothesis, answer)

    def _compared(self, hypothesis: Hypothesis, answer: LeaderAnswer) -> int:
        self._tried = self._tried or hypothesis
        found = self._difference(hypothesis, answer)
        if found.size < self._nearest[0]:
            self._nearest = found.size, found.first, answer
            self._tried = hypothesis
        return found.size

    def _worth_changing(self, space: Assumptions, answer: LeaderAnswer) -> "Worth":
        """The tasks whose end offsets may bring the answer nearer to the record: all of them while a stateful task is
        with another process; then those that are withheld, since the record does not show where they go, and those in
        whose order a thread that differs keeps them. Of stateless tasks no end offset decides."""
        active, copies = self._shown
        runs = {task: process for process, share in answer.shares.items() for task in share.active}
        wanted: dict[TaskId, set[ProcessId]] = {task: set() for task in copies}
        for process, share in answer.shares.items():
            for task in share.standby:
                wanted.setdefault(task, set()).add(process)
        stateful = frozenset(space.tasks)
        if any(runs.get(task) != active[task] or wanted[task] != copies[task] for task in stateful & active.keys()):
            return Worth(stateful)
        if not answer.assignments:
            return NOTHING
        order: set[TaskId] = set()
        for thread in self._one.threads:
            given = answer.assignments[thread.id]
            differs = (frozenset(given.active) ^ thread.active) | (given.standby.keys() ^ thread.standby.keys())
            if differs & stateful and len(self._processes[thread.process_id]) > 1:
                order.update(thread.offset_sums)
        return Worth(stateful - active.keys(), frozenset(order))

    @cached_property
    def _shown(self) -> tuple[dict[TaskId, ProcessId], dict[TaskId, set[ProcessId]]]:
        return self._one.placed()

    def _decide(self, space: Assumptions, other: OtherEnds, work: Work) -> Hypothesis | None:
        """The hypothesis that gives the record's answer, decided process by process."""
        falls_back = era_of(space.frame.release).most_caught_up
        decision = ByProcess(self._one, other, space.by_task(), self._sums, work, falls_back=falls_back).decide()
        space.exhausted = decision.whole and decision.ends is None
        hypothesis = hypothesis_of(space.frame, decision.nearest if decision.ends is None else decision.ends)
        return hypothesis if self._differs(hypothesis) == 0 else None

    def _explore(self, space: Assumptions, size: int) -> Hypothesis | None:
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
                    return space.hypothesis(near)
                heappush(queue, (found, changes + 1, near))
        space.exhausted = space.frame.blind or not any(worth.order for worth in space.seen.values())
        return None

    def _found(self, space: Assumptions, hypothesis: Hypothesis) -> Found:
        self._runs = self._more  # once more, to see what else gives this answer
        answer = self._lead(hypothesis)
        assert answer is not None
        only = self._only(space)
        return Found(hypothesis, answer, only, sampled=not only and self._decided(space, hypothesis))

    def _only(self, space: Assumptions) -> bool:
        """Whether every end offset gives this answer, so that it does not rest on one. One process takes everything
        whatever it lags, and of a task that nobody reports all processes lag alike."""
        if self._plugged is not None:
            return LAGS not in self._plugged.read
        if space.ordered_by_lag(self._one, {}, {}):
            return False
        if len(self._processes) == 1:
            return True
        options = [
            listed if self._sums.get(task) else listed[:1]
            for task, listed in zip(space.tasks, space.unpruned, strict=True)
        ]
        return self._all_give(space, options)

    def _decided(self, space: Assumptions, hypothesis: Hypothesis) -> bool:
        """Whether every end offset within the samples' bounds gives this answer."""
        frame = space.frame
        if self._plugged is not None:
            left = [self._left_open(task, hypothesis.ends[task]) for task in space.tasks]
            if all(len(ends) == 1 for ends in left):
                return True
            return all(left) and self._all_give(space, left)
        if not self._bounds or frame.blind:
            return False
        options: list[list[Possible]] = []
        known: dict[TaskId, EndBounds] = {}
        for task, listed in zip(space.tasks, space.unpruned, strict=True):
            sums, bounds = self._sums.get(task, {}), self._bounds.get(task)
            lag = frame.configs.acceptable_recovery_lag
            allowed = None if bounds is None else within(sums, self._processes, lag, bounds)
            if bounds is not None and allowed is not None:
                known[task] = EndBounds(allowed[0].end, bounds.most)
            # Where the order in threads does not depend on it, one end offset stands for its whole set.
            options.append(allowed or [one for one in listed if one.first])
            if not sums:
                options[-1] = options[-1][:1]
        if space.ordered_by_lag(self._one, known, self._sums):
            return False
        return frame.assignor is not BuiltIn.HIGH_AVAILABILITY or self._all_give(space, options)

    def _left_open(self, task: TaskId, end: int) -> list[Possible]:
        """The end offsets that samples leave, each of them: a plug-in may decide by any lag. None where they leave too
        many, or exclude the one that gives the answer; one where none decides: every process runs the task."""
        sums, bounds = self._sums.get(task, {}), self._bounds.get(task)
        if sums.keys() == self._processes.keys() and set(sums.values()) == {RUNNING}:
            return [Possible(frozenset(), end)]
        if bounds is None:
            return []
        ends = range(max(bounds.least, *sums.values(), 0), bounds.most + 1)
        return [Possible(frozenset(), one) for one in ends] if end in ends and len(ends) <= self._more else []

    def _all_give(self, space: Assumptions, options: Sequence[Sequence[Possible]]) -> bool:
        if prod(map(len, options)) > min(ALL_OF, self._runs):
            return False
        every = Assumptions(space.frame, space.tasks, options, options)
        return all(self.gives(every.hypothesis(choice)) for choice in every.all_choices())
