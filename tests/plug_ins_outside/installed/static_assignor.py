"""Every process has the tasks that the configuration gives it."""

import json
from collections.abc import Mapping
from uuid import UUID

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.task_assignor import TaskAssignor
from rebalance_monitor.assignors.streams.tasks import task_of


class Static(TaskAssignor):
    """`placement`: JSON such as {"PROCESS": {"ACTIVE": ["0_0"], "STANDBY": ["1_0"]}}."""

    def configure(self, configs: Mapping[str, object]) -> None:
        self._placement = json.loads(str(configs["placement"]))

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(
            tuple(
                KafkaStreamsAssignment.of(
                    UUID(process),
                    [AssignedTask(task_of(task), TaskType[role]) for role in roles for task in roles[role]],
                )
                for process, roles in self._placement.items()
            )
        )
