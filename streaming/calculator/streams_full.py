"""Family `streams-full`: rounds of a Kafka Streams leader, from the members' bytes to the bytes of their assignments.

A case gives the application's id, the topology as Kafka prints it, the leader's configuration and its rounds; each
round lists the topics and offsets the leader found and the members' subscriptions.
"""

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.eras import release_of
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.leader import LeaderAnswer, LeaderRound, MakeAssignor, lead
from rebalance_monitor.assignors.streams.members import GroupMember, host_info_of
from rebalance_monitor.assignors.streams.public_sticky import StickyTaskAssignor
from rebalance_monitor.assignors.streams.subtopologies import Subtopology
from rebalance_monitor.assignors.streams.tasks import Release, TaskId, TopicPartition, sorted_partitions
from rebalance_monitor.assignors.streams.topics import ClusterView
from rebalance_monitor.assignors.streams.topology_text import DescribedSubtopology, parse_topology, subtopologies
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.schemas.streams_assignment import decode_assignment_info
from rebalance_monitor.schemas.streams_subscription import decode_subscription_info
from .own_assignors import OwnAssignors, none
from .streams_assign import configs_of, partition_of
from .streams_bytes import assignment_bytes, assignment_json

_OPTIMIZED = frozenset({"all", "reuse.ktable.source.topics"})


def solve(case: dict[str, Any], own: OwnAssignors | None = None) -> dict[str, Any]:
    """The `expected` object of one case; `{"exception": NAME}` for a round in which Kafka's class throws, and
    `{"error": SENTENCE}` for one in which the application's own assignor fails."""
    given, release = case["input"], release_of(case["release"])
    parts = _subtopologies(given)
    return {"rounds": [_round(given, one, parts, release, own or none()) for one in given["rounds"]]}


def _round(
    given: dict[str, Any], this: dict[str, Any], parts: tuple[Subtopology, ...], release: Release, own: OwnAssignors
) -> dict[str, Any]:
    plugged = own.of(given)
    try:
        members = tuple(_member(member, release) for member in this["members"])
        answer = lead(
            LeaderRound(
                release=release,
                now_ms=this["now"],
                leader_process_id=UUID(this["leaderProcessId"]),
                future_process_id=UUID(given["futureProcessId"]),
                members=members,
                subtopologies=parts,
                cluster=_cluster(given, this),
                configs=configs_of(given["config"]),
                assignor=_assignor(given["config"]) if plugged is None else plugged.rehearsal,
            )
        )
    except LeaderFailed as why:
        failure = own.failure_of(plugged)
        return {"exception": why.exception} if failure is None else {"error": failure}
    return _answer(answer, release)


def _member(given: dict[str, Any], release: Release) -> GroupMember:
    outcome = decode_subscription_info(b64decode(given["userData"]), release=_two(release))
    if not isinstance(outcome, Decoded):
        raise LeaderFailed("TaskAssignmentException", f"the subscription of {given['id']} is unreadable")
    info = outcome.value
    return GroupMember(
        id=given["id"],
        version=info.version,
        latest_supported=info.latest_supported,
        process_id=UUID(bytes=info.process_id),
        owned=tuple(partition_of(text) for text in given["owned"]),
        offset_sums={TaskId(*task): total for task, total in info.sums().items()},
        host_info=host_info_of(info.end_point),
        tags=dict(info.client_tags),
        rack=given["rack"] or None,
        error=info.error,
    )


def _cluster(given: dict[str, Any], this: dict[str, Any]) -> ClusterView:
    return ClusterView(
        topics={topic: [tuple(racks) for racks in partitions] for topic, partitions in this["topics"].items()},
        end_offsets={partition_of(text): offset for text, offset in this["endOffsets"].items()},
        committed={partition_of(text): offset for text, offset in this["committed"].items()},
        offsets_fail=bool(this.get("offsetsFail")),
        new_topic_racks=tuple(given.get("defaultReplicaRacks") or (None,)),
    )


