"""An assignor that is wrong in each way that Kafka's validation knows, and notes what it is told of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    AssignmentError,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.task_assignor import (
    GroupAssignment,
    GroupSubscription,
    TaskAssignmentException,
    TaskAssignor,
)
from rebalance_monitor.assignors.streams.tasks import TaskId, sorted_tasks

NOWHERE = TaskId(99, 0)
NOBODY = UUID(int=99)


class Wrong(TaskAssignor):
    """Gives all tasks to the first process. `error` is what is wrong then: a name of AssignmentError, or EXCEPTION.
    `told` is a file that gets a line for each callback."""

    def configure(self, configs: Mapping[str, object]) -> None:
        self._error, self._told = str(configs.get("error", "NONE")), configs.get("told")

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        processes = sorted(application_state.kafka_streams_states(False))
        tasks = sorted_tasks(application_state.all_tasks)
        made = {process: KafkaStreamsAssignment(process) for process in processes}
        for task in tasks:
            made[processes[0]].assign_task(AssignedTask(task, TaskType.ACTIVE))
        match self._error:
            case "UNKNOWN_TASK_ID":
                made[processes[0]].assign_task(AssignedTask(NOWHERE, TaskType.ACTIVE))
            case "ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES":
                made[processes[-1]].assign_task(AssignedTask(tasks[0], TaskType.ACTIVE))
            case "INVALID_STANDBY_TASK":
                stateless = [task for task in tasks if not application_state.all_tasks[task].is_stateful]
                made[processes[-1]].assign_task(AssignedTask(stateless[0], TaskType.STANDBY))
            case "MISSING_PROCESS_ID":
                del made[processes[-1]]
            case "UNKNOWN_PROCESS_ID":
                made[NOBODY] = KafkaStreamsAssignment(NOBODY)
            case "EXCEPTION":
                raise TaskAssignmentException("there is no good one")
            case _:
                pass
        return TaskAssignment(tuple(made.values()))

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        if self._told is not None:
            line = {
                "error": error.value,
                "assigned": {
                    member: sorted(map(str, one.active)) for member, one in assignment.group_assignment.items()
                },
                "members": sorted(subscription.group_subscription),
                "bytes": sum(len(one.user_data) for one in subscription.group_subscription.values()),
            }
            with Path(str(self._told)).open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(line, sort_keys=True) + "\n")
