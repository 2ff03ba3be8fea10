"""One change to a leader's answer at a time, for `Story.rebalance(change)`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from tests.streaming.core.rules.processes import Given, jobs

Change = Callable[[Given], None]


def share(given: Given, worker: str) -> ConnectAssignment:
    found = given[worker]
    assert isinstance(found, ConnectAssignment)
    return found


def give(worker: str, *names: str) -> Change:
    """Hand these jobs to the worker, too."""
    more = jobs(names)

    def change(given: Given) -> None:
        now = share(given, worker)
        given[worker] = replace(now, connectors=now.connectors + more.connectors, tasks=now.tasks + more.tasks)

    return change


def drop(worker: str, *names: str) -> Change:
    """Don't hand these jobs to the worker."""
    less = jobs(names)

    def change(given: Given) -> None:
        now = share(given, worker)
        assert {*less.connectors, *less.tasks} <= {*now.connectors, *now.tasks}, (worker, names, now)
        given[worker] = replace(
            now,
            connectors=tuple(one for one in now.connectors if one not in less.connectors),
            tasks=tuple(one for one in now.tasks if one not in less.tasks),
        )

    return change


def revoke(worker: str, *names: str) -> Change:
    """Make the worker stop these jobs, too."""
    more = jobs(names)

    def change(given: Given) -> None:
        now = share(given, worker)
        given[worker] = replace(
            now,
            revoked_connectors=now.revoked_connectors + more.connectors,
            revoked_tasks=now.revoked_tasks + more.tasks,
        )

    return change


def spare(worker: str, *names: str) -> Change:
    """Let the worker keep these jobs although it should stop them."""
    less = jobs(names)

    def change(given: Given) -> None:
        now = share(given, worker)
        assert {*less.connectors, *less.tasks} <= {*now.revoked_connectors, *now.revoked_tasks}, (worker, names, now)
        given[worker] = replace(
            now,
            revoked_connectors=tuple(one for one in now.revoked_connectors if one not in less.connectors),
            revoked_tasks=tuple(one for one in now.revoked_tasks if one not in less.tasks),
        )

    return change


def header(worker: str, **fields: Any) -> Change:
    """Other header fields for one member."""

    def change(given: Given) -> None:
        given[worker] = replace(share(given, worker), **fields)

    return change


def everyone(**fields: Any) -> Change:
    """Other header fields for all members."""

    def change(given: Given) -> None:
        for worker in given:
            given[worker] = replace(share(given, worker), **fields)

    return change


def blob(worker: str, raw: bytes) -> Change:
    """These bytes instead of an assignment."""

    def change(given: Given) -> None:
        given[worker] = raw

    return change


def both(*changes: Change) -> Change:
    def change(given: Given) -> None:
        for edit in changes:
            edit(given)

    return change
