"""How long an incident must last before people are notified, and how loudly: by catalogue, configuration and owner.

How loudly follows harm: only a certain duplicate, a group without any worker, a connector, task or partition without
holder beyond every patience, and a storm of more than ten minutes may wake somebody.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

from rebalance_monitor.streaming.core.model.findings import AlertSeverity, Certainty, Part, Severity
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Damping, Owner
from rebalance_monitor.streaming.core.model.subjects import connector_of
from .catalogue import Catalogue
from .rule import Rule

_NO_DAMPING = Damping()
T = TypeVar("T")


def damping_of(catalogue: Catalogue, settings: ClusterSettings, group: str, code: str) -> tuple[int, int]:
    """(for_ms, keep_firing_ms) of a rule: the owner's or everybody's, by code or by title, else the catalogue's."""
    rule = catalogue.rule(code)
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
        own = _named(configured, rule) or own
    return own


def alert_severity(
    catalogue: Catalogue, settings: ClusterSettings, group: str, part: Part, now_ms: int
) -> AlertSeverity:
    """How loudly people are notified of a part of an incident that is open at `now_ms`."""
    rule = catalogue.rule(part.code)
    owner = settings.owner_of(group)
    if owner is not None:
        wanted = _of_connectors(owner, rule, part) or _named(owner.alerts, rule)
        if wanted is not None:
            return wanted
    if rule.report or part.severity in (Severity.INFO, Severity.LOW):
        return AlertSeverity.INFO
    if rule.pages and part.certainty is Certainty.CERTAIN and part.severity is not Severity.MEDIUM:
        return AlertSeverity.CRITICAL
    if rule.pages_after_ms is not None and now_ms >= part.since_ms + rule.pages_after_ms:
        return AlertSeverity.CRITICAL
    return AlertSeverity.WARNING


def _named(configured: Mapping[str, T], rule: Rule) -> T | None:
    """What is configured for a rule, by its code or its title."""
    if not configured:
        return None
    return next((configured[name] for name in (rule.code, rule.title) if name in configured), None)


def _of_connectors(owner: Owner, rule: Rule, part: Part) -> AlertSeverity | None:
    """What the owner wants for a connector of the part, or of a task in it: the loudest, None if nothing."""
    names = [name for one in part.subjects if (name := connector_of(one)) is not None]
    found = [
        wanted
        for pattern, alerts in owner.connectors.items()
        if any(fnmatchcase(name, pattern) for name in names) and (wanted := _named(alerts, rule)) is not None
    ]
    return min(found, key=list(AlertSeverity).index, default=None)
