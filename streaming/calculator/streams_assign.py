"""Family `streams-assign`: what one of Kafka Streams' task assignors hands out.

A case names the assignor and the leader's `release`; its input lists tasks, clients with their threads, the racks of
partitions and the leader's configuration, all in the order in which the leader put them into its hash maps. It may name
the application (`applicationId`), which then may have an assignor of its own.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from rebalance_monitor.assignors.streams.application import (
    AssignmentConfigs,
    RackStrategy,
    StreamsApplication,
    StreamsClient,
    StreamsConsumer,
    StreamsResult,
    StreamsTask,
)
from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import KafkaStreamsAssignment, TaskType
from rebalance_monitor.assignors.streams.built_in import BuiltIn, recompute
from rebalance_monitor.assignors.streams.eras import release_of
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.plug_in import state_of_application
from rebalance_monitor.assignors.streams.public_sticky import StickyTaskAssignor
from rebalance_monitor.assignors.streams.task_assignment_utils import validate_task_assignment
from rebalance_monitor.assignors.streams.task_assignor import TaskAssignmentException
from rebalance_monitor.assignors.streams.tasks import (
    HashOrders,
    ProcessId,
    TaskId,
    TopicPartition,
    sorted_tasks,
    task_of,
)
from rebalance_monitor.streaming.core.streams.plug_ins import PlugInRun
from .own_assignors import OwnAssignors, none

ASSIGNORS: Mapping[str, BuiltIn] = {
    "ha": BuiltIn.HIGH_AVAILABILITY,
    "legacy_sticky": BuiltIn.LEGACY_STICKY,
    "fallback": BuiltIn.FALLBACK_PRIOR,
}
PUBLIC_STICKY = "sticky_924"


def solve(case: dict[str, Any], own: OwnAssignors | None = None) -> dict[str, Any]:
    """The `expected` object of one case; `{"exception": NAME}` where Kafka's class throws, and `{"error": SENTENCE}`
    where the application's own assignor fails."""
    given, own = case["input"], own or none()
    plugged = own.of(given)
    try:
        application = application_of(given, case["release"])
        if plugged is not None:
            return _by_plug_in(application, plugged, own)
        assignor = ASSIGNORS.get(given["assignor"])
        if given["assignor"] == PUBLIC_STICKY:
            return _public_sticky(application, must_preserve=bool(given.get("mustPreserve")))
        if assignor is None:
            return {"error": f"assignor not supported: {given['assignor']}"}
        return _answer(recompute(application, assignor), application)
    except LeaderFailed as why:
        return {"exception": why.exception}


def application_of(given: dict[str, Any], release: str) -> StreamsApplication:
    return StreamsApplication(
        release=release_of(release),
        tasks=tuple(_task(task) for task in given["tasks"]),
        clients=tuple(_client(client) for client in given["clients"]),
        configs=configs_of(given["config"]),
        racks={partition_of(text): tuple(racks) for text, racks in (given.get("racks") or {}).items()},
    )


def configs_of(given: Mapping[str, Any]) -> AssignmentConfigs:
    """The leader's configuration from Kafka's names; what is missing has Kafka's default."""
    default = AssignmentConfigs()
    return AssignmentConfigs(
        acceptable_recovery_lag=given.get("acceptable.recovery.lag", default.acceptable_recovery_lag),
        max_warmup_replicas=given.get("max.warmup.replicas", default.max_warmup_replicas),
        num_standby_replicas=given.get("num.standby.replicas", default.num_standby_replicas),
        probing_rebalance_interval_ms=given.get("probing.rebalance.interval.ms", default.probing_rebalance_interval_ms),
        rack_aware_assignment_tags=tuple(given.get("rack.aware.assignment.tags") or ()),
        rack_aware_traffic_cost=given.get("rack.aware.assignment.traffic_cost"),
        rack_aware_non_overlap_cost=given.get("rack.aware.assignment.non_overlap_cost"),
        rack_aware_assignment_strategy=RackStrategy(given.get("rack.aware.assignment.strategy") or "none"),
    )


def _task(given: dict[str, Any]) -> StreamsTask:
    return StreamsTask(
        id=task_of(given["id"]),
        sources=tuple(partition_of(text) for text in given["partitions"]),
        changelogs=tuple(partition_of(text) for text in given["changelogs"]),
        stateful=given["stateful"],
        end_offset_sum=given.get("endOffsetSum") or 0,
        has_stores=given.get("hasStores"),
    )


