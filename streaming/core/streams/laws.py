"""All laws of Streams groups over one generation: what they find, and how each is graded."""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.incidents.finding import Finding
from .facts import Facts, Violations
from .laws_across import ACROSS_LAWS
from .laws_placement import PLACEMENT_LAWS
from .laws_record import RECORD_LAWS
from .past import Past

OK, VIOLATED, UNDETERMINED = "ok", "violated", "undetermined"


@dataclass(frozen=True, slots=True)
class Examined:
    """`grades`: each rule's by its code. `evaluated`: the rules that are ok or violated."""

    found: tuple[Finding, ...]
    grades: Mapping[str, str]

    @property
    def evaluated(self) -> frozenset[str]:
        """Codes of the rules that were decided."""
        return frozenset(code for code, grade in self.grades.items() if grade != UNDETERMINED)


def examined(facts: Facts, before: Past, now: Past) -> Examined:
    """Every law, in the order of its rule."""
    results: dict[str, Violations] = {law.rule.code: law.broken(facts) for law in (*RECORD_LAWS, *PLACEMENT_LAWS)}
    results.update((rule.code, broken(before, now, facts)) for rule, broken in ACROSS_LAWS)
    grades = {
        code: UNDETERMINED if found is None else VIOLATED if found else OK for code, found in sorted(results.items())
    }
    return Examined(tuple(one for found in results.values() for one in found or ()), grades)
