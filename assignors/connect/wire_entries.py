"""In which order Connect's leader writes connectors and tasks into an assignment's bytes."""

from collections.abc import Iterable, Sequence

from rebalance_monitor.assignors.java_order import TaskId
from rebalance_monitor.assignors.java_table import set_copy_order

Entries = tuple[tuple[str, tuple[int, ...]], ...]

CONNECTOR_ITSELF = -1
"""Stands for the connector instance in a list of task numbers."""


def wire_entries_assigned(connectors: Sequence[str], tasks: Iterable[TaskId], java_version: int) -> Entries:
    """Entries of an `assignment` array: the connector instances in hash order, then the tasks as listed."""
    return _entries(set_copy_order(connectors, java_version), tasks)


def wire_entries_revoked(connectors: Iterable[str], tasks: Iterable[TaskId]) -> Entries:
    """Entries of a `revoked` array: everything in list order."""
    return _entries(connectors, tasks)


def _entries(connectors: Iterable[str], tasks: Iterable[TaskId]) -> Entries:
    numbers: dict[str, list[int]] = {name: [CONNECTOR_ITSELF] for name in connectors}
    for name, number in tasks:
        numbers.setdefault(name, []).append(number)
    return tuple((name, tuple(of_name)) for name, of_name in numbers.items())
