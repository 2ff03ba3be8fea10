"""From what is the case to whom it is told: damping, in one place, for every way of telling.

An incident is a fact from its first record to its last. People hear of it when it has lasted `for_ms`, and of its end
`keep_firing_ms` after it; found again meanwhile it is still the same incident. How loudly follows harm: only a certain
duplicate, a group without any worker, a job without holder beyond every patience and a storm of more than ten minutes
may wake somebody. While a storm is told, it speaks for the imbalance and the unassigned jobs it makes, never for a
duplicate.

    10:00:00  imbalance found               opened    (for 5 min)
    10:05:00  timer                         fired     told
    10:07:00  not found any more            resolved  its end is told (keep_firing 0)
    10:00:00  duplicate found               opened, fired
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from streaming.core.catalogue import RULES
from streaming.core.connect.rules.catalogue_across import REBALANCE_STORM
from streaming.core.fold.state import GroupState
from streaming.core.incidents.rule import Rule
from streaming.core.incidents.transitions import IncidentKey, key_of
from streaming.core.model.results import AlertSeverity, Certainty, Incident, Result, Severity
from streaming.core.model.settings import ClusterSettings, Damping, Owner

STORM_PAGES_AFTER_MS = 600_000
_BY_CODE = {rule.code: rule for rule in RULES}


def _rule_of(code: str) -> Rule:
    """The rule; one that says nothing aloud for a code of another release, whose incidents a stored state may hold."""
    return _BY_CODE.get(code) or Rule(code=code, title=code, severity=Severity.INFO, report=True, alert="", wrong="")


_NO_DAMPING = Damping()
_JOBS = ("connector", "task")


def damping_of(settings: ClusterSettings, group: str, code: str) -> tuple[int, int]:
    """(for_ms, keep_firing_ms) of a rule: the owner's or everybody's, by code or by title, else the catalogue's."""
    rule = _rule_of(code)
    own = _configured(settings, group, rule)
    for_ms = rule.for_ms if own.for_ms is None or rule.patience else own.for_ms
    return for_ms, rule.keep_firing_ms if own.keep_firing_ms is None else own.keep_firing_ms


def patience_ms(settings: ClusterSettings, group: str, rule: Rule) -> int | None:
    """How long a rule with a timer of its own waits by the configuration; None if the configuration does not say."""
    return _configured(settings, group, rule).for_ms


def _configured(settings: ClusterSettings, group: str, rule: Rule) -> Damping:
    owner = settings.owner_of(group)
    own = _NO_DAMPING
    for configured in (settings.damping, owner.damping if owner is not None else {}):
        own = configured.get(rule.code) or configured.get(rule.title) or own
    return own


def alert_severity(settings: ClusterSettings, incident: Incident, now_ms: int) -> AlertSeverity:
    """How loudly to tell of an incident that is open at `now_ms`."""
    rule = _rule_of(incident.code)
    owner = settings.owner_of(incident.group)
    if owner is not None:
        wanted = _of_connectors(owner, rule, incident) or _named(owner.alerts, rule)
        if wanted is not None:
            return wanted
    if rule.report or incident.severity in (Severity.INFO, Severity.LOW):
        return AlertSeverity.INFO
    if rule.pages and incident.certainty is Certainty.CERTAIN and incident.severity is not Severity.MEDIUM:
        return AlertSeverity.CRITICAL
    if rule is REBALANCE_STORM and now_ms >= incident.opened_at_ms + STORM_PAGES_AFTER_MS:
        return AlertSeverity.CRITICAL
    return AlertSeverity.WARNING


def _named(alerts: Mapping[str, AlertSeverity], rule: Rule) -> AlertSeverity | None:
    return alerts.get(rule.code) or alerts.get(rule.title)


def _of_connectors(owner: Owner, rule: Rule, incident: Incident) -> AlertSeverity | None:
    """What the owner wants for a connector of the incident, or of a task in it: the loudest, None if nothing."""
    names = [
        one.id.rpartition("-")[0] if one.type == "task" else one.id for one in incident.subjects if one.type in _JOBS
    ]
    found = [
        wanted
        for pattern, alerts in owner.connectors.items()
        if any(fnmatchcase(name, pattern) for name in names) and (wanted := _named(alerts, rule)) is not None
    ]
    return min(found, key=list(AlertSeverity).index, default=None)


