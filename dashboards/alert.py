"""What is declared of an alert rule."""

from dataclasses import dataclass

from streaming.core.incidents.rule import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One rule. `hold` is how long the expression must be true (Prometheus duration, empty: not at all).

    `runbook` names the page when it is not the alert's own; `confirm`, `advice` and `resolves` make the alert's own.
    """

    name: str
    expr: str
    severity: str
    summary: str
    description: str
    hold: str = ""
    runbook: str = ""
    confirm: tuple[Check, ...] = ()
    advice: tuple[str, ...] = ()
    resolves: str = ""