def _client(given: dict[str, Any]) -> StreamsClient:
    return StreamsClient(
        process_id=UUID(given["processId"]),
        consumers=tuple(
            StreamsConsumer(
                id=consumer["id"],
                rack=consumer["rack"],
                owned=tuple(partition_of(text) for text in consumer["owned"]),
                offset_sums={task_of(text): total for text, total in consumer["offsetSums"].items()},
            )
            for consumer in given["consumers"]
        ),
        tags=given["tags"],
    )


def partition_of(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return topic, int(number)


def _answer(result: StreamsResult, application: StreamsApplication) -> dict[str, Any]:
    clients = {}
    for process_id, share in result.shares.items():
        client: dict[str, Any] = {"active": _texts(share.active), "standby": _texts(share.standby)}
        if application.era.high_availability:
            client["threads"] = {
                consumer: {"active": _texts(thread.active), "standby": _texts(thread.standby)}
                for consumer, thread in share.threads.items()
            }
        clients[str(process_id)] = client
    answer: dict[str, Any] = {
        "followup": result.followup if application.era.high_availability else None,
        "clients": clients,
    }
    if result.order_unsure:
        answer["order_unsure"] = True
    return answer


def _public_sticky(application: StreamsApplication, *, must_preserve: bool) -> dict[str, Any]:
    """The answer and Kafka's verdict on it. Where Kafka places standbys, by memory address, only actives are told."""
    hash_orders = HashOrders(application.release, application.java_version)
    state = plug_in_state(application, hash_orders)
    assignor = StickyTaskAssignor(must_preserve=must_preserve, java_version=application.java_version)
    assignment = assignor.assign(state)
    clients = assignments_json({one.process_id: one for one in assignment.assignment})
    answer: dict[str, Any] = {"clients": clients, "validation": validate_task_assignment(state, assignment).value}
    if application.configs.num_standby_replicas > 0:
        answer["standbys_unsure"] = True
        for client in clients.values():
            client.pop("followupDeadlineMs", None)
            del client["standby"]
    if hash_orders.unsure or assignor.order_unsure:
        answer["order_unsure"] = True
    return answer


def _by_plug_in(application: StreamsApplication, plugged: PlugInRun, own: OwnAssignors) -> dict[str, Any]:
    """What the plug-in gives each client; Kafka accepts it, or it is a failure."""
    state = plug_in_state(application, HashOrders(application.release, application.java_version))
    answer: dict[str, Any] = {}
    try:
        assignment = plugged.assign(state)
        answer = {"clients": assignments_json({one.process_id: one for one in assignment.assignment})}
    except TaskAssignmentException:
        return {"exception": TaskAssignmentException.__name__}
    except LeaderFailed:
        assert plugged.failure is not None  # nothing else makes it fail
    failure = own.failure_of(plugged)
    return answer if failure is None else {"error": failure}


def plug_in_state(application: StreamsApplication, hash_orders: HashOrders) -> ApplicationState:
    """What a plug-in is shown of a case. These cases tell it of a broker without rack as of a rack where nobody is."""
    racks = {
        partition: tuple("" if rack is None else rack for rack in of_replicas)
        for partition, of_replicas in application.racks.items()
    }
    return state_of_application(replace(application, racks=racks), hash_orders)


def assignments_json(assignments: Mapping[ProcessId, KafkaStreamsAssignment]) -> dict[str, dict[str, Any]]:
    """Each client's sorted tasks, and the time of its follow-up rebalance if it has one."""
    clients: dict[str, dict[str, Any]] = {}
    for process_id, assignment in assignments.items():
        client: dict[str, Any] = {
            "active": [str(task) for task in sorted_tasks(assignment.of_type(TaskType.ACTIVE))],
            "standby": [str(task) for task in sorted_tasks(assignment.of_type(TaskType.STANDBY))],
        }
        if assignment.followup_rebalance_deadline_ms is not None:
            client["followupDeadlineMs"] = assignment.followup_rebalance_deadline_ms
        clients[str(process_id)] = client
    return clients


def _texts(tasks: tuple[TaskId, ...]) -> list[str]:
    return [str(task) for task in tasks]
