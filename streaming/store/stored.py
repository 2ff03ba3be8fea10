"""Stored documents back as values: what was published before the process started."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rebalance_monitor.streaming.core.model.results import (
    AlertSeverity,
    Certainty,
    Evidence,
    Incident,
    Part,
    Severity,
    Source,
    Subject,
)


class LastGeneration(NamedTuple):
    """What is published of a group's latest generation; the first two fields say which one is the latest.

    `unassigned` is None while it is not judged: who waits is worked out with the verdict.
    """

    incarnation: int
    offset: int
    cluster: str
    group: str
    generation: int
    members: int
    at_ms: int
    unassigned: int | None
    delay_ms: int | None
    connect: bool


def incident_of(document: Mapping[str, Any], transition: str, historic: bool = False) -> Incident:
    """The incident that `as_object` made this document from."""
    return Incident(
        incident_id=document["incident_id"],
        transition=transition,
        rule=document["rule"],
        code=document["code"],
        severity=Severity(document["severity"]),
        certainty=Certainty(document["certainty"]),
        cluster=document["cluster"],
        group=document["group"],
        opened_generation=document["opened_generation"],
        opened_at_ms=document["opened_at_ms"],
        resolved_at_ms=document["resolved_at_ms"],
        subjects=_subjects(document["subjects"]),
        message=document["message"],
        evidence=tuple(_evidence(one) for one in document["evidence"]),
        historic=historic,
        alert=AlertSeverity(document["alert"]),
        firing=document["firing"],
        fired_at_ms=document["fired_at_ms"],
        times_told=document["times_notified"],
        team=document["team"],
        alert_name=document["alert_name"],
        next_step=document["next_step"],
        parts=document["open_parts"],
        more=document["more_subjects"],
        cause=_subjects(document["cause"]),
        common=_subjects(document["common"]),
        also=tuple(document["also_broken"]),
        sampled=document.get("sampled", False),
    )


def stored_part(document: Mapping[str, Any]) -> Part:
    """The part that `part_object` made this document from, as far as people see it."""
    return Part(
        incident_id=document["incident_id"],
        code=document["code"],
        subjects=_subjects(document["subjects"]),
        severity=Severity(document["severity"]),
        certainty=Certainty(document["certainty"]),
        opened_generation=document["opened_generation"],
        opened_at_ms=document["opened_at_ms"],
        resolved_at_ms=document["resolved_at_ms"],
        message=document["message"],
        evidence=tuple(_evidence(one) for one in document["evidence"]),
    )


def _subjects(found: Iterable[Mapping[str, str]]) -> tuple[Subject, ...]:
    return tuple(Subject(one["type"], one["id"]) for one in found)


def _evidence(document: Mapping[str, Any]) -> Evidence:
    if "text" in document:
        return Evidence(text=document["text"])
    return Evidence(source=Source(document["topic"], document["partition"], document["offset"]))
