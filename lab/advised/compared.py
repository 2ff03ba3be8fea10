"""A figure that `advise` computed, beside the one that the records of the other cluster show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SHARE_WITHIN = (9, 10)
"""At least nine of ten figures must be within their intervals."""

CLOCKS_MS = 500
"""Of all connectors and tasks together: a record is written a moment after the leader looked at its clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """`least` and `most`: as `advise` gives them. `tolerance`: by how much a real figure may be higher, for
    rebalances take time, and `advise` computes as if they took none. `left_out`: rebalances, of both histories, that
    `advise` did not compute: figures of different rebalances do not compare."""

    experiment: str
    figure: str
    least: int
    most: int
    measured: int
    tolerance: int = 0
    left_out: int = 0

    @property
    def within(self) -> bool:
        clocks = CLOCKS_MS if self.figure.endswith("_ms") else 0
        return not self.left_out and self.least - clocks <= self.measured <= self.most + self.tolerance + clocks


def agree(figures: Sequence[Compared]) -> bool:
    """Whether there are any, and enough of them are within."""
    of, whole = SHARE_WITHIN
    return bool(figures) and sum(one.within for one in figures) * whole >= len(figures) * of


def table(figures: Sequence[Compared]) -> Iterator[str]:
    """A line for each figure, under a heading; times in seconds."""
    yield f"{'experiment':<24}{'figure':<14}{'predicted':>14}{'tolerance':>11}{'measured':>10}  within"
    for one in figures:
        least, most, tolerance, measured = (
            _amount(one.figure, each) for each in (one.least, one.most, one.tolerance, one.measured)
        )
        span = least if one.least == one.most else f"{least} to {most}"
        more = f"+{tolerance}" if one.tolerance else ""
        answer = "yes" if one.within else f"no: {one.left_out} rebalances left out" if one.left_out else "no"
        yield f"{one.experiment:<24}{one.figure:<14}{span:>14}{more:>11}{measured:>10}  {answer}"
    yield f"{sum(one.within for one in figures)} of {len(figures)} figures are within"


def _amount(figure: str, amount: int) -> str:
    return f"{amount / 1000:.1f} s" if figure.endswith("_ms") else str(amount)
