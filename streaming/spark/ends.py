"""The questions that are asked of a cluster: which topics there are, where their partitions begin and end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rebalance_monitor.streaming.config.amazon import connecting
from rebalance_monitor.streaming.config.java_properties import refused_because
from rebalance_monitor.streaming.core.model.topic_names import why_illegal
from rebalance_monitor.streaming.polling.admin import REQUEST_TIMEOUT_S, code_of, reason

NO_SUCH_TOPIC = "no_such_topic"
NOT_AUTHORIZED = "not_authorized"
NOT_READABLE = f"{NOT_AUTHORIZED}: Read is not granted"
"""Describe is enough to be told where a topic ends, and not to read it."""
INVALID_NAME = "invalid_name"
READ = "READ"


class ClusterError(Exception):
    """The cluster gave no usable answer; the text says why."""


class AccessRefused(ClusterError):
    """The cluster answered and let us not in: another try with the same configuration ends the same way."""


class ClientRefused(Exception):
    """A property of the client is wrong; the text names it."""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic as it is now; `leaders` = broker id per partition, None while it has none."""

    topic_id: str
    leaders: Mapping[int, int | None]


@dataclass(frozen=True, slots=True)
class FoundTopics:
    """What the cluster says about the wanted topics; `missing` = name -> why."""

    found: Mapping[str, TopicInfo] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


NamedPartition = tuple[str, int]


def why_missing(reason: str) -> str:
    """One of `FoundTopics.missing` as a sentence, with what to do."""
    match reason:
        case "no_such_topic":
            return "there is no such topic; check its name, or start what creates it"
        case "not_authorized":
            return "this user may not describe it; grant it Read"
        case "not_authorized: Read is not granted":
            return "this user may not read it; grant it Read"
        case _:
            return reason


class ClusterView(Protocol):
    """The three questions asked of a cluster. Any may raise ClusterError."""

    def topics(self, names: tuple[str, ...]) -> FoundTopics: ...

    def ends(self, places: tuple[NamedPartition, ...], committed: bool) -> Mapping[NamedPartition, int | None]:
        """End offsets (`committed`: last stable offsets); None where the partition gave no answer."""

    def beginnings(self, places: tuple[NamedPartition, ...]) -> Mapping[NamedPartition, int | None]: ...


class _Noted:
    """What librdkafka says about connections: a wrong password shows here only, requests just time out.

    Apart from the view, which would otherwise be part of a cycle: the garbage collector may run in any thread, also in
    one of librdkafka's, where a client that is destroyed aborts the process.
    """

    def __init__(self) -> None:
        self.said: str | None = None
        self.refused = False

    def note(self, error: Any) -> None:
        code = error.code()
        self.refused |= code in _REFUSED
        if self.said is None or code != error._ALL_BROKERS_DOWN:
            self.said = str(error.str())


