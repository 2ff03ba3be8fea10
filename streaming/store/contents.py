"""A batch's results as rows of the tables: which column holds what."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, assert_never

from rebalance_monitor.streaming.core import tables
from rebalance_monitor.streaming.core.columns import day_of
from rebalance_monitor.streaming.core.incidents.grouping import harm
from rebalance_monitor.streaming.core.incidents.transitions import key_of
from rebalance_monitor.streaming.core.model.published import Object, as_object
from rebalance_monitor.streaming.core.model.results import (
    Aftermath,
    AlertSeverity,
    GapRecord,
    Generation,
    GroupProgress,
    Incident,
    JobState,
    Part,
    RebalanceCost,
    Result,
    Standing,
    UndecodableRecord,
)
from .labels import incident_labels
from .shared import COLUMNS, hash_of, names_of, parted
from .stored import incident_of
from .tables import STORED_GENERATIONS, TableRow, row
from .text import json_text, name

NO_BLOBS: Mapping[str, bytes] = MappingProxyType({})
_IN_CONTENT = frozenset(STORED_GENERATIONS.place(column) for column in COLUMNS)
TopicId = Callable[[str, str, int, int], str]  # (cluster, topic, partition, offset) -> id of that topic


@dataclass(slots=True)
class Contents:
    """Rows for each table, in the order of its columns."""

    generations: list[TableRow] = field(default_factory=list)
    contents: dict[tuple[str, int], str] = field(default_factory=dict)
    assignments: dict[tuple[str, int], bytes] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)  # bytes that a generation of the batch names
    incidents: list[TableRow] = field(default_factory=list)
    parts: list[TableRow] = field(default_factory=list)
    part_ends: dict[TableRow, TableRow] = field(default_factory=dict)  # by the part's key: a batch may bring 100,000
    undecodable: list[TableRow] = field(default_factory=list)
    gaps: list[TableRow] = field(default_factory=list)
    transitions: list[Incident] = field(default_factory=list)
    aftermaths: list[TableRow] = field(default_factory=list)
    costs: list[TableRow] = field(default_factory=list)
    connectors_and_tasks: list[TableRow] = field(default_factory=list)
    groups: list[TableRow] = field(default_factory=list)
    progress: list[TableRow] = field(default_factory=list)


def contents(
    results: Iterable[Result],
    batch_id: int,
    topic_id: TopicId,
    judged_by: str = "",
    blobs: Mapping[str, bytes] = NO_BLOBS,
) -> Contents:
    """Sorts the results into tables. `judged_by` is the version of the monitor; `blobs`: what members sent, by name."""
    rows = Contents()
    for result in results:
        shown = as_object(result)
        given: dict[str, Any] = {"batch_id": batch_id, "judged_by": judged_by, "document": shown}
        match result:
            case Generation(cluster=cluster, source=at):
                given["topic_id"] = topic_id(cluster, at.topic, at.partition, at.offset)
                _generation(rows, result, shown, given, blobs)
            case Aftermath(cluster=cluster, source=at):
                place = (cluster, topic_id(cluster, at.topic, at.partition, at.offset), at.partition, at.offset)
                rows.aftermaths.append((*place, json_text(shown)))
            case RebalanceCost(cluster=cluster, source=at):
                place = (cluster, topic_id(cluster, at.topic, at.partition, at.offset), at.partition, at.offset)
                rows.costs.append((*place, json_text(shown)))
            case JobState():
                rows.connectors_and_tasks.append(row(tables.CONNECTORS_AND_TASKS, result, shown, **given))
            case Standing():
                rows.groups.append(row(tables.GROUPS, result, shown, **given))
            case GroupProgress():
                rows.progress.append(row(tables.GROUP_PROGRESS, result, shown, **given))
            case Incident():
                rows.transitions.append(result)
                rows.incidents.append(row(tables.INCIDENTS, result, shown, **given))
            case Part():
                _part(rows, result, shown, given)
            case UndecodableRecord(cluster=cluster, source=at):
                given["topic_id"] = topic_id(cluster, at.topic, at.partition, at.offset)
                rows.undecodable.append(row(tables.UNDECODABLE, result, shown, **given))
            case GapRecord(cluster=cluster, topic=topic, partition=partition, from_offset=start):
                given["topic_id"] = topic_id(cluster, topic, partition, start)
                rows.gaps.append(row(tables.GAPS, result, shown, **given))
            case _:
                assert_never(result)
    return rows


def _generation(
    rows: Contents, generation: Generation, shown: Object, given: Mapping[str, Any], blobs: Mapping[str, bytes]
) -> None:
    """Its row, and once a day what it has in common with others."""
    parts, day = parted(generation, shown, blobs), day_of(generation.at_ms)
    content, sent = hash_of(parts.content), None
    rows.contents[content, day] = parts.content
    if parts.sent is not None:
        sent = hash_of(parts.sent)
        rows.contents[sent, day] = parts.sent
    named = json_text(names_of(generation)) if parts.sent is None else None
    made = row(tables.GENERATIONS, generation, shown, **{**given, "document": parts.own})
    own = (None if at in _IN_CONTENT else value for at, value in enumerate(made))
    rows.generations.append((*own, content, named, sent))
    rows.assignments.update({(one, day): blobs[one] for one in parts.named if one in blobs})
    rows.named |= parts.named | parts.held


def blob_rows(rows: Contents, blobs: Mapping[str, bytes], now_ms: int) -> list[TableRow]:
    """Each content once for each day of which a member has it; one whose generation is not written yet, today."""
    waiting = {(one, day_of(now_ms)): blob for one, blob in blobs.items() if one not in rows.named}
    return sorted((*key, blob) for key, blob in {**waiting, **rows.assignments}.items())


def newest_days(results: Iterable[Result]) -> dict[tuple[str, str], int]:
    """The day of each group's newest generation among those that are written."""
    newest: dict[tuple[str, str], tuple[int, int, int]] = {}
    for one in results:
        if isinstance(one, Generation):
            key = (one.cluster, name(one.group))
            place = (one.incarnation, one.source.offset, day_of(one.at_ms))
            newest[key] = max(newest.get(key, place), place)
    return {key: day for key, (_, _, day) in newest.items()}


