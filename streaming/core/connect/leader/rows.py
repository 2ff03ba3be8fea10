"""Two rows of receivers, filled by jobs in order: which jobs can have been lost, and which created.

A leader hands jobs out in two parts, each in the order of names, and who receives the first, second, … job of a part
follows from numbers alone. The jobs of both parts and their receivers are seen; which part a job is of is not.

    a -> w1   b -> w2   c -> w1   d -> w1        created row w1 w2, lost row w1 w1:  a b created, c d lost (or a d, …)
    a -> w2   b -> w2   c -> w1   d -> w1        the same rows: no way
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Received:
    """One job, in the order of names: who received it, and whether it must have been lost (None: either way)."""

    by: str
    lost: bool | None = None


def split(jobs: Sequence[Received], lost_row: Sequence[str], created_row: Sequence[str]) -> list[bool] | None:
    """For each job whether it was lost, so that both parts fill their rows; None if there is no such split."""
    layers: list[dict[int, tuple[int, bool]]] = []  # after each job: number of lost ones -> the number before, and how
    reached = {0}
    for place, job in enumerate(jobs):
        layer: dict[int, tuple[int, bool]] = {}
        for lost in reached:
            created = place - lost
            if job.lost is not False and lost < len(lost_row) and lost_row[lost] == job.by:
                layer.setdefault(lost + 1, (lost, True))
            if job.lost is not True and created < len(created_row) and created_row[created] == job.by:
                layer.setdefault(lost, (lost, False))
        layers.append(layer)
        reached = set(layer)
        if not reached:
            return None
    count = len(lost_row)
    if count not in reached or len(jobs) - count != len(created_row):
        return None
    flags: list[bool] = []
    for layer in reversed(layers):
        count, lost_one = layer[count]
        flags.append(lost_one)
    return flags[::-1]
