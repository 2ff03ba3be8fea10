"""The rules about static assignments: CONNECT-S1 to S11 (connect.md 6.5)."""

from streaming.core.rules.rule import Rule

RULES: tuple[Rule, ...] = ()
