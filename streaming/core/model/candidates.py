"""The search for what explains an answer: candidates in order of likelihood, and the first that gives it.

What a leader knew, remembered and ran is partly hidden. A candidate is one assumption about that: the runs of the
assignor that it allows, and the reason that a verdict on it would rest on. Which candidates there are, and in which
order, is each lifecycle's own. A candidate changes one cause: with two, many a mistake would look right.

    candidate                  reason           runs that give the answer
    as it is known             none             0 of 1
    config record not read     CONFIG_BEHIND    1 of 2     explainable by this reason; what follows is not tried
    another release            OTHER_RELEASE    -
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .reasons import Reason
from .results import Grade

R = TypeVar("R")


Fitting = Callable[[Iterable[R]], list[R]]
"""Those of these runs that give the answer."""


@dataclass(frozen=True, slots=True)
class Candidate(Generic[R]):
    """What may have been. `runs` are made when they are asked for; `reason` is None where nothing is assumed."""

    runs: Iterable[R]
    fitting: Fitting[R]
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Explanation(Generic[R]):
    """The runs of the first candidate that give the answer, at least one, and its reason."""

    runs: list[R]
    reason: Reason | None

    @property
    def grade(self) -> Grade:
        """A match where nothing had to be assumed."""
        return Grade.MATCH if self.reason is None else Grade.EXPLAINABLE


def explanation(candidates: Iterable[Candidate[R]]) -> Explanation[R] | None:
    """The first candidate that gives the answer; None if none does."""
    for candidate in candidates:
        if runs := candidate.fitting(candidate.runs):
            return Explanation(runs, candidate.reason)
    return None


def those(gives: Callable[[R], bool]) -> Fitting[R]:
    """The runs of which this holds."""
    return lambda runs: [one for one in runs if gives(one)]
