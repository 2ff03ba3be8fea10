"""Why a Connect generation happened, by two records and the config records between (coordinator-log.md 10.5).

This is what is published at once. A worker that is gone too soon for any time-out has left (`departures`). Of any other
the status topic may tell whether it left or was lost; until then it is only gone, and
`streaming.core.connect.statuses.settling` says the last word.
"""

from collections.abc import Iterator
from typing import assert_never

from rebalance_monitor.schemas.connect_topics import (
    ConfigRecord,
    ConnectorConfigured,
    ConnectorDeleted,
    OtherConfig,
    TargetState,
    TasksCommitted,
    TaskStaged,
)
from rebalance_monitor.streaming.core.fold import departures
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Source, Subject
from .config_history import ConfigHistory
from .observed import Observed

LEFT, LOST, GONE = "worker_left", "worker_lost", "worker_gone"
"""A worker that is in no record any more asked to leave; was removed; or nobody can tell."""
EARLY_TIMER_MS = 1_000
"""A member's timer starts when it receives the delay, a little before or after the leader's own reckoning."""


def connect_causes(
    now: Observed, last: Observed | None, config_topic: str | None, history: ConfigHistory | None
) -> tuple[Cause, ...]:
    """Every cause the evidence shows, most certain first; one `unknown` where nothing shows."""
    here = Evidence(source=now.source)
    if last is None or not last.views:
        joined = tuple(sorted(map(now.subject_of, now.views), key=lambda one: one.id))
        return (Cause(kind="worker_joined", subjects=joined, evidence=(here,)),)
    found = (
        *_membership(now, last),
        *_config_changes(now, last, config_topic, history),
        *_continuations(now, last),
        *_leadership(now, last),
    )
    found = found or tuple(_read_past(now, last, config_topic, history))
    found = found or tuple(_noticed_late(last, config_topic, history))
    return found or (Cause(kind="unknown", certainty=Certainty.POSSIBLE, evidence=(here,)),)


def _membership(now: Observed, last: Observed) -> Iterator[Cause]:
    evidence = (Evidence(source=last.source), Evidence(source=now.source))
    before, after = last.workers(), now.workers()
    joined: list[Subject] = []
    bounced: list[Subject] = []
    zombies: list[Subject] = []
    for worker, member_id in sorted(after.items()):
        if member_id in last.views:
            continue
        known = bounced if worker in before else joined
        (zombies if now.views[member_id].had_allocation else known).append(now.subject_of(member_id))
    gone = [
        last.subject_of(member_id)
        for worker, member_id in sorted(before.items())
        if worker not in after and member_id not in now.views
    ]
    for kind, subjects, certainty in (
        ("worker_joined", joined, Certainty.CERTAIN),
        ("worker_bounced", bounced, Certainty.LIKELY),
        ("zombie_returned", zombies, Certainty.LIKELY),
    ):
        if subjects:
            yield Cause(kind=kind, subjects=tuple(subjects), certainty=certainty, evidence=evidence)
    if gone:
        asked = departures.left(last.state_ms, now.state_ms, last.shortest_ms)
        if asked is None:
            yield Cause(kind=GONE, subjects=tuple(gone), evidence=evidence)
            return
        why = Evidence(text=departures.too_soon(last.state_ms, now.state_ms, last.shortest_ms))
        yield Cause(kind=LEFT, subjects=tuple(gone), certainty=asked, evidence=(*evidence, why))


def _config_changes(now: Observed, last: Observed, topic: str | None, history: ConfigHistory | None) -> Iterator[Cause]:
    if now.config_offset is not None and last.config_offset is not None:
        yield from _changes(last.config_offset, now.config_offset, topic, history, Certainty.CERTAIN)


