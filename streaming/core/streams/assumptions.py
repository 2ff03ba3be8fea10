"""All assumptions about end offsets within one frame, and which of them are worth a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rebalance_monitor.assignors.streams.other_ends import OtherEnds
from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds
from rebalance_monitor.streaming.core.streams.caught_up import Possible, Sums
from rebalance_monitor.streaming.core.streams.hypotheses import Frame
from rebalance_monitor.streaming.core.streams.observed import ObservedRecord
from rebalance_monitor.streaming.core.streams.rounds import Hypothesis
from rebalance_monitor.streaming.core.streams.topology import key_of

Choice = tuple[int, ...]
"""For each task with state the number of its option."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Tasks whose caught-up sets are worth changing, and tasks whose end offsets are within the same set."""

    sets: frozenset[TaskId] = frozenset()
    order: frozenset[TaskId] = frozenset()


NOTHING = Worth()


class Assumptions:
    """All assumptions about end offsets within one frame: for each stateful task the number of its option."""

    def __init__(
        self,
        frame: Frame,
        tasks: Sequence[TaskId],
        options: Sequence[Sequence[Possible]],
        unpruned: Sequence[Sequence[Possible]],
        other: OtherEnds | None = None,
    ) -> None:
        """`other`: the round under other end offsets, where they may move tasks."""
        self.frame, self.tasks, self.unpruned, self.other = frame, tasks, unpruned, other
        self._options = options
        self.start: Choice = (0,) * len(tasks)
        self.seen: dict[Choice, Worth] = {}
        self.exhausted = False

    def hypothesis(self, choice: Choice) -> Hypothesis:
        """The whole hypothesis."""
        ends = {
            task: options[number].end for task, options, number in zip(self.tasks, self._options, choice, strict=True)
        }
        return hypothesis_of(self.frame, ends)

    def by_task(self) -> dict[TaskId, Sequence[Possible]]:
        """The end offsets of each task that stand for all."""
        return dict(zip(self.tasks, self._options, strict=True))

    def neighbours(self, choice: Choice) -> Iterator[Choice]:
        """The assumptions that differ in one task that is worth changing."""
        worth = self.seen[choice]
        for at, options in enumerate(self._options):
            now = options[choice[at]]
            sets, order = self.tasks[at] in worth.sets, self.tasks[at] in worth.order
            for number, other in enumerate(options):
                if number == choice[at]:
                    continue
                if order if other.ranks == now.ranks else sets and other.first:
                    yield (*choice[:at], number, *choice[at + 1 :])

    def all_choices(self) -> Iterator[Choice]:
        """Every assumption; there must be few."""
        found: list[Choice] = [()]
        for options in self._options:
            found = [(*choice, number) for choice in found for number in range(len(options))]
        yield from found

    def ordered_by_lag(self, record: ObservedRecord, known: Mapping[TaskId, EndBounds], sums: Sums) -> bool:
        """Whether the order in which a thread keeps its tasks depends on end offsets beyond what is `known` of them: it
        reports two tasks that it does not run. A process with one thread gives it everything, in any order."""
        stateful = self.frame.stateful
        for threads in record.processes().values():
            for thread in threads if len(threads) > 1 else ():
                behind = [t for t, total in thread.offset_sums.items() if total >= 0 and key_of(t) in stateful]
                if len(behind) > 1 and not (
                    known.keys() >= set(behind)
                    and _in_one_order((known[task], sums[task][thread.process_id]) for task in behind)
                ):
                    return True
        return False


def _in_one_order(ends: Iterable[tuple[EndBounds, int]]) -> bool:
    """Whether tasks have one order by lag, whatever their end offsets are within the bounds: by the bounds of the end
    offset and the sum of each."""
    lags = sorted(
        (bounds.least - total, bounds.most - total) if total >= 0 else (total, total) for bounds, total in ends
    )
    return all(
        most < least or (first, most) == (least, last) == (least, least)
        for (first, most), (least, last) in pairwise(lags)
    )


def hypothesis_of(frame: Frame, ends: Mapping[TaskId, int]) -> Hypothesis:
    return Hypothesis(
        release=frame.release,
        assignor=frame.assignor,
        configs=frame.configs,
        stateful=frame.stateful,
        ends=ends,
        blind=frame.blind,
        racks=frame.racks,
    )
