"""All laws of Connect groups, and asking them.

`examine` asks every law that has what it needs. Laws never judge an assignor's choice (that is the verdict's matter),
they state what holds whatever the leader had in mind; only when none of them names what is wrong with an answer that
nothing explains, the laws of last resort do.
"""

from rebalance_monitor.streaming.core.incidents.finding import Finding
from . import across, headers, last_resort, record, remembering, static, window
from .context import RuleCheck, Scene, applies

LAWS: tuple[RuleCheck, ...] = (
    *record.LAWS,
    *headers.LAWS,
    *static.LAWS,
    *across.LAWS,
    *window.LAWS,
    *remembering.LAWS,
)


def examine(scene: Scene) -> tuple[list[Finding], frozenset[str]]:
    """What is broken, and the codes of all laws that could be asked: their other incidents are over."""
    asked = [law for law in LAWS if applies(law, scene)]
    found = [finding for law in asked for finding in law.broken(scene)]
    asked += [law for law in last_resort.LAWS if applies(law, scene)]
    found += last_resort.whole_answer(scene, found)
    return found, frozenset(rule.code for law in asked for rule in law.rules)