def _assignor(config: Mapping[str, Any]) -> BuiltIn | MakeAssignor:
    if config.get("task.assignor.class"):
        return StickyTaskAssignor
    name = config.get("internal.task.assignor.class") or ""
    if name.endswith("StickyTaskAssignor"):
        return BuiltIn.LEGACY_STICKY
    return BuiltIn.FALLBACK_PRIOR if name.endswith("FallbackPriorTaskAssignor") else BuiltIn.HIGH_AVAILABILITY


def _subtopologies(given: dict[str, Any]) -> tuple[Subtopology, ...]:
    """The text does not tell which stores are logged: the topics of later rounds do."""
    optimized = (given.get("topologyConfig") or {}).get("topology.optimization") in _OPTIMIZED
    logs = _Logs(given["rounds"])

    def changelog_of(topic: str, store: str, part: DescribedSubtopology) -> str | None:
        fed = part.fed.get(store, [])
        if logs.exist(topic) and not (optimized and len(fed) == 1 and not logs.seen(topic)):
            return topic
        return fed[0] if len(fed) == 1 and (optimized or logs.committed(fed[0])) else None

    topics = {topic for one in given["rounds"] for topic in one["topics"]}
    return tuple(subtopologies(parse_topology(given["topology"]), given["applicationId"], topics, changelog_of))


class _Logs:
    """Which changelogs exist, as far as the rounds show it."""

    def __init__(self, rounds: list[dict[str, Any]]) -> None:
        self._seen = {topic for one in rounds for topic in one["topics"]}
        self._committed = {text.rpartition("-")[0] for one in rounds for text in one["committed"]}
        # What a round without error code left behind is all there is.
        self._complete = any(one["members"] and any(member["owned"] for member in one["members"]) for one in rounds)

    def seen(self, topic: str) -> bool:
        """Whether the topic is there in some round."""
        return topic in self._seen

    def exist(self, topic: str) -> bool:
        """Whether the store is logged under this name; a case that ends before it could show is taken to be."""
        return topic in self._seen or not self._complete

    def committed(self, topic: str) -> bool:
        """Whether the group's committed offsets of the topic are told, which matter only for a changelog."""
        return topic in self._committed


def _two(release: Release) -> tuple[int, int]:
    """The release as the payloads' decoders count it."""
    return release[0], release[1]


def _info(raw: bytes, release: Release) -> dict[str, Any]:
    """What the release's classes read in the bytes, host maps left out."""
    outcome = decode_assignment_info(raw, release=_two(release))
    assert isinstance(outcome, Decoded), "our own bytes are readable"
    hosts = ("partitionsByHost", "standbyPartitionsByHost")
    return {name: value for name, value in assignment_json(_two(release), outcome.value).items() if name not in hosts}


def _hosts(by_host: Mapping[tuple[str, int], Collection[TopicPartition]]) -> dict[str, list[str]]:
    return {f"{host}:{port}": _texts(sorted_partitions(found)) for (host, port), found in by_host.items()}


def _texts(partitions: Iterable[TopicPartition]) -> list[str]:
    return [f"{topic}-{number}" for topic, number in partitions]


def _answer(answer: LeaderAnswer, release: Release) -> dict[str, Any]:
    assignments = {}
    for member, told in answer.assignments.items():
        raw = assignment_bytes(
            release,
            version=told.version,
            commonly_supported=told.commonly_supported,
            active=told.active,
            standby=told.standby,
            by_host={} if told.error else answer.partitions_by_host,
            standby_by_host={} if told.error else answer.standby_partitions_by_host,
            error=told.error,
            next_rebalance_ms=told.next_rebalance_ms,
        )
        assignments[member] = {
            "partitions": _texts(told.partitions),
            "userData": b64encode(raw).decode("ascii"),
            "info": _info(raw, release),
        }
    found: dict[str, Any] = {
        "assignments": assignments,
        "partitionsByHost": _hosts(answer.partitions_by_host),
        "standbyPartitionsByHost": _hosts(answer.standby_partitions_by_host),
        "stable": answer.stable,
        "createdTopics": dict(answer.created_topics),
    }
    if answer.order_unsure:
        found["order_unsure"] = True
    return found
