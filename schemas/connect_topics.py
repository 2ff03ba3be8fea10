"""Records of Connect's config and status topics, reduced to what may be kept: names, counts and states."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ConnectorConfigured:
    """`connector-<name>`: the connector exists. Its configuration is never kept."""

    name: str
    tasks_max: int | None = None


@dataclass(frozen=True, slots=True)
class ConnectorDeleted:
    """Tombstone of `connector-<name>`."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskStaged:
    """`task-<name>-<number>`: staged until the commit."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class TasksCommitted:
    """`commit-<name>`: `count` is None where the value is a mapping without a usable integer (no effect)."""

    name: str
    count: int | None


@dataclass(frozen=True, slots=True)
class TargetState:
    """`target-state-<name>`: STARTED, PAUSED, STOPPED; None when removed."""

    name: str
    state: str | None


@dataclass(frozen=True, slots=True)
class OtherConfig:
    """A record without effect on the job set (session key, restart, fencing, logger, unknown key, ignored value).

    `advances` is False where Kafka's reader does not even count the record for its offset (a value it cannot parse).
    """

    what: str
    advances: bool = True


ConfigRecord: TypeAlias = (
    ConnectorConfigured | ConnectorDeleted | TaskStaged | TasksCommitted | TargetState | OtherConfig
)


@dataclass(frozen=True, slots=True)
class StatusRecord:
    """`status-connector-…` (`task` None) or `status-task-…-n`. `state` None is the tombstone. The trace is never kept."""

    connector: str
    task: int | None
    state: str | None
    worker_id: str | None = None
    generation: int | None = None
