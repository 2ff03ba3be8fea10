"""What an alert says of an incident: which connector, task or member, on which workers, and since when.

Both ways of notifying use it: pushed alerts as text, Prometheus' rules through labels of a gauge.
"""

from collections.abc import Callable
from typing import NamedTuple

from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.model.results import Incident

MOST_NAMED = 5


class Named(NamedTuple):
    """One thing that an incident is about, and the workers that have to do with it (empty: none is known)."""

    subject: str
    workers: str


def named(incident: Incident, worker: Callable[[str], str]) -> list[Named]:
    """What the incident is about: its connectors, tasks, partitions or members, each with the incident's workers; the
    workers themselves where nothing else is named. After five of them, how many more there are.

    The workers are those that all parts of the incident share, else all that it names. `worker` says how one is called.
    """
    shared = [one for one in incident.common if one.type == "worker"]
    workers = tuple(dict.fromkeys(worker(one.id) for one in shared or incident.subjects if one.type == "worker"))
    things = [f"{one.type} {one.id}" for one in incident.subjects if one.type not in ("worker", "group")]
    if not things:
        return _some([Named(f"worker {one}", "") for one in workers], incident.more)
    return _some([Named(one, listed(workers, MOST_NAMED)) for one in things], incident.more)


def _some(all_named: list[Named], unnamed: int) -> list[Named]:
    shown = all_named[:MOST_NAMED]
    more = len(all_named) - len(shown) + unnamed
    return [*shown, Named(f"{more} more", shown[0].workers)] if more else shown


def also_text(incident: Incident) -> str:
    """Which other rules the notification is about, as a sentence; empty if none."""
    titles = ", ".join(one.replace("_", " ") for one in incident.also)
    return f"Also broken: {titles}." if titles else ""


def named_text(incident: Incident, worker: Callable[[str], str]) -> str:
    """The same as a phrase: `task sink-0, task sink-1 on a:8083, b:8083`; empty if only the group is meant."""
    all_named = named(incident, worker)
    if not all_named:
        return ""
    text = ", ".join(one.subject for one in all_named)
    return f"{text} on {all_named[0].workers}" if all_named[0].workers else text