def _read_past(now: Observed, last: Observed, topic: str | None, history: ConfigHistory | None) -> Iterator[Cause]:
    """A connector's new configuration alone moves no job, and a settled worker only restarts the connector.

    One that still has a round to finish, or a delay to wait out, asks for a rebalance as soon as it has read past the
    round's offset, whatever the record says.
    """
    if history is None or topic is None or now.config_offset is None or last.config_offset is None:
        return
    found: dict[str, list[Evidence]] = {}
    for entry in history.between(last.config_offset, now.config_offset):
        if isinstance(entry.record, ConnectorConfigured):
            found.setdefault(entry.record.name, []).append(Evidence(source=Source(topic, 0, entry.offset)))
    for name, evidence in found.items():
        subjects = (Subject("connector", name),)
        yield Cause(
            kind="connector_reconfigured", subjects=subjects, certainty=Certainty.LIKELY, evidence=tuple(evidence)
        )


def _noticed_late(last: Observed, topic: str | None, history: ConfigHistory | None) -> Iterator[Cause]:
    """Every worker asks for a rebalance when it reads of a change itself, though the leader has answered it already."""
    behind = [view.config_offset for view in last.views.values() if view.config_offset is not None]
    if last.config_offset is not None and behind:
        yield from _changes(max(min(behind), 0), last.config_offset, topic, history, Certainty.LIKELY)


def _changes(
    start: int, end: int, topic: str | None, history: ConfigHistory | None, certainty: Certainty
) -> Iterator[Cause]:
    """What the config records in this range changed, where that makes workers rebalance."""
    if history is None or topic is None or end <= start:
        return
    before = history.state_at(start)
    known = dict(before.counts) if before else {}
    found: dict[tuple[str, str], list[Evidence]] = {}
    for entry in history.between(start, end):
        change = _change(known, entry.record)
        if change is not None:
            found.setdefault(change, []).append(Evidence(source=Source(topic, 0, entry.offset)))
    for (kind, name), evidence in found.items():
        subjects = (Subject("connector", name),)
        yield Cause(kind=kind, subjects=subjects, certainty=certainty, evidence=tuple(evidence))


def _change(known: dict[str, int | None], record: ConfigRecord) -> tuple[str, str] | None:
    """Kind of change and connector, where the record makes workers rebalance; `known` moves along.

    The first commit of tasks belongs to the creation: it is the second rebalance that every new connector causes.
    """
    match record:
        case ConnectorConfigured(name=name) if name not in known:
            known[name] = None
            return ("connector_created", name)
        case ConnectorDeleted(name=name) if name in known:
            del known[name]
            return ("connector_deleted", name)
        case TasksCommitted(name=name, count=int(count)) if name in known:
            before = known[name]
            known[name] = count
            if before is None:
                return ("connector_created", name)
            return ("connector_reconfigured" if before == count else "connector_rescaled", name)
        case (
            ConnectorConfigured() | ConnectorDeleted() | TasksCommitted() | TaskStaged() | TargetState() | OtherConfig()
        ):
            return None
        case _:
            assert_never(record)


def _continuations(now: Observed, last: Observed) -> Iterator[Cause]:
    evidence = (Evidence(source=last.source),)
    if last.error:
        yield Cause(kind="config_mismatch", evidence=evidence)
    if last.revoked():
        workers = tuple(last.subject_of(member_id) for member_id, view in sorted(last.views.items()) if view.revoked)
        yield Cause(kind="revocation_follow_up", subjects=workers, certainty=Certainty.LIKELY, evidence=evidence)
    due_ms = last.at_ms + last.delay_ms
    if last.delay_ms and now.formed_ms >= due_ms - EARLY_TIMER_MS:
        kind = "delay_expired" if _lost_work(last, now) else "backoff_follow_up"
        yield Cause(kind=kind, certainty=Certainty.LIKELY, evidence=evidence)


def _lost_work(last: Observed, now: Observed) -> bool:
    """Whether jobs nobody held during the delay are handed out now."""
    return bool(now.assigned() - last.hands())


def _leadership(now: Observed, last: Observed) -> Iterator[Cause]:
    evidence = (Evidence(source=last.source), Evidence(source=now.source))
    if now.leader != last.leader:
        yield Cause(kind="leader_changed", subjects=(Subject("member", now.leader or ""),), evidence=evidence)
    if now.protocol != last.protocol:
        yield Cause(kind="protocol_changed", evidence=evidence)
