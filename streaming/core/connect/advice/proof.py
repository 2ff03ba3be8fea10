"""What each step that moves work does, played in every era its rule exists in, with a delay and without.

The predicted effect says whether the harm ends, and what stands still meanwhile: a worker that restarts gets nothing
back before the delay is over, so its own connectors and tasks wait for that long.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from rebalance_monitor.assignors.connect.eras import ERAS, Era
from rebalance_monitor.streaming.core.connect.advice.cluster import play
from rebalance_monitor.streaming.core.connect.advice.scenarios import SCENARIOS, Scenario
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import Step, StepKind

DELAYS_MS = (300_000, 0)
"""The default of `scheduled.rebalance.max.delay.ms`, and the value that switches the delay off."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a step did to one group: how great the harm was before and after, how many connectors and tasks waited for a
    worker meanwhile, and how long at most.
    """

    before: int
    after: int
    waiting: int
    longest_ms: int

    @property
    def helps(self) -> bool:
        """Whether the harm is over, or at least smaller."""
        return self.after < self.before

    def text(self) -> str:
        """In words."""
        said = "does not help" if not self.helps else "helps in part" if self.after else "helps"
        if not self.longest_ms:
            return said
        return f"{said}; {self.waiting} connectors and tasks wait up to {self.longest_ms // 1000} s"


@dataclass(frozen=True, slots=True)
class Played:
    """One step in one era with one delay; `effect` is None where the harm cannot happen there."""

    rule: Rule
    step: Step
    era: Era
    max_delay_ms: int
    effect: Effect | None


def effect_of(scenario: Scenario, step: Step, era: Era, max_delay_ms: int) -> Effect | None:
    """Plays a step; None where the era's algorithm does not let the harm happen."""
    cluster = scenario.broken(era, max_delay_ms)
    if cluster is None:
        return None
    before = scenario.harm(cluster)
    if not before:
        raise ValueError(f"the group of the scenario suffers nothing in era {era.name}, delay {max_delay_ms} ms")
    if step.move is None:
        raise ValueError("only a step that moves work can be played")
    cluster.waited_ms.clear()
    play(step.move, cluster, scenario.named, declares=scenario.declares)
    waited = [ms for ms in cluster.waited_ms.values() if ms]
    return Effect(before, scenario.harm(cluster), len(waited), max(waited, default=0))


def moving_steps(rule: Rule) -> Iterator[Step]:
    """The steps of a rule that move work."""
    return (step for step in rule.advice if step.kind is StepKind.MOVES)


@cache
def played(rule: Rule) -> tuple[Played, ...]:
    """Every step of the rule that moves work, in every era and with both delays. KeyError: it has no scenario."""
    return tuple(
        Played(rule, step, era, max_delay_ms, effect_of(SCENARIOS[rule.code], step, era, max_delay_ms))
        for step in moving_steps(rule)
        for era in ERAS.values()
        for max_delay_ms in DELAYS_MS
    )