def days_of(results: Iterable[Result]) -> set[int]:
    """Days of which generations are written."""
    return {day_of(one.at_ms) for one in results if isinstance(one, Generation)}


def _part(rows: Contents, part: Part, shown: Object, given: Mapping[str, Any]) -> None:
    """Of one part, what came last in the batch; its end goes by itself, since a stored part may have lost its texts."""
    made = row(tables.INCIDENT_PARTS, part, shown, part=name(key_of(part.code, part.subjects)), **given)
    key, ends = made[: tables.INCIDENT_PARTS.key], part.resolved_at_ms is not None
    if not ends or part.message:
        rows.parts.append(made)
    if ends:
        rows.part_ends[key] = (*key, part.resolved_at_ms, part.severity.value, part.certainty.value)
    else:
        rows.part_ends.pop(key, None)


def outbox_rows(
    transitions: Sequence[Incident],
    before: Mapping[str, Any],
    batch_id: int,
    hushed: Collection[str] = (),
    heard: Mapping[str, int] | None = None,
) -> list[TableRow]:
    """What people are to be told: that it fires, that its alert changed, that it is over. Reports (info) stay silent;
    one that becomes louder fires.

    What a batch brings of one incident while it fires is one notification: how it began, with the last state.
    `before`: stored documents by incident id; `hushed`: incidents that maintenance mutes; `heard`: by incident id, the
    last of the times it began to fire that a notification was written of.
    """
    known_times = heard or {}
    latest: dict[str, Incident] = {name: incident_of(document, "") for name, document in before.items()}
    told: list[tuple[Incident, Incident | None]] = []
    at: dict[str, int] = {}
    for incident in transitions:
        known, place = latest.get(incident.incident_id), at.get(incident.incident_id)
        latest[incident.incident_id] = incident
        if incident.transition == "updated" and incident.firing and place is not None and told[place][0].firing:
            told[place] = replace(incident, transition=told[place][0].transition), told[place][1]
        elif incident.incident_id not in hushed and _tells(incident, known):
            if incident.transition == "updated" and place is None and not _heard(incident, known_times):
                incident = replace(incident, transition="fired")
            at[incident.incident_id] = len(told)
            told.append((incident, known if incident.transition == "updated" else None))
    return [_outbox_row(one, previous, batch_id) for one, previous in told]


def _outbox_row(incident: Incident, previous: Incident | None, batch_id: int) -> TableRow:
    shown = as_object(incident)
    return outbox_row(
        notification_key(incident, shown), incident, None if previous is None else as_object(previous), batch_id
    )


def outbox_row(key: str, incident: Incident, previous: Object | None, batch_id: int) -> TableRow:
    return row(
        tables.OUTBOX,
        incident,
        {},
        key=key,
        incident_id=incident.incident_id,
        transition=incident.transition,
        document=as_object(incident),
        previous=previous,
        batch_id=batch_id,
    )


def _heard(incident: Incident, times: Mapping[str, int]) -> bool:
    """Whether somebody was told of it since it began to fire: not of what was a report until now."""
    return times.get(incident.incident_id, 0) >= incident.times_told


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
