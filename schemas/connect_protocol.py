"""The blobs a Connect worker and its leader exchange: worker state and assignment."""

from dataclasses import dataclass

TaskId = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectAssignment:
    """One worker's share. Lists keep wire order and repeats. V1 and later carry the increment, V0 everything."""

    version: int
    error: int = 0
    leader: str
    leader_url: str
    config_offset: int
    connectors: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[TaskId, ...] = ()
    delay_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """What a worker sends when it joins. `allocation` is None if it holds no assignment object at all."""

    version: int
    url: str
    config_offset: int
    allocation: ConnectAssignment | None = None
    static_connectors: tuple[str, ...] = ()
    static_tasks: tuple[TaskId, ...] = ()
