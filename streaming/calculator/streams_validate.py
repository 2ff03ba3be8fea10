"""Family `streams-validate`: Kafka's helpers for task assignors (KIP-924), and its verdict on an assignment.

A case names the helper (`op`); its input is that of `streams-assign` with an assignment.
"""

from typing import Any
from uuid import UUID

from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.eras import release_of
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.rack_optimization import (
    RackAwareOptimizationParams,
    optimize_rack_aware_active_tasks,
    optimize_rack_aware_standby_tasks,
)
from rebalance_monitor.assignors.streams.task_assignment_utils import (
    Assignments,
    default_standby_task_assignment,
    identity_assignment,
    validate_task_assignment,
)
from rebalance_monitor.assignors.streams.tasks import HashOrders, task_of
from .streams_assign import application_of, assignments_json, plug_in_state


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case; `{"exception": NAME}` where Kafka's class throws."""
    try:
        return _solve(case["input"], case["release"])
    except LeaderFailed as why:
        return {"exception": why.exception}


def _solve(given: dict[str, Any], release: str) -> dict[str, Any]:
    state = plug_in_state(application_of(given, release), HashOrders(release_of(release)))
    if given["op"] == "identity":
        assignments = identity_assignment(state)
        verdict = validate_task_assignment(state, TaskAssignment(tuple(assignments.values())))
        return {"clients": assignments_json(assignments), "validation": verdict.value}
    listed = [_assignment(one) for one in given["assignment"]]
    if given["op"] == "validate":
        return {"validation": validate_task_assignment(state, TaskAssignment(tuple(listed))).value}
    by_process: Assignments = {one.process_id: one for one in listed}
    match given["op"]:
        case "default_standby":
            default_standby_task_assignment(state, by_process)
        case "optimize_active":
            optimize_rack_aware_active_tasks(_params(given, RackAwareOptimizationParams.of(state)), by_process)
        case "optimize_standby":
            optimize_rack_aware_standby_tasks(_params(given, RackAwareOptimizationParams.of(state)), by_process)
        case op:
            return {"error": f"unknown op {op}"}
    return {"clients": assignments_json(by_process)}


def _assignment(given: dict[str, Any]) -> KafkaStreamsAssignment:
    made = KafkaStreamsAssignment.of(
        UUID(given["processId"]), [AssignedTask(task_of(text), TaskType(role)) for text, role in given["tasks"]]
    )
    deadline = given.get("followupDeadlineMs")
    return made if deadline is None else made.with_followup_rebalance(deadline)


def _params(given: dict[str, Any], params: RackAwareOptimizationParams) -> RackAwareOptimizationParams:
    wanted = given["params"]
    if wanted["scope"] == "stateful":
        params = params.for_stateful_tasks()
    elif wanted["scope"] == "stateless":
        params = params.for_stateless_tasks()
    if wanted["trafficCost"] is not None:
        params = params.with_traffic_cost_override(wanted["trafficCost"])
    if wanted["nonOverlapCost"] is not None:
        params = params.with_non_overlap_cost_override(wanted["nonOverlapCost"])
    return params
