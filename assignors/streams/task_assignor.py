"""The plug-in point of KIP-924: a task assignor of one's own, in Python.

class Pinned(TaskAssignor):
    def assign(self, application_state):
        assignments = identity_assignment(application_state)
        default_standby_task_assignment(application_state, assignments)
        return TaskAssignment(tuple(assignments.values()))
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from .application_state import ApplicationState
from .assignment import AssignmentError, TaskAssignment
from .tasks import TaskId, TopicPartition


class TaskAssignmentException(Exception):
    """Raised by an assignor that finds no assignment. Every member then gets the error code 3, and its threads end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member sent with its join; `user_data` are the bytes that Streams wrote."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None
    user_data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAssignment:
    """What one member is told. `active` names the task of each of `partitions`; `standby` the source partitions of each
    standby task. `next_rebalance_ms` is the leader's clock, 0 at once, 2^63-1 never. A member with an `error` gets
    nothing else."""

    partitions: tuple[TopicPartition, ...] = ()
    active: tuple[TaskId, ...] = ()
    standby: Mapping[TaskId, tuple[TopicPartition, ...]] = field(default_factory=dict)
    version: int
    commonly_supported: int
    error: int = 0
    next_rebalance_ms: int = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class GroupSubscription:
    """The subscriptions of all members, by member id."""

    group_subscription: Mapping[str, MemberSubscription]


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """The assignments of all members, by member id; empty where an unknown task or process made it impossible."""

    group_assignment: Mapping[str, MemberAssignment]


class TaskAssignor(ABC):
    """One instance serves one rebalance: `configure`, then `assign`, then `on_assignment_computed`."""

    def configure(self, configs: Mapping[str, object]) -> None:  # noqa: B027 - optional
        """Read the application's configuration, by Kafka's names."""

    @abstractmethod
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """The tasks of every client. May raise TaskAssignmentException."""

    def on_assignment_computed(  # noqa: B027 - optional
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        """Learn what became of the assignment, valid or not."""
