"""Parts and incidents from findings: their keys, their first state, and what changes when they are found again."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.results import Certainty, Incident, Part, Severity, Subject
from .finding import Finding

PartKey = str

_SEVERITIES, _CERTAINTIES = list(Severity), list(Certainty)

MOST_EVIDENCE = 16
"""Pieces of evidence that a part keeps: the first half and the last, where it was found worse and better many times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where and when a transition happens."""

    cluster: str
    group: str
    incarnation: int
    generation: int
    at_ms: int
    historic: bool = False


def key_of(code: str, subjects: Iterable[Subject]) -> PartKey:
    """The key of a part among the open ones of its group: equal only for equal code and subjects."""
    return "|".join((code, *(f"{subject.type}={_plain(subject.id)}" for subject in subjects)))


def _plain(name: str) -> str:
    return name.replace("\\", "\\\\").replace("|", "\\|")


def incident_id(moment: Moment, key: PartKey) -> str:
    """Stable across restarts and repeated batches: made of the first part and the generation that opened it."""
    text = "\x00".join(
        (moment.cluster, moment.group, str(moment.incarnation), key, str(moment.generation), str(moment.at_ms))
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def rank(severity: Severity, certainty: Certainty) -> tuple[int, int]:
    """How bad it is and how sure that is; the least is the worst."""
    return _SEVERITIES.index(severity), _CERTAINTIES.index(certainty)


def message_of(finding: Finding) -> str:
    """The message as people read it, with the Kafka issues whose traces look like this."""
    issues = ", ".join(finding.rule.issues if finding.rule.issues_fit else ())
    return f"{finding.message} (looks like {issues})" if issues else finding.message


def part_of(finding: Finding, moment: Moment, incident: str) -> Part:
    return Part(
        incident_id=incident,
        code=finding.rule.code,
        subjects=finding.subjects,
        severity=finding.severity,
        certainty=finding.certainty,
        opened_generation=moment.generation,
        opened_at_ms=moment.at_ms,
        message=message_of(finding),
        evidence=finding.evidence,
        next_step=finding.next_step,
        historic=moment.historic,
    )


def found_again(before: Part, finding: Finding) -> Part:
    """An open part of which a finding says the same, or that it is worse, better, more or less sure."""
    if (before.severity, before.certainty) == (finding.severity, finding.certainty):
        return before
    evidence = tuple(dict.fromkeys((*before.evidence, *finding.evidence)))
    if len(evidence) > MOST_EVIDENCE:
        half = MOST_EVIDENCE // 2
        evidence = (*evidence[:half], *evidence[-half:])
    was, now = before.worst or (before.severity, before.certainty), (finding.severity, finding.certainty)
    return replace(
        before,
        severity=finding.severity,
        certainty=finding.certainty,
        message=message_of(finding),
        next_step=finding.next_step,
        evidence=evidence,
        worst=None if rank(*now) <= rank(*was) else was,
    )


def incident_of(finding: Finding, moment: Moment, identity: str, team: str) -> Incident:
    """An incident as its first part opens it."""
    return Incident(
        incident_id=identity,
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
        message=message_of(finding),
        evidence=finding.evidence,
        historic=moment.historic,
        alert_name=finding.rule.alert,
        next_step=finding.next_step,
        team=team,
        cause=finding.cause,
    )


def ended_because(incidents: Iterable[Incident], moment: Moment, why: str) -> list[Incident]:
    """Open incidents of a state that is not carried on, with the reason in their messages. People hear of the end."""
    ended = []
    for incident in incidents:
        incident = replace(incident, message=f"{incident.message}; {why}")
        over = incident.resolved_at_ms is not None  # an open one has "ended" where a storm suppresses it
        ended.append(replace(incident, transition="ended", firing=False) if over else resolved(incident, moment))
    return ended


def resolved(incident: Incident, moment: Moment) -> Incident:
    """The incident after its end; what opened in history stays silent to its end."""
    return replace(incident, transition="resolved", resolved_at_ms=moment.at_ms)
