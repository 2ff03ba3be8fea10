"""Family `streams-assign`: what one of Kafka Streams' task assignors hands out.

A case names the assignor and the leader's `release`; its input lists tasks, clients with their threads, the racks of
partitions and the leader's configuration, all in the order in which the leader put them into its hash maps.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from assignors.streams.application import (
    AssignmentConfigs,
    RackStrategy,
    StreamsApplication,
    StreamsClient,
    StreamsConsumer,
    StreamsResult,
    StreamsTask,
)
from assignors.streams.built_in import BuiltIn, recompute
from assignors.streams.eras import release_of
from assignors.streams.failures import LeaderFailed
from assignors.streams.tasks import TaskId, TopicPartition, task_of

ASSIGNORS: Mapping[str, BuiltIn] = {
    "ha": BuiltIn.HIGH_AVAILABILITY,
    "legacy_sticky": BuiltIn.LEGACY_STICKY,
    "fallback": BuiltIn.FALLBACK_PRIOR,
}


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case; `{"exception": NAME}` where Kafka's class throws."""
    given = case["input"]
    assignor = ASSIGNORS.get(given["assignor"])
    if assignor is None:
        return {"error": f"assignor not supported: {given['assignor']}"}
    try:
        application = application_of(given, case["release"])
        return _answer(recompute(application, assignor), application)
    except LeaderFailed as why:
        return {"exception": why.exception}


def application_of(given: dict[str, Any], release: str) -> StreamsApplication:
    """The application that a case describes."""
    return StreamsApplication(
        release=release_of(release),
        tasks=tuple(_task(task) for task in given["tasks"]),
        clients=tuple(_client(client) for client in given["clients"]),
        configs=configs_of(given["config"]),
        racks={_partition(text): tuple(racks) for text, racks in (given.get("racks") or {}).items()},
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
        sources=tuple(_partition(text) for text in given["partitions"]),
        changelogs=tuple(_partition(text) for text in given["changelogs"]),
        stateful=given["stateful"],
        end_offset_sum=given.get("endOffsetSum") or 0,
    )


def _client(given: dict[str, Any]) -> StreamsClient:
    return StreamsClient(
        process_id=UUID(given["processId"]),
        consumers=tuple(
            StreamsConsumer(
                id=consumer["id"],
                rack=consumer["rack"],
                owned=tuple(_partition(text) for text in consumer["owned"]),
                offset_sums={task_of(text): total for text, total in consumer["offsetSums"].items()},
            )
            for consumer in given["consumers"]
        ),
        tags=given["tags"],
    )


def _partition(text: str) -> TopicPartition:
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


def _texts(tasks: tuple[TaskId, ...]) -> list[str]:
    return [str(task) for task in tasks]