def follow(
    settings: ClusterSettings, state: GroupState, results: Iterable[Result], now_ms: int
) -> tuple[GroupState, list[Result]]:
    """The results with damped ends and beginnings, and every incident told that is due at `now_ms`."""
    incidents, lingering = dict(state.incidents), dict(state.lingering)
    told: list[Result] = []
    for result in results:
        if isinstance(result, Incident):
            told.append(_followed(settings, incidents, lingering, result))
        else:
            told.append(result)
    told.extend(_refreshed(settings, incidents, lingering, now_ms))
    return replace(state, incidents=incidents, lingering=lingering), told


def _followed(
    settings: ClusterSettings,
    incidents: dict[IncidentKey, Incident],
    lingering: dict[IncidentKey, Incident],
    one: Incident,
) -> Incident:
    """One transition: a return within the time kept goes on with the incident before, an end may be told later."""
    key = key_of(one.code, one.subjects)
    if one.transition == "opened":
        before = lingering.pop(key, None)
        if before is not None:
            again = replace(
                before, transition="updated", resolved_at_ms=None, message=one.message, severity=one.severity
            )
            incidents[key] = again
            return again
        opened = replace(one, team=settings.team_of(one.group))
        incidents[key] = opened
        return opened
    if one.transition == "resolved" and one.firing:
        if damping_of(settings, one.group, one.code)[1] > 0:
            lingering[key] = one
            return one
        return replace(one, firing=False)
    return one


def _refreshed(
    settings: ClusterSettings,
    incidents: dict[IncidentKey, Incident],
    lingering: dict[IncidentKey, Incident],
    now_ms: int,
) -> Iterator[Incident]:
    """Tell what is due, change how loudly, hush what a storm speaks for, end what was kept long enough."""
    storm = any(one.code == REBALANCE_STORM.code and one.firing for one in (*incidents.values(), *lingering.values()))
    ordered = sorted(incidents.items(), key=lambda item: (item[1].code != REBALANCE_STORM.code, item[0]))
    for key, one in ordered:
        changed = _attended(settings, one, now_ms, storm=storm)
        if changed is not None:
            storm = storm or (changed.firing and changed.code == REBALANCE_STORM.code)
            incidents[key] = changed
            yield changed
    for key, one in sorted(lingering.items()):
        if now_ms >= (one.resolved_at_ms or 0) + damping_of(settings, one.group, one.code)[1]:
            del lingering[key]
            yield replace(one, transition="ended", firing=False)


def _attended(settings: ClusterSettings, one: Incident, now_ms: int, *, storm: bool) -> Incident | None:
    rule = _rule_of(one.code)
    if one.historic:
        return None
    due = one.firing or now_ms >= _due_ms(settings, one)
    if not due or (storm and rule.absorbed):
        return replace(one, transition="ended", firing=False) if one.firing else None
    alert = alert_severity(settings, one, now_ms)
    if not one.firing:
        return replace(
            one, transition="fired", firing=True, fired_at_ms=now_ms, alert=alert, times_told=one.times_told + 1
        )
    return replace(one, transition="updated", alert=alert) if alert is not one.alert else None


def _due_ms(settings: ClusterSettings, one: Incident) -> int:
    return one.opened_at_ms + damping_of(settings, one.group, one.code)[0]


def due_ms(settings: ClusterSettings, state: GroupState) -> int | None:
    """When the next incident is to be told, louder or not any more."""
    return min(_times(settings, state.incidents, state.lingering), default=None)


def _times(
    settings: ClusterSettings, incidents: Mapping[IncidentKey, Incident], lingering: Mapping[IncidentKey, Incident]
) -> Iterator[int]:
    storm = any(one.code == REBALANCE_STORM.code and one.firing for one in (*incidents.values(), *lingering.values()))
    for one in incidents.values():
        rule = _rule_of(one.code)
        if one.historic:
            continue
        if not one.firing and not (storm and rule.absorbed):
            yield _due_ms(settings, one)
        elif rule is REBALANCE_STORM and one.alert is AlertSeverity.WARNING:
            yield one.opened_at_ms + STORM_PAGES_AFTER_MS
    for one in lingering.values():
        yield (one.resolved_at_ms or 0) + damping_of(settings, one.group, one.code)[1]
