"""What a task assignor hands out (KIP-924): tasks per client, follow-up deadlines, and what can be wrong with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from rebalance_monitor.assignors.java_table import JavaTable
from .failures import LeaderFailed, illegal_state
from .tasks import ProcessId, TaskId, task_hash, task_key

_FIRST_TABLE = 16


class TaskType(Enum):
    """The role of a task's copy."""

    ACTIVE = "ACTIVE"
    STANDBY = "STANDBY"


class AssignedTask(NamedTuple):
    id: TaskId
    type: TaskType


class AssignmentError(Enum):
    """Verdict on an assignment, by Kafka's names."""

    NONE = "NONE"
    ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES = "ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES"
    INVALID_STANDBY_TASK = "INVALID_STANDBY_TASK"
    MISSING_PROCESS_ID = "MISSING_PROCESS_ID"
    UNKNOWN_PROCESS_ID = "UNKNOWN_PROCESS_ID"
    UNKNOWN_TASK_ID = "UNKNOWN_TASK_ID"


class KafkaStreamsAssignment:
    """The tasks of one client, each in one role. `assign_task` and `remove_task` change it."""

    __slots__ = ("_largest", "_read_only", "_tasks", "followup_rebalance_deadline_ms", "process_id")

    def __init__(self, process_id: ProcessId) -> None:
        """A client without tasks; `of` makes one with tasks."""
        self.process_id = process_id
        self.followup_rebalance_deadline_ms: int | None = None
        self._tasks: dict[TaskId, AssignedTask] = {}
        self._largest = 0
        self._read_only = False

    @classmethod
    def of(cls, process_id: ProcessId, assignment: Iterable[AssignedTask]) -> "KafkaStreamsAssignment":
        """A client with these tasks. Raises LeaderFailed if a task stands there in both roles."""
        made = cls(process_id)
        for task in dict.fromkeys(assignment):
            if task.id in made._tasks:
                raise illegal_state(f"task {task.id} is given to {process_id} as active and as standby")
            made.assign_task(task)
        return made

    @classmethod
    def restored(
        cls, process_id: ProcessId, tasks: Iterable[AssignedTask], most: int, deadline_ms: int | None
    ) -> "KafkaStreamsAssignment":
        """What `insertions` of another object told of it."""
        made = cls(process_id)
        for task in tasks:
            made.assign_task(task)
        made._largest = max(made._largest, most)
        made.followup_rebalance_deadline_ms = deadline_ms
        return made

    def insertions(self) -> tuple[tuple[AssignedTask, ...], int]:
        """The tasks in the order in which they were given, and the most that there were at one time: both decide the
        order of Kafka's hash map."""
        return tuple(self._tasks.values()), self._largest

    def with_followup_rebalance(self, deadline_ms: int) -> "KafkaStreamsAssignment":
        """The same tasks with a time (milliseconds since 1970) at which the client asks for another rebalance; 0 means
        at once. The tasks of the new object can be read only, and follow changes of this one, as in Kafka."""
        made = KafkaStreamsAssignment(self.process_id)
        made.followup_rebalance_deadline_ms = deadline_ms
        made._tasks = self._tasks
        made._largest = self._largest
        made._read_only = True
        return made

    def assign_task(self, task: AssignedTask) -> None:
        """Give the client a task; a role that it had in the task is replaced."""
        self._check_writable()
        self._tasks[task.id] = task
        self._largest = max(self._largest, len(self._tasks))

    def remove_task(self, task: AssignedTask) -> None:
        self._check_writable()
        self._tasks.pop(task.id, None)

    @property
    def tasks(self) -> Mapping[TaskId, AssignedTask]:
        """The tasks, in the order of Kafka's hash map."""
        capacity = _FIRST_TABLE
        while 4 * self._largest > 3 * capacity:
            capacity *= 2
        order: JavaTable[TaskId] = JavaTable(task_hash, capacity, natural=task_key)
        for task in self._tasks:
            order.add(task)
        return MappingProxyType({task: self._tasks[task] for task in order.keys()})  # noqa: SIM118 - no mapping

    def of_type(self, role: TaskType) -> list[TaskId]:
        return [task.id for task in self._tasks.values() if task.type is role]

    def __contains__(self, task: TaskId) -> bool:
        return task in self._tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def _check_writable(self) -> None:
        if self._read_only:
            raise LeaderFailed(
                "UnsupportedOperationException", "an assignment with a follow-up rebalance cannot be changed"
            )


@dataclass(frozen=True, slots=True)
class TaskAssignment:
    """What `assign` returns. Of two entries for one client the later counts."""

    assignment: tuple[KafkaStreamsAssignment, ...]