class KafkaView:
    """A real cluster, through librdkafka's admin client. One request per broker for any number of partitions."""

    def __init__(self, client: Mapping[str, str]) -> None:
        """Raises ClientRefused when librdkafka does not accept a property."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        self._noted = _Noted()
        # librdkafka writes broken connections to stderr by itself; they are reported through the status instead.
        settings = {"client.id": "rebalance-monitor", "log_level": "0", "error_cb": self._noted.note, **client}
        try:
            self._admin = AdminClient(connecting(settings))
        except ImportError as why:
            raise ClientRefused(str(why)) from why
        except KafkaException as why:
            raise ClientRefused(refused_because(client, reason(why))) from why

    def cluster_id(self) -> str:
        from confluent_kafka import KafkaException

        try:
            found = self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S).result(REQUEST_TIMEOUT_S + 1)
        except (KafkaException, TimeoutError) as why:
            self._admin.poll(0)
            refused = self._noted.refused or code_of(why) in _REFUSED
            raise (AccessRefused if refused else ClusterError)(self._noted.said or reason(why)) from why
        except SystemError as why:  # so the client passes on what a signal raised inside it
            if isinstance(why.__cause__, KeyboardInterrupt):
                raise why.__cause__ from None
            raise
        return str(found.cluster_id)

    def topics(self, names: tuple[str, ...]) -> FoundTopics:
        from confluent_kafka import KafkaException, TopicCollection

        found: dict[str, TopicInfo] = {}
        # No topic can have an illegal name, so the broker is not asked for it (it answers "Invalid topic").
        missing = {name: f"{INVALID_NAME}: {why}" for name in names if (why := why_illegal(name)) is not None}
        legal = [name for name in names if name not in missing]
        if not legal:
            return FoundTopics(missing=missing)
        answers = self._admin.describe_topics(
            TopicCollection(legal), request_timeout=REQUEST_TIMEOUT_S, include_authorized_operations=True
        )
        failed: BaseException | None = None
        definite = False
        for name, answer in answers.items():
            try:
                topic = answer.result(REQUEST_TIMEOUT_S + 1)
            except (KafkaException, TimeoutError) as why:
                missing[name] = _ASKED.get(code_of(why), reason(why))
                definite |= code_of(why) in _ASKED
                failed = why
                continue
            definite = True
            allowed = {one.name for one in topic.authorized_operations or ()}
            if allowed and READ not in allowed:  # none are told by brokers before 2.3
                missing[name] = NOT_READABLE
                continue
            # The client answers with an empty partition list while it has no metadata of the topic.
            leaders = {p.id: (p.leader.id if p.leader is not None else None) for p in topic.partitions}
            found[name] = TopicInfo(str(topic.topic_id), leaders)
        # An error of every topic concerns the request; any other error concerns its own topic only.
        if failed is not None and not definite:
            raise ClusterError(reason(failed)) from failed
        return FoundTopics(found, missing)

    def ends(self, places: tuple[NamedPartition, ...], committed: bool) -> Mapping[NamedPartition, int | None]:
        from confluent_kafka.admin import OffsetSpec

        return self._list(places, OffsetSpec.latest(), committed)

    def beginnings(self, places: tuple[NamedPartition, ...]) -> Mapping[NamedPartition, int | None]:
        from confluent_kafka.admin import OffsetSpec

        return self._list(places, OffsetSpec.earliest(), False)

    def newest_ms(self, places: tuple[NamedPartition, ...]) -> Mapping[NamedPartition, int | None]:
        """The largest timestamp of each partition's records, -1 where it has none. Brokers before 3.0 do not tell."""
        from confluent_kafka.admin import OffsetSpec

        return self._list(places, OffsetSpec.max_timestamp(), False, told="timestamp")

    def _list(
        self, places: tuple[NamedPartition, ...], spec: Any, committed: bool, told: str = "offset"
    ) -> Mapping[NamedPartition, int | None]:
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition

        if not places:
            return {}
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        asked = {TopicPartition(topic, partition): spec for topic, partition in places}
        answers = self._admin.list_offsets(asked, isolation_level=level, request_timeout=REQUEST_TIMEOUT_S)
        out: dict[NamedPartition, int | None] = {}
        last: BaseException | None = None
        for place, answer in answers.items():
            try:
                out[(place.topic, place.partition)] = int(getattr(answer.result(REQUEST_TIMEOUT_S + 1), told))
            except (KafkaException, TimeoutError) as why:
                out[(place.topic, place.partition)] = None
                # A topic that was deleted a moment ago, or a missing right, is no failure of the request.
                last = last if code_of(why) in _ASKED else why
        if last is not None and all(offset is None for offset in out.values()):
            raise ClusterError(reason(last)) from last
        return out


# Codes of a refused user or certificate: Kafka's own, and librdkafka's for authentication and TLS.
_REFUSED = (31, 58, -169, -181)
# Kafka's error codes that say something lasting about a topic.
_ASKED = {3: NO_SUCH_TOPIC, 29: NOT_AUTHORIZED}
LASTING = (NO_SUCH_TOPIC, NOT_AUTHORIZED, INVALID_NAME)
