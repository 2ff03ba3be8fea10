"""A group at a moment that is past, as its generations and incidents until then show it: for a capture, and for a
monitor that is asked about such a moment."""

from collections.abc import Iterable, Sequence
from typing import Any

from rebalance_monitor.streaming.core.model.results import Standing
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.web import fleet
from rebalance_monitor.streaming.web.attention import Attention, incident_object, storms
from rebalance_monitor.streaming.web.rows import NOBODY, GroupName, GroupRow, IncidentRow

Object = dict[str, Any]


def known_at(
    key: GroupName,
    generations: Sequence[Object],
    violations: Iterable[Object],
    at_ms: int,
    standing: Standing | None = None,
    jobs: int = 0,
) -> GroupFacts:
    """A group as its last generation (the newest first) and its incidents show it. `standing`: None where it is not
    known; `violations`: those that had opened until then, in their last state; `jobs`: how many connectors and tasks
    the group has, which wait for a worker where nobody is in it."""
    rows = [
        IncidentRow(_as_of(one, at_ms), key[0], key[1], historic=False, judged_by="", version="")
        for one in violations
        if one["opened_at_ms"] <= at_ms and (one["resolved_at_ms"] is None or one["resolved_at_ms"] > at_ms)
    ]
    attention = Attention((), at_ms, storms(rows))
    shown = [attention.of(one) for one in rows]
    state = fleet.group_state(_row(key, generations, standing, jobs), shown, "", at_ms)
    return GroupFacts(fleet.group_object(state), at_ms, generations, [incident_object(one) for one in shown])


def _as_of(violation: Object, at_ms: int) -> Object:
    """Open, as it was then; what else of it changed since is not known."""
    fired_ms = violation["fired_at_ms"]
    return {**violation, "resolved_at_ms": None, "firing": fired_ms is not None and fired_ms <= at_ms}


def _row(key: GroupName, generations: Sequence[Object], standing: Standing | None, jobs: int) -> GroupRow:
    status, since_ms = ("", None) if standing is None else (standing.state, standing.at_ms)
    last = generations[0] if generations else None
    nobody = status in NOBODY
    return GroupRow(
        cluster=key[0],
        group=key[1],
        incarnation=0 if last is None else last["incarnation"],
        generation=None if last is None else last["generation"],
        protocol_type="" if last is None else last["protocol_type"],
        protocol=None if last is None else last["protocol"],
        members=0 if last is None or nobody else len(last["members"]),
        unassigned=jobs if nobody else len(() if last is None else last.get("unassigned", ())),
        delay_ms=None if last is None else last.get("delay_ms"),
        grade=None if last is None else last["verdict"]["grade"],
        at_ms=None if last is None else last["at_ms"],
        version="",
        status=status,
        standing_ms=since_ms,
    )
