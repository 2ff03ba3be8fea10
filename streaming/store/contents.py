"""A batch's results as rows of the tables: which column holds what."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from rebalance_monitor.streaming.core.incidents.grouping import harm
from rebalance_monitor.streaming.core.model.objects import as_object
from rebalance_monitor.streaming.core.model.results import (
    Aftermath,
    AlertSeverity,
    GapRecord,
    Generation,
    GroupProgress,
    Incident,
    JobState,
    Part,
    Result,
    Standing,
    UndecodableRecord,
)
from rebalance_monitor.streaming.store.connectors_and_tasks import aftermath_row, row_of
from rebalance_monitor.streaming.store.labels import incident_labels
from rebalance_monitor.streaming.store.parts import part_end, part_row
from rebalance_monitor.streaming.store.stored import incident_of
from rebalance_monitor.streaming.store.text import clean, json_text, name

TopicId = Callable[[str, str, int, int], str]  # (cluster, topic, partition, offset) -> id of that topic
TableRow = tuple[Any, ...]


@dataclass(slots=True)
class Contents:
    """Rows for each table, in the order of the columns in `tables`."""

    generations: list[TableRow] = field(default_factory=list)
    members: list[TableRow] = field(default_factory=list)
    incidents: list[TableRow] = field(default_factory=list)
    parts: list[TableRow] = field(default_factory=list)
    part_ends: dict[TableRow, TableRow] = field(default_factory=dict)  # by the part's key: a batch may bring 100,000
    undecodable: list[TableRow] = field(default_factory=list)
    gaps: list[TableRow] = field(default_factory=list)
    transitions: list[Incident] = field(default_factory=list)
    aftermaths: list[TableRow] = field(default_factory=list)
    connectors_and_tasks: list[TableRow] = field(default_factory=list)
    groups: list[TableRow] = field(default_factory=list)
    progress: list[TableRow] = field(default_factory=list)


def contents(results: Iterable[Result], batch_id: int, topic_id: TopicId, judged_by: str = "") -> Contents:
    """Sorts the results into tables. `judged_by` is the version of the monitor."""
    rows = Contents()
    for result in results:
        match result:
            case Generation():
                _generation(rows, result, batch_id, topic_id, judged_by)
            case Aftermath(cluster=cluster, source=at):
                place = (cluster, topic_id(cluster, at.topic, at.partition, at.offset), at.partition, at.offset)
                rows.aftermaths.append(aftermath_row(result, place))
            case JobState():
                rows.connectors_and_tasks.append(row_of(result, batch_id))
            case Standing():
                rows.groups.append((result.cluster, name(result.group), result.state, result.at_ms, batch_id))
            case GroupProgress():
                times = (result.asked_ms, result.answered_ms)
                document = json_text(as_object(result))
                rows.progress.append(
                    (result.cluster, name(result.group), result.generation, *times, document, batch_id)
                )
            case Incident():
                rows.transitions.append(result)
                rows.incidents.append(_incident(result, batch_id, judged_by))
            case Part():
                _part(rows, result, batch_id)
            case UndecodableRecord(cluster=cluster, source=at):
                place = (cluster, topic_id(cluster, at.topic, at.partition, at.offset), at.partition, at.offset)
                reason = name(result.reason)
                rows.undecodable.append((*place, at.topic, reason, result.size_bytes, clean(result.sample), batch_id))
            case GapRecord(cluster=cluster, topic=topic, partition=partition, from_offset=start):
                place = (cluster, topic_id(cluster, topic, partition, start), partition, start)
                rows.gaps.append((*place, topic, result.to_offset, clean(result.reason), batch_id))
            case _:
                assert_never(result)
    return rows


def _generation(rows: Contents, generation: Generation, batch_id: int, topic_id: TopicId, judged_by: str) -> None:
    at = generation.source
    place = (
        generation.cluster,
        topic_id(generation.cluster, at.topic, at.partition, at.offset),
        at.partition,
        at.offset,
    )
    document = as_object(generation)
    verdict = generation.verdict
    rows.generations.append(
        (
            *place, at.topic, name(generation.group), generation.incarnation, generation.lifecycle,
            clean(generation.protocol_type), _clean(generation.protocol), generation.generation,
            _clean(generation.leader), generation.at_ms, generation.state_ms, len(generation.members),
            len(generation.connect.unassigned), generation.connect.delay_ms, verdict.grade.value, verdict.assignor,
            verdict.era, _clean(verdict.why or None), verdict.pending_until_ms, generation.historic,
            json_text(document), judged_by, batch_id,
        )
    )  # fmt: skip
    for ordinal, (member, shown) in enumerate(zip(generation.members, document["members"], strict=True)):
        shares = (_json_or_null(shown[share]) for share in ("assigned", "revoked", "owned"))
        rows.members.append(
            (
                *place, ordinal, clean(member.member_id), clean(member.client_id), clean(member.client_host),
                _clean(member.instance_id), _clean(member.worker), *shares,
                member.subscription_hash or None, member.assignment_hash or None,
            )
        )  # fmt: skip


def _incident(incident: Incident, batch_id: int, judged_by: str) -> TableRow:
    document = as_object(incident)
    return (
        incident.incident_id, incident.cluster, name(incident.group), incident.rule, incident.code,
        incident.severity.value, incident.certainty.value, incident.transition, incident.opened_generation,
        incident.opened_at_ms, incident.resolved_at_ms, json_text(document["subjects"]), clean(incident.message),
        json_text(document["evidence"]), incident.historic, json_text(document), incident.alert.value,
        incident.firing, incident.fired_at_ms, clean(incident.team), judged_by, batch_id,
    )  # fmt: skip


def _part(rows: Contents, part: Part, batch_id: int) -> None:
    """Of one part, what came last in the batch; its end goes by itself, since a stored part may have lost its texts."""
    row = part_row(part, batch_id)
    ends = part.resolved_at_ms is not None
    if not ends or part.message:
        rows.parts.append(row)
    if ends:
        rows.part_ends[row[:3]] = part_end(part)
    else:
        rows.part_ends.pop(row[:3], None)


def outbox_rows(
    transitions: Sequence[Incident], before: Mapping[str, Any], batch_id: int, hushed: Collection[str] = ()
) -> list[TableRow]:
    """What people are to be told: that it fires, that its alert changed, that it is over. Reports (info) stay silent.

    What a batch brings of one incident while it fires is one notification: how it began, with the last state.
    `before`: stored documents by incident id; `hushed`: incidents that maintenance mutes.
    """
    latest: dict[str, Incident] = {name: incident_of(document, "") for name, document in before.items()}
    told: list[tuple[Incident, Incident | None]] = []
    at: dict[str, int] = {}
    for incident in transitions:
        known, place = latest.get(incident.incident_id), at.get(incident.incident_id)
        latest[incident.incident_id] = incident
        if incident.transition == "updated" and incident.firing and place is not None and told[place][0].firing:
            told[place] = replace(incident, transition=told[place][0].transition), told[place][1]
        elif incident.incident_id not in hushed and _tells(incident, known):
            at[incident.incident_id] = len(told)
            told.append((incident, known if incident.transition == "updated" else None))
    return [_outbox_row(one, previous, batch_id) for one, previous in told]


def _outbox_row(incident: Incident, previous: Incident | None, batch_id: int) -> TableRow:
    document = as_object(incident)
    before = None if previous is None else json_text(as_object(previous))
    return (
        notification_key(incident, document),
        incident.incident_id,
        incident.transition,
        json_text(document),
        before,
        batch_id,
    )


def _tells(incident: Incident, before: Incident | None) -> bool:
    """Whether this transition changes what people know. What joins or leaves an incident does not, unless it becomes
    worse, or its labels change: an alert is known by these."""
    was_told = before is not None and before.firing and before.alert is not AlertSeverity.INFO
    if incident.historic or (incident.alert is AlertSeverity.INFO and not was_told):
        return False
    if not incident.firing:
        return incident.transition == "ended" or (
            incident.transition == "resolved" and incident.fired_at_ms is not None
        )
    if incident.transition == "updated" and before is not None and was_told and before.resolved_at_ms is None:
        return _worse(incident, before) or _labels(incident) != _labels(before)
    return incident.transition in ("fired", "updated")


def _worse(incident: Incident, before: Incident) -> bool:
    """What joins an incident makes it worse by its severity alone; what was known of it, by its certainty too."""
    severity, certainty = harm(incident)
    known_severity, known_certainty = harm(before)
    joined = incident.parts > before.parts
    return severity < known_severity or (severity == known_severity and certainty < known_certainty and not joined)


def _labels(incident: Incident) -> dict[str, str]:
    return incident_labels(incident, "")


def notification_key(incident: Incident, document: Mapping[str, Any]) -> str:
    """Stable name of a notification: incident id and transition, a number when it is told again after a pause.

    Updates, which may be several, carry their content.
    """
    again = f":{incident.times_told}" if incident.times_told > 1 else ""
    key = f"{incident.incident_id}:{incident.transition}{again}"
    if incident.transition != "updated":
        return key
    return f"{key}:{hashlib.sha256(json_text(document).encode()).hexdigest()[:12]}"


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _json_or_null(value: Any) -> str | None:
    return None if value is None else json_text(value)
