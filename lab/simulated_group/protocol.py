"""What a simulated Connect worker says when it joins, and what it keeps of the answers: connect.md's worker side.

A worker offers its own level of the protocol and every lower one, each with a blob of that version:

    eager        default (V0)
    compatible   compatible (V1), default (V0)
    sessioned    sessioned (V2), compatible (V1), default (V0)
    static       static (V3), sessioned (V2), compatible (V1), default (V0)      KIP-987, in no Kafka release

The broker then chooses the lowest level in the group. The allocation a worker reports is its memory of what it holds:
new jobs first, then the retained ones, in the order received; only the bytes group them by connector. An eager answer
replaces it; under a cooperative one the revoked jobs leave it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, TaskId, WorkerState, encode_worker_state

EAGER = "default"
VERSIONS: Mapping[str, int] = {"static": 3, "sessioned": 2, "compatible": 1, EAGER: 0}
"""Version of the blobs per protocol name, the highest level first."""

Job = str | TaskId
J = TypeVar("J", str, TaskId)
NO_JOBS = Jobs()


class Mode(Enum):
    """`connect.protocol` of a worker; the value is the first protocol name it offers."""

    EAGER = EAGER
    COMPATIBLE = "compatible"
    SESSIONED = "sessioned"
    STATIC = "static"

    @property
    def offered(self) -> tuple[str, ...]:
        """Protocol names in order of preference."""
        names = tuple(VERSIONS)
        return names[names.index(self.value) :]


@dataclass(frozen=True, slots=True)
class Process:
    """How one worker process was started: `connect.protocol`, `static.connectors` and `static.tasks`.

    `url` is what it advertises and `worker_id` what it signs statuses with; by default both are its own address.
    """

    mode: Mode = Mode.SESSIONED
    static: Jobs = NO_JOBS
    url: str | None = None
    worker_id: str | None = None


def offers(
    process: Process, url: str, config_offset: int, allocation: ConnectAssignment | None, java_version: int
) -> list[tuple[str, bytes]]:
    """Protocol names with their blobs, as a JoinGroup request lists them."""
    held = wire_entries_assigned(allocation.connectors, allocation.tasks, java_version) if allocation else ()
    return [
        (
            name,
            encode_worker_state(
                WorkerState(
                    version=VERSIONS[name],
                    url=url,
                    config_offset=config_offset,
                    allocation=allocation,
                    static_connectors=process.static.connectors,
                    static_tasks=process.static.tasks,
                ),
                held,
            ),
        )
        for name in process.mode.offered
    ]


def kept(held: ConnectAssignment | None, given: ConnectAssignment, protocol: str) -> ConnectAssignment:
    """The worker's memory after an answer. Its revocations are gone from it: they are over before it joins again."""
    done = replace(given, revoked_connectors=(), revoked_tasks=())
    if protocol == EAGER or held is None:
        return done
    connectors, tasks = set(given.revoked_connectors), set(given.revoked_tasks)
    return replace(
        done,
        # A member that joins again unchanged gets the same answer once more; its jobs count once.
        connectors=_distinct(*given.connectors, *(name for name in held.connectors if name not in connectors)),
        tasks=_distinct(*given.tasks, *(task for task in held.tasks if task not in tasks)),
    )


def jobs_of(allocation: ConnectAssignment | None) -> tuple[Job, ...]:
    """Connector instances, then tasks."""
    return (*allocation.connectors, *allocation.tasks) if allocation else ()


def revoked_of(given: ConnectAssignment) -> tuple[Job, ...]:
    """What the answer tells its receiver to stop."""
    return (*given.revoked_connectors, *given.revoked_tasks)


def _distinct(*jobs: J) -> tuple[J, ...]:
    return tuple(dict.fromkeys(jobs))
