"""What brokers say of committed offsets and end offsets: one answer for each group, one for all partitions together.

Committed offsets are also in the coordinator's log, which is read anyway (`logged_offsets`). By default they are asked
for all the same: the log holds every commit of every group, most of its records, and the reading tasks pass over those.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rebalance_monitor.streaming.supervision import PartFailed
from .admin import REQUEST_TIMEOUT_S, admin_of, brokers, code_of, reason

NamedPartition: TypeAlias = tuple[str, int]
COMMITTED_REQUESTS = 2
"""Who coordinates the group, and its offsets."""
_GROUP_NOT_AUTHORIZED, _GROUP_NOT_FOUND = 30, 69


class GroupRefused(Exception):
    """The monitor may not describe the group."""


@dataclass(frozen=True, slots=True)
class EndsAnswer:
    """The last stable offset of each partition that a broker told; `requests`: how many it took at most."""

    ends: Mapping[NamedPartition, int]
    requests: int


class KafkaProgress:
    """Asks a real cluster, through librdkafka's admin client."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._client = client
        self._made: Any = None
        self._brokers = 1

    def committed(self, group: str) -> Mapping[NamedPartition, int]:
        """The committed offsets of a group; empty for one that is not there. Raises GroupRefused; PartFailed when no
        broker answers."""
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

        try:
            asked = self._admin().list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)], request_timeout=REQUEST_TIMEOUT_S
            )
            answer = asked[group].result(REQUEST_TIMEOUT_S + 1)
        except (KafkaException, TimeoutError) as why:
            code = code_of(why)
            if code == _GROUP_NOT_AUTHORIZED:
                raise GroupRefused(group) from why
            if code == _GROUP_NOT_FOUND:
                return {}
            raise PartFailed(f"the brokers did not say what {group} has committed ({reason(why)})") from why
        told = answer.topic_partitions or ()
        return {(one.topic, one.partition): one.offset for one in told if one.error is None and one.offset >= 0}

    def ends(self, partitions: Collection[NamedPartition]) -> EndsAnswer:
        """The end offsets of these partitions. Of one that no broker tells nothing is said. Raises PartFailed when
        nobody says anything."""
        from confluent_kafka import IsolationLevel, KafkaException
        from confluent_kafka import TopicPartition as Place
        from confluent_kafka.admin import OffsetSpec

        wanted = {Place(topic, number): OffsetSpec.latest() for topic, number in partitions}
        found: dict[NamedPartition, int] = {}
        failed: BaseException | None = None
        with brokers("did not say where topics end"):
            asked = self._admin().list_offsets(
                wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=REQUEST_TIMEOUT_S
            )
        for place, answer in asked.items():
            try:
                found[place.topic, place.partition] = answer.result(REQUEST_TIMEOUT_S + 1).offset
            except (KafkaException, TimeoutError) as why:
                failed = why
        if failed is not None and not found:
            raise PartFailed(f"the brokers did not say where topics end ({reason(failed)})") from failed
        return EndsAnswer(found, 1 + self._brokers)

    def _admin(self) -> Any:
        from confluent_kafka import KafkaException

        if self._made is None:
            admin = admin_of(self._client, "progress")
            described = admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S)
            try:
                self._brokers = max(len(described.result(REQUEST_TIMEOUT_S + 1).nodes), 1)
            except TimeoutError as why:
                raise KafkaException(why) from why
            self._made = admin
        return self._made
