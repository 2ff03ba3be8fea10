"""The JSON objects of everything published: one shape for the command line, the database and whoever reads them.

`streaming/core/model/objects.schema.json` states the shapes; a test holds both together.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from rebalance_monitor.streaming.core.model.effect_objects import aftermath_object, effects_object, job_object
from rebalance_monitor.streaming.core.model.epoch_detail import EpochDetail, epoch_object
from rebalance_monitor.streaming.core.model.results import (
    Aftermath,
    Cause,
    ConnectShare,
    ConsumerShare,
    Evidence,
    ExpectedShare,
    GapRecord,
    Generation,
    GroupProgress,
    Incident,
    JobState,
    MemberResult,
    Part,
    Result,
    Sampled,
    Share,
    Source,
    Standing,
    Subject,
    UndecodableRecord,
    Verdict,
)
from rebalance_monitor.streaming.core.model.streams_objects import streams_object

Object = dict[str, Any]


def as_object(result: Result) -> Object:
    """One result as the object that `replay -o json` prints."""
    match result:
        case Generation():
            return _generation(result)
        case Aftermath():
            return aftermath_patch(result)
        case JobState():
            return job_object(result)
        case Standing():
            return {
                "kind": "group",
                "cluster": result.cluster,
                "group": result.group,
                "state": result.state,
                "at_ms": result.at_ms,
            }
        case GroupProgress():
            return _progress(result)
        case Incident():
            return _violation(result)
        case Part():
            return part_object(result)
        case UndecodableRecord():
            return {
                "kind": "undecodable",
                "cluster": result.cluster,
                "source": source_object(result.source),
                "reason": result.reason,
                "bytes": result.size_bytes,
            }
        case GapRecord():
            return {
                "kind": "gap",
                "cluster": result.cluster,
                "topic": result.topic,
                "partition": result.partition,
                "from_offset": result.from_offset,
                "to_offset": result.to_offset,
                "reason": result.reason,
            }
        case _:
            assert_never(result)


def _progress(progress: GroupProgress) -> Object:
    return {
        "kind": "group_progress",
        "cluster": progress.cluster,
        "group": progress.group,
        "generation": progress.generation,
        "asked_ms": progress.asked_ms,
        "answered_ms": progress.answered_ms,
        "members": [
            {
                "member": one.member,
                "partitions": one.partitions,
                "advancing": one.advancing,
                "caught_up": one.caught_up,
                "standing": one.standing,
                "unknown": one.unknown,
                "lag": one.lag,
            }
            for one in progress.members
        ],
    }


def source_object(source: Source) -> Object:
    return {"topic": source.topic, "partition": source.partition, "offset": source.offset}


def _generation(generation: Generation) -> Object:
    detail = generation.connect
    return {
        "kind": "generation",
        "cluster": generation.cluster,
        "group": generation.group,
        "incarnation": generation.incarnation,
        "lifecycle": generation.lifecycle,
        "protocol_type": generation.protocol_type,
        "protocol": generation.protocol,
        "generation": generation.generation,
        "leader": generation.leader,
        "at_ms": generation.at_ms,
        "state_ms": generation.state_ms,
        "source": source_object(generation.source),
        "members": [_member(member) for member in generation.members],
        "diff": {
            key: {"gained": list(change.gained), "lost": list(change.lost)} for key, change in generation.diff.items()
        },
        "cause": [_cause(cause) for cause in generation.cause],
        "verdict": _verdict(generation.verdict),
        **effects_object(detail),
        **({} if generation.streams is None else {"streams": streams_object(generation.streams)}),
        **aftermath_object(detail.downtime, detail.interrupted, detail.burst, settled=generation.settled),
        **_epoch(generation.epoch),
        **_sampled(generation.sampled),
    }


def _sampled(sampled: Sampled | None) -> Object:
    return {} if sampled is None else {"sampled": {"after_ms": sampled.after_ms, "at_ms": sampled.at_ms}}


def aftermath_patch(aftermath: Aftermath) -> Object:
    """The fields of a generation's object that its last word replaces."""
    return {
        "cause": [_cause(cause) for cause in aftermath.cause],
        **aftermath_object(aftermath.downtime, aftermath.interrupted, aftermath.burst, settled=True),
        **_epoch(aftermath.epoch),
    }


