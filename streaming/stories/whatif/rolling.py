"""The order of a rolling restart, with what each step moves."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .history import HistoryFigures

OF_A_STEP = ("rebalances", "moved", "stopped", "idle_ms")


@dataclass(frozen=True, slots=True)
class RestartStep:
    """One member leaves and is back, with the new setting. `then`: the protocol or assignor that the group has after
    it. `courses`: the figures of each possible course."""

    member: str
    then: str
    courses: tuple[HistoryFigures, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart:
    """All members, one after the other. `away_ms`: how long each is away."""

    title: str
    steps: tuple[RestartStep, ...]
    presumed: str
    away_ms: int


def steps_of(
    members: Sequence[str], then: Sequence[str], courses: Iterable[Sequence[HistoryFigures]]
) -> tuple[RestartStep, ...]:
    """`courses`: of each the figures of every step."""
    by_step = zip(*courses, strict=True)
    return tuple(
        RestartStep(member, after, tuple(dict.fromkeys(figures)))
        for member, after, figures in zip(members, then, by_step, strict=True)
    )
