"""The rules: a catalogue of what can be broken, and the laws that look for it.

`examine` asks every law that has what it needs. Laws never judge an assignor's choice (that is the verdict's matter),
they state what holds whatever the leader had in mind.
"""

from collections.abc import Iterable

from streaming.core.rules import across, record, remembering, window
from streaming.core.rules.catalogue import RULES
from streaming.core.rules.rule import Rule
from streaming.core.rules.scene import Finding, Law, Scene, applies

__all__ = ["LAWS", "RULES", "Finding", "Rule", "Scene", "examine"]

LAWS: tuple[Law, ...] = (*record.LAWS, *across.LAWS, *window.LAWS, *remembering.LAWS)


def examine(scene: Scene) -> tuple[list[Finding], frozenset[str]]:
    """What is broken, and the codes of all laws that could be asked: their other incidents are over."""
    asked = [law for law in LAWS if applies(law, scene)]
    found = [finding for law in asked for finding in law.broken(scene)]
    return found, frozenset(code for law in asked for code in _codes(law.rules))


def _codes(rules: Iterable[Rule]) -> Iterable[str]:
    return (rule.code for rule in rules)
