"""A placement on top of a plug-in's assignments: what is placed shows in the assignments at once."""

from collections.abc import Iterable, Mapping

from .application_state import ApplicationState
from .assignment import AssignedTask, KafkaStreamsAssignment, TaskType
from .tasks import ProcessId, TaskId, process_key, sorted_tasks


class AssignedPlacement:
    """Clients and tasks as numbers in Java's order, processes and tasks that the application does not know included.

    A client that gets a task in one role loses it in the other.
    """

    __slots__ = ("_assignments", "_number", "_threads", "active", "ids", "load", "rank", "standby", "tasks")

    def __init__(
        self, application_state: ApplicationState, assignments: Mapping[ProcessId, KafkaStreamsAssignment]
    ) -> None:
        """Every client of the application must have an assignment."""
        states = application_state.kafka_streams_states(False)
        self.ids: list[ProcessId] = sorted({*states, *assignments}, key=process_key)
        self._number = {process_id: number for number, process_id in enumerate(self.ids)}
        self._assignments = [assignments[process_id] for process_id in self.ids]
        self._threads = [states[one].num_processing_threads if one in states else 1 for one in self.ids]
        known = dict.fromkeys(application_state.all_tasks)
        for assignment in self._assignments:
            known.update(dict.fromkeys(assignment.tasks))
        self.tasks: list[TaskId] = sorted_tasks(known)
        self.rank = {task: number for number, task in enumerate(self.tasks)}
        self.active, self.standby = (
            [{self.rank[task] for task in assignment.of_type(role)} for assignment in self._assignments]
            for role in TaskType
        )
        self.load = [0.0] * len(self.ids)
        for client in range(len(self.ids)):
            self._reload(client)

    def numbers(self, process_ids: Iterable[ProcessId]) -> list[int]:
        return [self._number[process_id] for process_id in process_ids]

    def ranks(self, tasks: Iterable[TaskId]) -> list[int]:
        """The numbers of these tasks, ascending; a task that nobody has and the application does not know is left
        out."""
        return sorted(self.rank[task] for task in tasks if task in self.rank)

    def holds(self, client: int, task: int) -> bool:
        """Whether the client has the task in either role."""
        return task in self.active[client] or task in self.standby[client]

    def give_active(self, client: int, task: int) -> None:
        self._give(client, task, TaskType.ACTIVE)

    def give_standby(self, client: int, task: int) -> None:
        self._give(client, task, TaskType.STANDBY)

    def take(self, client: int, task: int) -> None:
        self.active[client].discard(task)
        self.standby[client].discard(task)
        self._assignments[client].remove_task(AssignedTask(self.tasks[task], TaskType.ACTIVE))
        self._reload(client)

    def _give(self, client: int, task: int, role: TaskType) -> None:
        wanted, other = (self.active, self.standby) if role is TaskType.ACTIVE else (self.standby, self.active)
        other[client].discard(task)
        wanted[client].add(task)
        self._assignments[client].assign_task(AssignedTask(self.tasks[task], role))
        self._reload(client)

    def _reload(self, client: int) -> None:
        self.load[client] = len(self._assignments[client]) / self._threads[client]
