"""From rows to what is said of groups: how bad they stand, the worst first. Pure: no clock."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebalance_monitor.streaming.core.model.settings import NOTHING_EXPECTED, Expectations
from rebalance_monitor.streaming.stories.known import loudness
from .attention import Attention, ShownIncident
from .expected import ExpectationShown, ExpectsOf, expected_of, expects_nothing
from .rows import NOBODY, GroupName, GroupRow, IncidentRow
from .scope import TeamOf

Object = dict[str, Any]
# The order in which people look: worst first.
STATES = {
    "critical": "people are woken for an open incident",
    "warning": "people are notified of an open incident that can wait until working hours",
    "muted": "there is one, and a maintenance window hides it from people",
    "watched": "something was found of which nobody is notified: too young, too small, or part of a storm",
    "waiting": "connectors and tasks wait for a delay, until the time that the row shows, or for a worker",
    "fine": "nothing is wrong that can be seen",
}
_ORDER = tuple(STATES)


@dataclass(frozen=True, slots=True)
class GroupState:
    row: GroupRow
    team: str
    state: str
    delay_until_ms: int | None
    incidents: tuple[ShownIncident, ...] = ()
    expected: tuple[ExpectationShown, ...] = ()


@dataclass(frozen=True, slots=True)
class Fleet:
    """Groups with the worst first, those without members last of their kind; open incidents with the loudest first."""

    groups: list[GroupState]
    incidents: list[ShownIncident]
    counts: Mapping[str, int] = field(default_factory=dict)


def fleet(
    rows: Iterable[GroupRow],
    incidents: Iterable[IncidentRow],
    attention: Attention,
    team_of: TeamOf,
    expects_of: ExpectsOf = expects_nothing,
) -> Fleet:
    """Everything that the first page shows of groups and incidents."""
    by_group: dict[GroupName, list[ShownIncident]] = defaultdict(list)
    told = sorted((attention.of(row) for row in incidents), key=lambda one: loudness(one.attention, one.document))
    for incident in told:
        by_group[incident.row.key].append(incident)
    groups = [
        group_state(row, by_group.get(row.key, ()), team_of(*row.key), attention.now_ms, expects_of(*row.key))
        for row in rows
    ]
    groups.sort(key=lambda one: order(one.state, one.row.status, one.row.at_ms, one.row.key))
    counts = {state: sum(one.state == state for one in groups) for state in STATES}
    counts |= {name: sum(one.attention == name for one in told) for name in ("notified", "suppressed")}
    counts["silenced"] = sum(one.attention == "muted" for one in told)
    return Fleet(groups, told, counts)


def order(state: str, status: str, at_ms: int | None, key: GroupName) -> tuple[int, bool, int, GroupName]:
    """The order in which people look at groups: the worst first, those without members last of their kind."""
    return _ORDER.index(state), status in NOBODY, -(at_ms or 0), key


def group_state(
    row: GroupRow,
    incidents: Sequence[ShownIncident],
    team: str,
    now_ms: int,
    expects: Expectations = NOTHING_EXPECTED,
) -> GroupState:
    """The worst that can be said of a group: what its incidents are told as (`streaming.core.incidents.damping`, as for
    every alert), and without any whether jobs wait. A group with jobs and without a worker is never fine."""
    until = row.delay_until_ms
    waiting = until is not None and until > now_ms and row.status not in NOBODY
    return GroupState(
        row,
        team,
        _state(incidents, waiting or (row.status in NOBODY and row.unassigned > 0)),
        until if waiting else None,
        tuple(incidents),
        expected_of(row, incidents, expects, now_ms),
    )


def _state(incidents: Sequence[ShownIncident], waiting: bool) -> str:
    loudest = {one.document["alert"] for one in incidents if one.attention == "notified"}
    for alert in ("critical", "warning"):
        if alert in loudest:
            return alert
    if any(one.attention == "muted" for one in incidents):
        return "muted"
    if incidents:
        return "watched"
    return "waiting" if waiting else "fine"


def group_object(state: GroupState) -> Object:
    row = state.row
    return {
        "cluster": row.cluster,
        "group": row.group,
        "team": state.team,
        "state": state.state,
        "status": row.status,
        "status_ms": row.standing_ms,
        "protocol_type": row.protocol_type,
        "protocol": row.protocol,
        "incarnation": row.incarnation,
        "generation": row.generation,
        "members": row.members,
        "unassigned": row.unassigned,
        "delay_until_ms": state.delay_until_ms,
        "grade": row.grade,
        "at_ms": row.at_ms,
        "incidents": len(state.incidents),
        "expected": [one.object() for one in state.expected],
        "lag": None if row.sampled_ms is None else lag_object(row),
    }


def lag_object(row: GroupRow) -> Object:
    """The lag of a group whose offsets were polled."""
    return {
        "records": row.lag,
        "lag_ms": row.lag_ms,
        "at_least": row.at_least,
        "trend": row.trend,
        "answered_ms": row.sampled_ms,
    }


def versions(
    rows: Iterable[GroupRow], incidents: Iterable[IncidentRow], tasks: Mapping[GroupName, str]
) -> dict[GroupName, tuple[str, ...]]:
    """For each group something that differs as soon as anything of it was written."""
    found: dict[GroupName, list[str]] = defaultdict(list)
    for row in rows:
        found[row.key].append(row.version)
    for key, version in tasks.items():
        found[key].append(f"tasks {version}")
    for incident in sorted(incidents, key=lambda one: one.document["incident_id"]):
        found[incident.key].append(f"{incident.document['incident_id']} {incident.version}")
    return {key: tuple(texts) for key, texts in found.items()}


def changed(before: Mapping[GroupName, tuple[str, ...]], after: Mapping[GroupName, tuple[str, ...]]) -> list[GroupName]:
    """Groups of which something new is known."""
    return sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
