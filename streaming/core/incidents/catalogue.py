"""The rules that a fold knows, by code."""

from collections.abc import Iterable

from rebalance_monitor.streaming.core.model.findings import Severity
from .rule import Rule

MADE = "<!-- Made by `rebalance-monitor dashboards build` from the rule catalogue; edit that. -->"
"""The first line of every page about rules."""


class Catalogue:
    """Rules of all lifecycles and of the monitor itself."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_code = {rule.code: rule for rule in self.rules}
        self.recurring = frozenset(rule.code for rule in self.rules if rule.recurs)

    def rule(self, code: str) -> Rule:
        """The rule of this code. A stored state may hold incidents of a rule that this release does not have: theirs is
        one that is only reported."""
        return self._by_code.get(code) or Rule(
            code=code, title=code, severity=Severity.INFO, report=True, alert="", wrong=""
        )
