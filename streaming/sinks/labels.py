"""The labels of an incident, the same for the published gauge and for a pushed alert, firing and resolved."""

from collections.abc import Callable, Iterable

from streaming.core.model.results import Incident, Subject
from streaming.sinks.limits import as_it_is


def incident_labels(incident: Incident, path: str, worker: Callable[[str], str] = as_it_is) -> dict[str, str]:
    """Labels by name; `severity` is how loudly people are told.

    `worker` and `connector` are empty unless the subjects name exactly one; `worker` says how one is called.
    """
    return {
        "cluster": incident.cluster,
        "group": incident.group,
        "team": incident.team,
        "worker": _only(worker(subject.id) for subject in incident.subjects if subject.type == "worker"),
        "connector": _only(_connectors(incident.subjects)),
        "rule": incident.rule,
        "severity": incident.alert.value,
        "path": path,
    }


def _connectors(subjects: Iterable[Subject]) -> Iterable[str]:
    for subject in subjects:
        if subject.type == "connector":
            yield subject.id
        elif subject.type == "task":
            # A task is named `connector-number`; connector names may hold dashes themselves.
            yield subject.id.rpartition("-")[0]


def _only(names: Iterable[str]) -> str:
    distinct = set(names)
    return distinct.pop() if len(distinct) == 1 else ""
