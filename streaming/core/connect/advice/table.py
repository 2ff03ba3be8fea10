"""The table of all played steps, for the documentation and the tests."""

from collections.abc import Iterable, Iterator, Sequence

from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.streaming.core.connect.advice.proof import DELAYS_MS, Played, played
from rebalance_monitor.streaming.core.connect.advice.words import releases
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import StepKind

MADE = "<!-- Made by `rebalance-monitor dashboards build` from the rule catalogue; edit that. -->"


def rows(rules: Iterable[Rule]) -> Iterator[Played]:
    """Every step of these rules that moves work, as played."""
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
    """The page of the documentation."""
    counts = {kind: sum(step.kind is kind for rule in rules for step in rule.advice) for kind in StepKind}
    declared = ", ".join(f"{kind.value} ({counts[kind]})" for kind in StepKind)
    delays = " and ".join(f"{delay_ms // 1000} s" for delay_ms in DELAYS_MS)
    return "\n".join(
        (
            "# Advice, played",
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
