"""What an alert says of an incident: which connector, task or member, on which workers, and since when.

Both ways of notifying use it: pushed alerts as text, Prometheus' rules through labels of a gauge.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from streaming.core.model.subjects import Subject

MOST_NAMED = 5


class Named(NamedTuple):
    """One thing that an incident is about, and the workers that have to do with it (empty: none is known)."""

    subject: str
    workers: str


def named(subjects: Sequence[Subject], worker: Callable[[str], str]) -> list[Named]:
    """What the incident is about: its connectors, tasks, partitions or members, each with the incident's workers; the
    workers themselves where nothing else is named. After five of them, how many more there are.

    `worker` says how a worker is called.
    """
    workers = tuple(dict.fromkeys(worker(one.id) for one in subjects if one.type == "worker"))
    things = [f"{one.type} {one.id}" for one in subjects if one.type not in ("worker", "group")]
    if not things:
        return _some([Named(f"worker {one}", "") for one in workers])
    return _some([Named(one, ", ".join(workers)) for one in things])


def _some(all_named: list[Named]) -> list[Named]:
    shown = all_named[:MOST_NAMED]
    more = len(all_named) - len(shown)
    return [*shown, Named(f"{more} more", shown[0].workers)] if more else shown


def named_text(subjects: Sequence[Subject], worker: Callable[[str], str]) -> str:
    """The same as a phrase: `task sink-0, task sink-1 on a:8083, b:8083`; empty if only the group is meant."""
    all_named = named(subjects, worker)
    if not all_named:
        return ""
    text = ", ".join(one.subject for one in all_named)
    return f"{text} on {all_named[0].workers}" if all_named[0].workers else text
