"""Kafka's helpers for task assignors (KIP-924): the verdict on an assignment, the identity, default standbys.

The functions that take assignments change them in place and add clients that are missing.
"""

from collections.abc import Mapping, MutableMapping
from typing import TypeAlias

from .application_state import ApplicationState, KafkaStreamsState
from .assigned_placement import AssignedPlacement
from .assignment import AssignedTask, AssignmentError, KafkaStreamsAssignment, TaskAssignment, TaskType
from .standbys import place_by_load
from .tags import TagAware
from .tasks import HashOrders, ProcessId, Release, TaskId

_RELEASE: Release = (3, 8)
Assignments: TypeAlias = MutableMapping[ProcessId, KafkaStreamsAssignment]


def validate_task_assignment(application_state: ApplicationState, task_assignment: TaskAssignment) -> AssignmentError:
    """The first thing that is wrong, in Kafka's order of looking.

    Nobody minds a task without host, a standby beside the active on another client, or more standbys than configured.
    """
    active: set[TaskId] = set()
    standby: set[TaskId] = set()
    for assignment in task_assignment.assignment:
        for task in assignment.tasks.values():
            if task.id not in application_state.all_tasks:
                return AssignmentError.UNKNOWN_TASK_ID
            if task.type is TaskType.STANDBY:
                standby.add(task.id)
            elif task.id in active:
                return AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES
            else:
                active.add(task.id)
    if any(not info.is_stateful and info.id in standby for info in application_state.all_tasks.values()):
        return AssignmentError.INVALID_STANDBY_TASK
    known = application_state.kafka_streams_states(False).keys()
    given = {assignment.process_id for assignment in task_assignment.assignment}
    if known - given:
        return AssignmentError.MISSING_PROCESS_ID
    return AssignmentError.UNKNOWN_PROCESS_ID if given - known else AssignmentError.NONE


def identity_assignment(application_state: ApplicationState) -> dict[ProcessId, KafkaStreamsAssignment]:
    """Every client keeps what it had. May be invalid: a directory of a task that is gone, two previous hosts."""
    states = application_state.kafka_streams_states(False)
    return {
        process_id: KafkaStreamsAssignment.of(
            process_id,
            [AssignedTask(task, TaskType.ACTIVE) for task in states[process_id].previous_active_tasks]
            + [AssignedTask(task, TaskType.STANDBY) for task in states[process_id].previous_standby_tasks],
        )
        for process_id in HashOrders(_RELEASE).processes(states)
    }


def default_standby_task_assignment(application_state: ApplicationState, assignments: Assignments) -> None:
    """Give every task with a changelog its standbys: by tags if tags are configured, else by load."""
    configs = application_state.assignment_configs
    states = add_missing_clients(application_state, assignments)
    placement = AssignedPlacement(application_state, assignments)
    orders = HashOrders(_RELEASE)
    tasks = [
        placement.rank[task]
        for task in orders.tasks(info.id for info in application_state.all_tasks.values() if info.has_changelog)
    ]
    copies = configs.num_standby_replicas
    if not configs.rack_aware_assignment_tags:
        place_by_load(placement, [(task, copies) for task in tasks], placement.numbers(states))
        return
    hosts = placement.numbers(orders.processes(assignments))
    tags = [states[process_id].client_tags if process_id in states else None for process_id in placement.ids]
    TagAware(placement, tags, configs.rack_aware_assignment_tags).place(tasks, copies, orders, hosts)


def add_missing_clients(
    application_state: ApplicationState, assignments: Assignments
) -> Mapping[ProcessId, KafkaStreamsState]:
    """Give every client of the application that has none an empty assignment; the states of all its clients."""
    states = application_state.kafka_streams_states(False)
    for process_id in states:
        if process_id not in assignments:
            assignments[process_id] = KafkaStreamsAssignment(process_id)
    return states
