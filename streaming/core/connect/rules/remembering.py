"""What the laws across records keep of a record for the next ones, and which of them only the clock can bring up.

record with a delay of 300 s           K6 is due 300 s + time-outs later, unless a record comes first
record that takes jobs from a worker   K14 is due one rebalance and one session time-out later
a finding that an older config excuses  it is due one rebalance and one session time-out later
the group falls to a lower protocol    K13 is due DOWNGRADE_PATIENCE_MS later for the workers that did not follow
a storm                                K10 is over rounds.CALM_MS after its last record
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import Observed, subjects_of
from rebalance_monitor.streaming.core.fold.rounds import CALM_MS, with_round
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.core.model.results import Evidence, Subject
from . import RULES
from .across import DOWNGRADE_PATIENCE_MS, downgrade_after, downgrade_finding
from .catalogue_across import DELAY_NEVER_RESOLVED, PROTOCOL_DOWNGRADE, REBALANCE_STORM, REVOCATION_NOT_FOLLOWED_UP
from .context import RuleCheck, Scene
from .memory import RuleMemory, Withheld, aimless_rounds, lagging_members, round_of
from .window import window_of


def remember(scene: Scene) -> RuleMemory:
    """The memory after this record."""
    before, now = scene.memory, scene.observed
    failed = now.error != 0
    latest = round_of(now, scene.last, config_changes=scene.config_changes)
    kept = RuleMemory(
        errors_in_row=before.errors_in_row + 1 if failed else 0,
        lagging=lagging_members(before, now, scene.last),
        top_offset=before.top_offset if failed or scene.foreign else now.config_offset,
        rounds=with_round(before.rounds, latest, repeats=failed and before.errors_in_row > 0),
        aimless_rounds=aimless_rounds(before, now, scene.last, gap=scene.gap, config_changes=scene.config_changes),
        downgrade=downgrade_after(scene),
        window=window_of(scene),
    )
    if failed:
        return replace(kept, revoked=before.revoked, taken_back=before.taken_back)
    return replace(kept, revoked=now.revoked(), taken_back=now.revoked() - now.reported())


@dataclass(frozen=True, slots=True, kw_only=True)
class DueFinding:
    """What becomes true at `due_ms` if no record comes before: a finding, or (None) the end of the rule's incident.

    `withheld`: one of several findings that the rule may have of the last record.
    """

    rule: Rule
    due_ms: int
    finding: Finding | None
    withheld: bool = False


def deadlines(group: str, memory: RuleMemory, last: Observed, patience_ms: int) -> Iterator[DueFinding]:
    """All deadlines that the last record set. `patience_ms` = rebalance plus session time-out of the members."""
    evidence = (Evidence(source=last.source),)
    if last.delay_ms:
        due_ms = last.at_ms + last.delay_ms + patience_ms
        message = (
            f"the delay of {last.delay_ms} ms announced in generation {last.generation} ended at "
            f"{utc(last.at_ms + last.delay_ms)}, and no rebalance has followed"
        )
        finding = finding_of(DELAY_NEVER_RESOLVED, (Subject("group", group),), message, evidence)
        yield DueFinding(rule=DELAY_NEVER_RESOLVED, due_ms=due_ms, finding=finding)
    if revoked := last.revoked():
        subjects = subjects_of(revoked)
        message = (
            f"{len(revoked)} connectors and tasks were revoked in generation {last.generation}, and the rebalance that "
            f"assigns them has not come within {patience_ms} ms"
        )
        finding = finding_of(REVOCATION_NOT_FOLLOWED_UP, subjects, message, evidence)
        yield DueFinding(rule=REVOCATION_NOT_FOLLOWED_UP, due_ms=last.at_ms + patience_ms, finding=finding)
    for withheld in memory.withheld:
        found = _after_all(withheld, patience_ms)
        yield DueFinding(rule=found.rule, due_ms=last.at_ms + patience_ms, finding=found, withheld=True)
    if memory.downgrade is not None:
        due_ms = memory.downgrade.at_ms + DOWNGRADE_PATIENCE_MS
        late = downgrade_finding(memory.downgrade, group, last, evidence)
        yield DueFinding(rule=PROTOCOL_DOWNGRADE, due_ms=due_ms, finding=late)
    yield DueFinding(rule=REBALANCE_STORM, due_ms=last.at_ms + CALM_MS, finding=None)


_RULE = {rule.code: rule for rule in RULES}


def _after_all(withheld: Withheld, patience_ms: int) -> Finding:
    """The finding, once a leader that had not applied the last config record would have asked for a rebalance."""
    why = f"a leader that had not read the last config record would have asked for a rebalance within {patience_ms} ms"
    return finding_of(
        _RULE[withheld.code],
        withheld.subjects,
        f"{withheld.message}; {why}",
        withheld.evidence,
        severity=withheld.severity,
        certainty=withheld.certainty,
    )


def _answered(scene: Scene) -> Iterator[Finding]:
    """A record has come: what waited for one is over."""
    del scene
    yield from ()


LAWS = (RuleCheck(rules=(DELAY_NEVER_RESOLVED, REVOCATION_NOT_FOLLOWED_UP), broken=_answered),)
