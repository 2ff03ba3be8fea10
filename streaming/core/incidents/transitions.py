"""Incidents: a finding that lasts. Opened once, resolved once; the key is (code, subjects)."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from streaming.core.incidents.finding import Finding
from streaming.core.model.results import Incident, Subject

IncidentKey = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where and when a transition happens."""

    cluster: str
    group: str
    incarnation: int
    generation: int
    at_ms: int
    historic: bool = False


def key_of(code: str, subjects: Iterable[Subject]) -> IncidentKey:
    return "|".join((code, *(f"{subject.type}={subject.id}" for subject in subjects)))


def incident_id(moment: Moment, key: IncidentKey) -> str:
    """Stable across restarts and repeated batches: made of what the incident is and the generation that opened it."""
    text = "\x00".join(
        (moment.cluster, moment.group, str(moment.incarnation), key, str(moment.generation), str(moment.at_ms))
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def settle(
    open_now: Mapping[IncidentKey, Incident], found: Iterable[Finding], moment: Moment, evaluated: frozenset[str]
) -> tuple[dict[IncidentKey, Incident], list[Incident]]:
    """Open what is new, update what got worse or better, resolve what is gone among the `evaluated` codes."""
    still = dict(open_now)
    transitions: list[Incident] = []
    seen: set[IncidentKey] = set()
    for finding in found:
        key = key_of(finding.rule.code, finding.subjects)
        if key in seen:
            continue
        seen.add(key)
        before = still.get(key)
        if before is None:
            still[key] = opened = _opened(finding, moment, key)
            transitions.append(opened)
        elif (before.severity, before.certainty) != (finding.severity, finding.certainty):
            changed = replace(
                before,
                transition="updated",
                severity=finding.severity,
                certainty=finding.certainty,
                message=told(finding),
                next_step=finding.next_step,
                evidence=tuple(dict.fromkeys((*before.evidence, *finding.evidence))),
            )
            still[key] = changed
            transitions.append(changed)
    for key in [key for key, one in still.items() if one.code in evaluated and key not in seen]:
        transitions.append(resolved(still.pop(key), moment))
    return still, transitions


def told(finding: Finding) -> str:
    """The message as people read it, with the Kafka issues whose traces look like this."""
    issues = ", ".join(finding.rule.issues)
    return f"{finding.message} (looks like {issues})" if issues else finding.message


def _opened(finding: Finding, moment: Moment, key: IncidentKey) -> Incident:
    return Incident(
        incident_id=incident_id(moment, key),
        transition="opened",
        rule=finding.rule.title,
        code=finding.rule.code,
        severity=finding.severity,
        certainty=finding.certainty,
        cluster=moment.cluster,
        group=moment.group,
        opened_generation=moment.generation,
        opened_at_ms=moment.at_ms,
        resolved_at_ms=None,
        subjects=finding.subjects,
        message=told(finding),
        evidence=finding.evidence,
        historic=moment.historic,
        alert_name=finding.rule.alert,
        next_step=finding.next_step,
    )


def ended_because(incidents: Iterable[Incident], moment: Moment, why: str) -> list[Incident]:
    """Open incidents of a state that is not carried on, with the reason in their messages. People hear of the end."""
    ended = []
    for one in incidents:
        one = replace(one, message=f"{one.message}; {why}")
        over = one.resolved_at_ms is not None  # an open one has "ended" where a storm suppresses it
        ended.append(replace(one, transition="ended", firing=False) if over else resolved(one, moment))
    return ended


def resolved(incident: Incident, moment: Moment) -> Incident:
    """The incident after its end; what opened in history stays silent to its end."""
    return replace(incident, transition="resolved", resolved_at_ms=moment.at_ms)
