"""What a worker holds, and how it states it when it joins (connect.md 1.3, 1.5, 1.7)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lab.simulated_group.protocol import EAGER, NO_JOBS, VERSIONS, Job, Mode
from rebalance_monitor.assignors.connect.eras import parse_release
from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState, encode_worker_state


@dataclass(frozen=True, slots=True)
class Stated:
    """The settings of one worker that its blobs show."""

    url: str
    release: str
    java_version: int
    mode: Mode
    static: Jobs = NO_JOBS


def offers(stated: Stated, config_offset: int, held: ConnectAssignment | None) -> Sequence[tuple[str, bytes]]:
    """Protocol names with their blobs, as a JoinGroup request lists them."""
    inner = 1 if parse_release(stated.release) < (3, 3, 0) else None
    assigned = wire_entries_assigned(held.connectors, held.tasks, stated.java_version) if held else ()
    revoked = wire_entries_revoked(held.revoked_connectors, held.revoked_tasks) if held else ()
    return tuple(
        (
            name,
            encode_worker_state(
                WorkerState(
                    version=VERSIONS[name],
                    url=stated.url,
                    config_offset=config_offset,
                    allocation=held,
                    static_connectors=stated.static.connectors,
                    static_tasks=stated.static.tasks,
                ),
                assigned,
                revoked,
                allocation_version=inner if VERSIONS[name] == 2 else None,
            ),
        )
        for name in offered(stated)
    )


def offered(stated: Stated) -> Sequence[str]:
    """Protocol names in order of preference; 2.3 does not know `sessioned`."""
    if parse_release(stated.release) < (2, 4, 0):
        return tuple(name for name in stated.mode.offered if name != "sessioned")
    return stated.mode.offered


def folded(held: ConnectAssignment | None, given: ConnectAssignment, protocol: str) -> ConnectAssignment:
    """What the worker holds after this answer; its revocations stay in it until the worker starts its work."""
    if protocol == EAGER or held is None:
        return given
    connectors, tasks = set(given.revoked_connectors), set(given.revoked_tasks)
    return replace(
        given,
        connectors=(*given.connectors, *(name for name in held.connectors if name not in connectors)),
        tasks=(*given.tasks, *(task for task in held.tasks if task not in tasks)),
    )


def jobs_of(held: ConnectAssignment | None) -> tuple[Job, ...]:
    """Connector instances, then tasks, each once."""
    return tuple(dict.fromkeys((*held.connectors, *held.tasks))) if held is not None else ()


def revoked_of(given: ConnectAssignment) -> tuple[Job, ...]:
    """What its receiver has to stop."""
    return (*given.revoked_connectors, *given.revoked_tasks)
