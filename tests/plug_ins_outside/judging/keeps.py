"""Every process keeps what it had."""

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import TaskAssignment
from rebalance_monitor.assignors.streams.task_assignment_utils import identity_assignment
from rebalance_monitor.assignors.streams.task_assignor import TaskAssignor


class Identity(TaskAssignor):
    """Kafka's identity, as it is."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(tuple(identity_assignment(application_state).values()))
