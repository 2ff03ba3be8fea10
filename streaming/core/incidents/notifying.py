"""Which incidents are one notification: one names the others as also broken. Pure.

One harm breaks several rules: a task that two workers hold is held twice, was handed out while active, and is reported
twice in the next generation. Incidents of one group that share a connector, task, partition or member (or, where they
name none, a worker), and that open within SAME_MOMENT_MS, are one notification. Its leader is the loudest, most
harmful, most certain and earliest; the others follow.

    10:00:00  duplicate_hold of a-0 fires, assigned_while_active too     one notification: duplicate_hold, also
                                                                         broken: assigned_while_active
    10:00:30  both are over; duplicate_active of a-0 fires               the notification goes on
    10:01:00  duplicate_active is over                                   its end is notified: duplicate_hold

A follower is notified by itself once it is louder than its leader. A leader that is over is notified as over when its
last follower is. A follower whose leader is not known, as when the database refused the leader's row, has none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident, Subject
from .grouping import SAME_MOMENT_MS, harm, split

_ALERTS = list(AlertSeverity)


@dataclass(frozen=True, slots=True)
class NotifiedIncident:
    """An incident that people are notified of; `led_by`: the id of the one that names it, empty for leaders."""

    incident: Incident
    led_by: str = ""


class Notifications(NamedTuple):
    """What is known after one commit, by incident id; the transitions that concern people, in order; and who followed
    only within the commit: its leader's notification names an incident that began and ended in it."""

    known: dict[str, NotifiedIncident]
    told: list[Incident]
    followed: dict[str, NotifiedIncident]


def notifications(known: Mapping[str, NotifiedIncident], transitions: Sequence[Incident]) -> Notifications:
    """What people hear of the transitions of one commit: not what only changes or ends a follower. `known` is what was
    known before, by incident id."""
    known = {name: one if one.led_by in known else NotifiedIncident(one.incident) for name, one in known.items()}
    first = _first_heard(known, transitions)
    now, begun = {**known, **first}, dict(first)
    told: list[Incident] = []
    for incident in transitions:
        name = incident.incident_id
        if not incident.firing and (name in first or name not in now):
            told.append(incident)  # nobody has heard of it yet, or any more
            continue
        first.pop(name, None)
        led_by = now[name].led_by if name in now else ""
        if led_by:
            told += _followed(now, incident, led_by)
        elif not incident.firing and _followers(now, name):
            now[name] = NotifiedIncident(incident)
        elif not incident.firing:
            del now[name]
            told.append(incident)
        else:
            now[name] = NotifiedIncident(incident)
            told.append(incident)
            for follower in [each.incident for each in _followers(now, name) if _louder(each.incident, incident)]:
                now[follower.incident_id] = NotifiedIncident(follower)
                told.append(replace(follower, transition="fired"))
    alone = {one.incident_id for one in told if one.firing}
    followed = {name: one for name, one in begun.items() if one.led_by and name not in now and name not in alone}
    named = {**followed, **now}
    return Notifications(
        now,
        [replace(one, also=also(named if one.firing else now, one.incident_id)) for one in told],
        followed,
    )


def _followed(now: dict[str, NotifiedIncident], incident: Incident, leader: str) -> Iterator[Incident]:
    if incident.firing and _louder(incident, now[leader].incident):
        now[incident.incident_id] = NotifiedIncident(incident)
        yield replace(incident, transition="fired")
    elif incident.firing:
        now[incident.incident_id] = NotifiedIncident(incident, leader)
        return
    else:
        del now[incident.incident_id]
    if not now[leader].incident.firing and not _followers(now, leader):
        yield now.pop(leader).incident


def also(known: Mapping[str, NotifiedIncident], leader: str) -> tuple[str, ...]:
    """Titles of the rules that are also broken."""
    own = known[leader].incident.rule if leader in known else ""
    return tuple(sorted({one.incident.rule for one in _followers(known, leader)} - {own}))


def _followers(known: Mapping[str, NotifiedIncident], leader: str) -> list[NotifiedIncident]:
    return [one for one in known.values() if one.led_by == leader]


def _first_heard(known: Mapping[str, NotifiedIncident], transitions: Iterable[Incident]) -> dict[str, NotifiedIncident]:
    """The incidents that people first hear of now, as they are at their loudest, each with its leader if it has one;
    whatever the order they fire in."""
    first: dict[str, Incident] = {}
    for incident in transitions:
        if incident.firing and not incident.historic and incident.incident_id not in known:
            before = first.get(incident.incident_id)
            first[incident.incident_id] = incident if before is None or _rank(incident) < _rank(before) else before
    leading = [one.incident for one in known.values() if not one.led_by]
    found: dict[str, NotifiedIncident] = {}
    for incident in sorted(first.values(), key=_rank):
        able = [leader for leader in leading if not _louder(incident, leader) and _one_harm(incident, leader)]
        found[incident.incident_id] = NotifiedIncident(incident, min(able, key=_rank).incident_id if able else "")
        if not able:
            leading.append(incident)
    return found


def _rank(incident: Incident) -> tuple[object, ...]:
    return (_ALERTS.index(incident.alert), *harm(incident), incident.opened_at_ms, incident.code, incident.incident_id)


def _louder(incident: Incident, leader: Incident) -> bool:
    return _ALERTS.index(incident.alert) < _ALERTS.index(leader.alert)


def _one_harm(incident: Incident, leader: Incident) -> bool:
    near = abs(incident.opened_at_ms - leader.opened_at_ms) < SAME_MOMENT_MS
    same = (incident.cluster, incident.group) == (leader.cluster, leader.group)
    return near and same and not _harmed(incident).isdisjoint(_harmed(leader))


def _harmed(incident: Incident) -> frozenset[Subject]:
    things, workers = split(incident.subjects)
    return frozenset(things or workers)
