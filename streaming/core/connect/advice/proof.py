"""What each step that moves work does, played in every era its rule exists in, with a delay and without.

The predicted effect says whether the harm ends, and what stands still meanwhile: a worker that restarts gets nothing
back before the delay is over, so its own connectors and tasks wait for that long.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rebalance_monitor.assignors.connect.eras import ERAS, Era
from rebalance_monitor.streaming.core.incidents.catalogue import MADE
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import Step, StepKind
from .cluster import play
from .scenarios import SCENARIOS, Scenario
from .words import releases

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
    waiting, longest_ms = play(step.move, cluster, scenario.named, declares=scenario.declares)
    return Effect(before, scenario.harm(cluster), waiting, longest_ms)


def moving_steps(rule: Rule) -> Iterator[Step]:
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


def rows(rules: Iterable[Rule]) -> Iterator[Played]:
    for rule in rules:
        yield from played(rule)


def table(played_rows: Iterator[Played]) -> list[str]:
    """Markdown; eras with the same effect share a row, and those in which the harm cannot happen have none."""
    merged: dict[tuple[str, str, int, str], list[str]] = {}
    for row in played_rows:
        if row.effect is not None and row.step.move is not None:
            rule = f"[{row.rule.title}](runbooks/{row.rule.title}.md) {row.rule.code}"
            key = (rule, row.step.move.value, row.max_delay_ms, row.effect.text())
            merged.setdefault(key, []).append(row.era.name)
    return [
        "| rule | eras | delay | step | predicted effect |",
        "|---|---|---|---|---|",
        *(
            f"| {rule} | {_shown(eras)} | {max_delay_ms // 1000} s | {move} | {effect} |"
            for (rule, move, max_delay_ms, effect), eras in merged.items()
        ),
    ]


def _shown(eras: list[str]) -> str:
    known = list(ERAS)
    together = known[known.index(eras[0]) : known.index(eras[-1]) + 1] == eras
    return f"{eras[0]} to {eras[-1]}" if together and len(eras) > 1 else ", ".join(eras)


def advice_page(rules: Sequence[Rule]) -> str:
    counts = {kind: sum(step.kind is kind for rule in rules for step in rule.advice) for kind in StepKind}
    declared = ", ".join(f"{kind.value} ({counts[kind]})" for kind in StepKind)
    delays = " and ".join(f"{delay_ms // 1000} s" for delay_ms in DELAYS_MS)
    return "\n".join(
        (
            "# Steps of runbooks, played with Connect's assignors",
            "",
            MADE,
            "",
            f"Each step of a [runbook](runbooks/) about a group is declared as one of: {declared}. Each step that "
            f"moves work",
            "is played with the assignors on a group that suffers the rule's harm, in every era of Connect's "
            "algorithm and",
            f"with `scheduled.rebalance.max.delay.ms` at {delays}. A test fails where a step is not declared, is not "
            f"played,",
            "or does not help where its declaration says so. Eras in which the harm cannot happen have no row.",
            "",
            "| era | releases of the leader |",
            "|---|---|",
            *(f"| {era.name} | {releases(era)} |" for era in ERAS.values()),
            "",
            "The groups have up to three workers and eleven tasks, so the numbers are examples. Who waits, and for "
            "how long,",
            "is not: a worker that leaves for a moment gets nothing back before the delay is over. *helps in part*: "
            "the harm",
            "is smaller afterwards.",
            "",
            *table(rows(rules)),
            "",
        )
    )