def _epoch(detail: EpochDetail | None) -> Object:
    return {} if detail is None else {"epoch": epoch_object(detail)}


def share_object(share: Share | None) -> Object | None:
    """The shape of the golden vectors: Connect {"connectors","tasks"}, consumers {"partitions"}."""
    match share:
        case None:
            return None
        case ConnectShare(connectors=connectors, tasks=tasks):
            return {"connectors": list(connectors), "tasks": [list(task) for task in tasks]}
        case ConsumerShare(partitions=partitions):
            return {"partitions": [list(partition) for partition in partitions]}
        case _:
            assert_never(share)


def _member(member: MemberResult) -> Object:
    return {
        "member_id": member.member_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "instance_id": member.instance_id,
        "worker": member.worker,
        "assigned": share_object(member.assigned),
        "revoked": share_object(member.revoked),
        "owned": share_object(member.owned),
    }


def _cause(cause: Cause) -> Object:
    return {
        "kind": cause.kind,
        "subjects": [_subject(subject) for subject in cause.subjects],
        "certainty": cause.certainty.value,
        "evidence": [_evidence(one) for one in cause.evidence],
    }


def _subject(subject: Subject) -> Object:
    return {"type": subject.type, "id": subject.id}


def _evidence(evidence: Evidence) -> Object:
    if evidence.source is not None:
        return source_object(evidence.source)
    return {"text": evidence.text or ""}


def _verdict(verdict: Verdict) -> Object:
    shown: Object = {
        "grade": verdict.grade.value,
        "assignor": verdict.assignor,
        "era": verdict.era,
        "eras": list(verdict.eras),
        "reason": verdict.why or None,
        "reason_kind": verdict.reason.kind.value if verdict.reason is not None else None,
        "expected": _expected(verdict.expected),
    }
    if verdict.pending_until_ms is not None:
        shown["pending_until_ms"] = verdict.pending_until_ms
    return shown


def _expected(expected: Mapping[str, ExpectedShare] | None) -> Object | None:
    if expected is None:
        return None
    return {
        member_id: {"assigned": share_object(share.assigned), "revoked": share_object(share.revoked)}
        for member_id, share in expected.items()
    }


def part_object(part: Part) -> Object:
    """One finding of an incident."""
    return {
        "kind": "incident_part",
        "incident_id": part.incident_id,
        "code": part.code,
        "severity": part.severity.value,
        "certainty": part.certainty.value,
        "opened_generation": part.opened_generation,
        "opened_at_ms": part.opened_at_ms,
        "resolved_at_ms": part.resolved_at_ms,
        "subjects": [_subject(subject) for subject in part.subjects],
        "message": part.message,
        "evidence": [_evidence(one) for one in part.evidence],
    }


def _violation(incident: Incident) -> Object:
    return {
        "kind": "violation",
        "incident_id": incident.incident_id,
        "rule": incident.rule,
        "code": incident.code,
        "severity": incident.severity.value,
        "certainty": incident.certainty.value,
        "cluster": incident.cluster,
        "group": incident.group,
        "opened_generation": incident.opened_generation,
        "opened_at_ms": incident.opened_at_ms,
        "resolved_at_ms": incident.resolved_at_ms,
        "subjects": [_subject(subject) for subject in incident.subjects],
        "message": incident.message,
        "evidence": [_evidence(one) for one in incident.evidence],
        "alert": incident.alert.value,
        "firing": incident.firing,
        "fired_at_ms": incident.fired_at_ms,
        "times_notified": incident.times_told,
        "team": incident.team,
        "alert_name": incident.alert_name,
        "next_step": incident.next_step,
        "open_parts": incident.parts,
        "more_subjects": incident.more,
        "cause": [_subject(subject) for subject in incident.cause],
        "common": [_subject(subject) for subject in incident.common],
        "also_broken": list(incident.also),
        **({"sampled": True} if incident.sampled else {}),
    }
