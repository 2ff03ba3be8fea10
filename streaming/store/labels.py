"""The labels of an incident, the same for the published gauge and for a pushed alert, firing and resolved."""

from collections.abc import Callable, Iterable

from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.model.subjects import connector_of


def as_it_is(worker: str) -> str:
    """A worker's own name."""
    return worker


def incident_labels(incident: Incident, path: str, worker: Callable[[str], str] = as_it_is) -> dict[str, str]:
    """Labels by name; `severity` is how loudly people are told.

    `worker` and `connector` are empty unless all parts of the incident share exactly one; `worker` says how one is
    called.
    """
    about = incident.common if incident.parts > 1 or incident.more else incident.subjects
    return {
        "cluster": incident.cluster,
        "group": incident.group,
        "team": incident.team,
        "worker": _only(worker(one.id) for one in incident.cause or about if one.type == "worker"),
        "connector": _only(name for one in about if (name := connector_of(one)) is not None),
        "rule": incident.rule,
        "severity": incident.alert.value,
        "path": path,
    }


def _only(names: Iterable[str]) -> str:
    distinct = set(names)
    return distinct.pop() if len(distinct) == 1 else ""
