"""Two rows of receivers, filled by jobs in order: which jobs can have been lost, and which created.

A leader hands jobs out in two parts, each in the order of names, and who receives the first, second, … job of a part
follows from numbers alone. The jobs of both parts and their receivers are seen; which part a job is of is not.

    a -> w1   b -> w2   c -> w1   d -> w1        created row w1 w2, lost row w1 w1:  a b created, c d lost (or a d, …)
    a -> w2   b -> w2   c -> w1   d -> w1        the same rows: no way

A member's list keeps the order in which it was given its tasks: those of the part that was handed out first, then
the others, each in ascending order. So where the tasks of one connector descend in its list, the second part begins;
where they do not, no task of the first part has a greater number than one of the second.

    w1 is given C-0 C-3 C-1, created jobs first        C-0 and C-3 were created, C-1 was lost
    w1 is given C-0 C-1 C-3, created jobs first        C-1 created and C-0 lost cannot be
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from rebalance_monitor.schemas.frozen import replace


@dataclass(frozen=True, slots=True)
class Received:
    """One job, in the order of names: who received it, and whether it must have been lost (None: either way).

    `series`: what stands in the receiver's list in the order of handing out (a connector's tasks; None: nothing is
    known of the order). `second`: whether it stands behind the place where the series descends; None if it does not."""

    by: str
    lost: bool | None = None
    series: str | None = None
    second: bool | None = None


def split(
    jobs: Sequence[Received],
    lost_row: Sequence[str],
    created_row: Sequence[str],
    *,
    lost_first: bool = False,
    afford: Callable[[int], bool] = lambda _steps: True,
) -> list[bool] | None:
    """For each job whether it was lost, so that both parts fill their rows; None if there is no such split, or if
    `afford` does not allow so many steps. `lost_first`: lost jobs are handed out before the created ones."""
    if len(lost_row) + len(created_row) != len(jobs):
        return None
    rows = _Rows((created_row, lost_row), lost_first)
    layers: list[dict[_State, tuple[_State, bool]]] = []  # after each job: a state -> the state before, and how
    reached: set[_State] = {_State()}
    for place, job in enumerate(jobs):
        if not reached or not afford(len(reached)):
            return None
        layer: dict[_State, tuple[_State, bool]] = {}
        for before, lost in product(reached, (False, True)):
            after = rows.after(before, place, job, lost=lost)
            if after is not None:
                layer.setdefault(after, (before, lost))
        layers.append(layer)
        reached = set(layer)
    state = next((one for one in reached if one.lost == len(lost_row)), None)
    if state is None:
        return None
    flags: list[bool] = []
    for layer in reversed(layers):
        state, lost = layer[state]
        flags.append(lost)
    return flags[::-1]


@dataclass(frozen=True, slots=True)
class _State:
    """How many of the jobs so far were lost; the series they are in, and whose list has reached its last part in it."""

    lost: int = 0
    series: str | None = None
    late: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Who receives the created jobs, and who the lost ones."""

    rows: tuple[Sequence[str], Sequence[str]]
    lost_first: bool

    def after(self, before: _State, place: int, job: Received, *, lost: bool) -> _State | None:
        """With the job at this place as a lost or a created one; None if it cannot be."""
        row, taken = self.rows[lost], before.lost if lost else place - before.lost
        if job.lost is (not lost) or taken >= len(row) or row[taken] != job.by:
            return None
        count = before.lost + lost
        if job.series is None:
            return replace(before, lost=count)
        last = lost is not self.lost_first
        late = before.late if job.series == before.series else frozenset[str]()
        if job.second is (not last) or (job.second is None and not last and job.by in late):
            return None
        return _State(count, job.series, late | {job.by} if last else late)
