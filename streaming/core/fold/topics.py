"""Topics beside the coordinator's log: what a lifecycle says of those that it reads, if it reads any."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.records import Row, TopicRecord
from rebalance_monitor.streaming.core.model.settings import ClusterSettings

DecodeRecord = Callable[[str, int, int, int, bytes | None, bytes | None], Row | None]
"""Topic, partition, offset, time (ms), key and value of a record to its row; None where it is of no interest."""


@dataclass(frozen=True, slots=True)
class TopicKind:
    """What such a topic holds. `decoder`: the decoder that computes digests of what nobody may store with this key.
    `kept`: of key and value, a value that it reads alike and that holds nothing that nobody may store.
    `committed`: its readers in Kafka see records of committed transactions alone."""

    name: str
    decoder: Callable[[bytes], DecodeRecord]
    kept: Callable[[bytes | None, bytes | None], bytes | None]
    committed: bool = False


class ReadsTopics(ABC):
    """A lifecycle whose groups have topics of their own beside the coordinator's log."""

    protocol_type: str
    """That of its groups' records."""
    kinds: tuple[TopicKind, ...]

    @abstractmethod
    def topics(self, settings: ClusterSettings, group: str) -> Mapping[str, TopicKind]:
        """The topics whose rows concern the group."""

    @abstractmethod
    def configured(self, settings: ClusterSettings) -> Collection[str]:
        """Groups whose topics are read although no record of them has come yet."""

    @abstractmethod
    def groups_of(self, settings: ClusterSettings, topic: str) -> list[str]:
        """The groups that the rows of a topic concern; several where they share one by mistake."""

    @abstractmethod
    def kind_of(self, settings: ClusterSettings, topic: str) -> TopicKind | None:
        """What a topic holds, by the configuration or by its name; None where nobody knows."""

    @abstractmethod
    def written(self, record: TopicRecord) -> str:
        """A row of such a topic as text of one line, without what nobody may store."""

    @abstractmethod
    def topic_record(self, text: str) -> TopicRecord:
        """What `written` wrote. Raises CodecError."""
