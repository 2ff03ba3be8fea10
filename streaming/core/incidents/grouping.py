"""Which findings are one incident, and what the incident says of all of them. Pure.

An incident is one harm, not one broken law for each of its subjects: a worker that freezes with 300 tasks breaks the
same law 300 times. Findings are parts of one incident if they are of the same group, rule and cause, and come within
SAME_MOMENT_MS of its first record. `Finding.cause` is what a rule names as the cause (the frozen worker); most rules
name none, and then the rule itself is the cause.

    10:00:00  task a-0 runs twice, on w1 and w2; cause w1     opens incident 1
    10:00:02  task b-0 runs twice, on w1 and w3; cause w1     is part of incident 1; all parts share w1
    10:00:02  task c-0 runs twice, on w4 and w2; cause w4     opens incident 2
    10:00:09  a-0 runs once again                             leaves incident 1, which goes on
    10:00:11  so does b-0                                     incident 1 is resolved
    10:30:00  task d-0 runs twice, on w1 and w2; cause w1     opens incident 3

What an incident says is bounded, whatever the number of its parts: every part is published by itself when it changes.
"""

from collections.abc import Iterable, Mapping, Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident, Part, Subject
from rebalance_monitor.streaming.core.model.subjects import connector_of
from .finding import Finding
from .transitions import Moment, rank

SAME_MOMENT_MS = 600_000
"""How long after its first record a finding may join an incident. Later ones are news: people are notified of them."""
SHOWN_THINGS, SHOWN_WORKERS, SHOWN_EVIDENCE = 50, 20, 8
SHOWN_IN_TEXT = 3
DETAILED_PARTS = 50
"""Parts of an incident that are stored with message and evidence."""

_ALERTS = list(AlertSeverity)


def joined(incidents: Iterable[Incident], finding: Finding, moment: Moment) -> Incident | None:
    """The incident that a finding of this moment is a part of; None if it is the first part of a new one."""
    same = (
        one
        for one in incidents
        if (one.code, one.cause, one.historic) == (finding.rule.code, finding.cause, moment.historic)
        and abs(moment.at_ms - one.opened_at_ms) < SAME_MOMENT_MS
    )
    return max(same, key=lambda one: (one.opened_at_ms, one.incident_id), default=None)


def loudest(parts: Iterable[Part]) -> AlertSeverity | None:
    """How loudly people are notified of the parts that have lasted; None while none has."""
    return min((one.alert for one in parts if one.firing), key=_ALERTS.index, default=None)


def ranked(parts: Iterable[Part]) -> list[Part]:
    """The most harmful and most certain first; among equals by name, so that clocks do not matter."""
    return sorted(parts, key=lambda one: (*harm(one), one.subjects))


def harm(harmful: Part | Incident) -> tuple[int, int]:
    """How bad it is and how sure that is; the least is the worst."""
    return rank(harmful.severity, harmful.certainty)


def summed(incident: Incident, parts: Sequence[Part]) -> Incident:
    """The incident with what its open parts, at least one, say together."""
    if len(parts) == 1 and len(parts[0].subjects) <= SHOWN_WORKERS and parts[0].message:
        return _single(incident, parts[0])
    order = ranked(parts)
    first = next((one for one in order if one.message), None)
    message, next_step = (incident.message, incident.next_step) if first is None else (first.message, first.next_step)
    things, workers = split(subject for one in order for subject in one.subjects)
    common = shared(parts)
    listed = {*things[:SHOWN_THINGS], *workers[:SHOWN_WORKERS]}
    # One finding keeps the order of its subjects: its message may follow it.
    subjects = order[0].subjects if len(order) == 1 else (*things, *workers)
    evidence = tuple(dict.fromkeys(piece for one in order for piece in one.evidence)) or incident.evidence
    return replace(
        incident,
        severity=order[0].severity,
        certainty=order[0].certainty,
        subjects=tuple(one for one in subjects if one in listed),
        message=message + _others(order, first, common),
        evidence=evidence if len(order) == 1 else evidence[:SHOWN_EVIDENCE],
        next_step=next_step,
        historic=all(one.historic for one in parts),
        parts=len(parts),
        more=max(0, len(things) - SHOWN_THINGS),
        common=common,
    )


def whole(incident: Incident, parts: Sequence[Part]) -> Incident:
    """An incident that is over, with what all its parts said, each at its worst: not only what was left last.

    `parts`: all of it, at least one; in which order they came, and in which batches, changes nothing."""
    if len(parts) == 1:
        return replace(incident, severity=parts[0].severity, certainty=parts[0].certainty)
    in_order = sorted(parts, key=lambda one: (one.opened_at_ms, one.subjects))
    return replace(summed(incident, in_order), historic=incident.historic, next_step=incident.next_step)


def _single(incident: Incident, part: Part) -> Incident:
    return replace(
        incident,
        severity=part.severity,
        certainty=part.certainty,
        subjects=part.subjects,
        message=part.message,
        evidence=part.evidence,
        next_step=part.next_step,
        historic=part.historic,
        parts=1,
        more=0,
        common=(),
    )


def split(subjects: Iterable[Subject]) -> tuple[list[Subject], list[Subject]]:
    """What is meant (connectors, tasks, partitions, members, the group), and the workers it is on; each once."""
    once = dict.fromkeys(subjects)
    return [one for one in once if one.type != "worker"], [one for one in once if one.type == "worker"]


def shared(parts: Iterable[Part]) -> tuple[Subject, ...]:
    """The workers that every part names, and the connector if all connectors and tasks of all parts are of one."""
    workers: set[Subject] | None = None
    connectors: set[str] = set()
    for part in parts:
        own = {subject for subject in part.subjects if subject.type == "worker"}
        workers = own if workers is None else workers & own
        connectors.update(name for subject in part.subjects if (name := connector_of(subject)) is not None)
    of_one = [Subject("connector", name) for name in connectors] if len(connectors) == 1 else []
    return (*of_one, *sorted(workers or ()))


def _others(order: Sequence[Part], first: Part | None, common: Sequence[Subject]) -> str:
    """The end of the message: what else is concerned, and what all parts share."""
    if len(order) == 1:
        return ""
    said = None if first is None else _name(first)
    names = [name for name in dict.fromkeys(map(_name, order)) if name != said]
    also = f"; also {listed(names, SHOWN_IN_TEXT)}" if names else f"; {len(order)} findings"
    return also + (f" (in common: {', '.join(map(_text, common))})" if common else "")


def _name(part: Part) -> str:
    things, workers = split(part.subjects)
    return ", ".join(map(_text, (things or workers)[:1])) or "the group"


def _text(subject: Subject) -> str:
    return f"{subject.type} {subject.id}"


def by_incident(parts: Mapping[str, Part]) -> dict[str, dict[str, Part]]:
    found: dict[str, dict[str, Part]] = {}
    for key, part in parts.items():
        found.setdefault(part.incident_id, {})[key] = part
    return found
