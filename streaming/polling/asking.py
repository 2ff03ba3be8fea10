"""What brokers say of all topics and of themselves: two requests, whatever the number of topics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_monitor.streaming.core.cluster.topics import Replicas
from rebalance_monitor.streaming.supervision import PartFailed

REQUEST_TIMEOUT_S = 5.0
REQUESTS = 2
"""Of one answer."""
_NO_SUCH_TOPIC, _NOT_AUTHORIZED = 3, 29


@dataclass(frozen=True, slots=True)
class BrokersAnswer:
    """The replicas of each topic that the monitor may describe, and the racks of brokers that are alive and have one.
    `unclear`: topics of which the broker could not say it now."""

    topics: Mapping[str, Replicas]
    racks: Mapping[int, str]
    unclear: frozenset[str] = frozenset()


class KafkaTopics:
    """Asks a real cluster, through librdkafka's admin client."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._client = client
        self._admin: Any = None

    def __call__(self) -> BrokersAnswer:
        """One answer; PartFailed when no broker gives it in time."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            if self._admin is None:
                settings = {"client.id": "rebalance-monitor-poller", "log_level": "0", "error_cb": _nothing}
                self._admin = AdminClient({**settings, **self._client})
            described = self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S).result(REQUEST_TIMEOUT_S + 1)
            listed = self._admin.list_topics(timeout=REQUEST_TIMEOUT_S)
        except (KafkaException, TimeoutError) as why:
            raise PartFailed(f"the brokers did not say which topics there are ({reason(why)})") from why
        read = {name: _replicas(topic) for name, topic in listed.topics.items()}
        return BrokersAnswer(
            topics={name: replicas for name, replicas in read.items() if replicas},
            racks={int(node.id): str(node.rack) for node in described.nodes if node.rack},
            unclear=frozenset(name for name, replicas in read.items() if replicas == ()),
        )


def _replicas(topic: Any) -> Replicas | None:
    """The replicas of each partition; None if the topic is not there, () if the broker does not know them now."""
    if topic.error is not None and topic.error.code() in (_NO_SUCH_TOPIC, _NOT_AUTHORIZED):
        return None
    numbers = sorted(topic.partitions)
    if numbers != list(range(len(numbers))):
        return ()
    return tuple(tuple(topic.partitions[number].replicas) for number in numbers)


def _nothing(_error: Any) -> None:
    """Broken connections show as requests that fail."""


def reason(why: BaseException) -> str:
    """What the client says of a failed request."""
    first: Any = why.args[0] if why.args else None
    return str(first.str()) if hasattr(first, "str") else type(why).__name__
