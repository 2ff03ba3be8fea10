"""The doubt about the last config record below a generation's offset, and its end (connect.md 4.3).

A worker states a new offset just before it applies the record. A leader whose snapshot was taken in that moment answers
without the record. It learns of the record a moment later and asks for a rebalance, because every record that changes
which jobs exist makes every worker do so (connect.md 3.10).

    a member is given what only that record makes exist     the leader has applied it: no doubt     `has_applied`
    another generation comes                                its rules look at the new answer
    both time-outs pass and no generation comes             the leader had applied it: what the rules find then, opens
"""

from collections.abc import Iterable
from functools import partial

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.leader.answers import answered_as
from rebalance_monitor.streaming.core.connect.leader.rounds import Case
from rebalance_monitor.streaming.core.connect.rules.context import Scene
from rebalance_monitor.streaming.core.connect.rules.examine import examine
from rebalance_monitor.streaming.core.connect.rules.memory import Withheld
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.transitions import key_of
from rebalance_monitor.streaming.core.model.results import Severity
from . import verdict
from .configured import unsure_at

MOST_WITHHELD = 64
"""Findings kept of one record."""


def withheld(case: Case | None, scene: Scene, found: Iterable[Finding]) -> tuple[Withheld, ...]:
    """What the rules find above info once the doubt is over, besides what was `found` with it. `case` None: the
    generation was not judged."""
    if case is None or scene.configured is None:
        return ()
    unsure = unsure_at(case.history, scene.observed, scene.last, applied=True)
    if unsure == scene.unsure:
        return ()
    case = replace(case, applied=True)
    judgement = verdict.judge(case)
    sure = replace(
        scene,
        unsure=unsure,
        grade=judgement.verdict.grade,
        eras=judgement.eras,
        why=judgement.verdict.why,
        answered_as=partial(answered_as, case),
    )
    known = {(key_of(one.rule.code, one.subjects), one.severity) for one in found}
    more = [
        one
        for one in examine(sure)[0]
        if one.severity is not Severity.INFO and (key_of(one.rule.code, one.subjects), one.severity) not in known
    ]
    return tuple(
        Withheld(one.rule.code, one.severity, one.certainty, one.subjects, one.message, one.evidence)
        for one in more[:MOST_WITHHELD]
    )
