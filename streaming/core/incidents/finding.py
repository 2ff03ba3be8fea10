"""What a law found broken, before it becomes an incident."""

from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Subject
from .rule import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken law. Its key is (code, subjects): found again it keeps its part of an incident open.

    `next_step`: what to do first in this very group; empty where the rule's own first step is meant. `cause`: to what
    the rule puts it down (a worker); findings of one rule and cause are one incident (`grouping`).
    """

    rule: Rule
    severity: Severity
    certainty: Certainty
    subjects: tuple[Subject, ...]
    message: str
    evidence: tuple[Evidence, ...]
    next_step: str = ""
    cause: tuple[Subject, ...] = ()


def finding_of(
    rule: Rule,
    subjects: tuple[Subject, ...],
    message: str,
    evidence: tuple[Evidence, ...],
    *,
    severity: Severity | None = None,
    certainty: Certainty = Certainty.CERTAIN,
    next_step: str = "",
    cause: tuple[Subject, ...] = (),
) -> Finding:
    """A finding that is certain, and as bad as its rule says, unless something else is said."""
    return Finding(
        rule=rule,
        severity=severity or rule.severity,
        certainty=certainty,
        subjects=subjects,
        message=message,
        evidence=evidence,
        next_step=next_step,
        cause=cause,
    )
