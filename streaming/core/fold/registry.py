"""The lifecycles that a fold knows; it takes them as an argument."""

from collections.abc import Iterable

from rebalance_monitor.streaming.core.incidents.catalogue import Catalogue
from rebalance_monitor.streaming.core.incidents.of_every_group import OF_EVERY_GROUP
from rebalance_monitor.streaming.core.model.records import Body, TopicRecord
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.blobs import MemberBlobs
from .lifecycle import Lifecycle
from .topics import ReadsTopics, TopicKind


class Registry:
    """Lifecycles, asked in this order: the first that owns a record has it. `blobs` reads members' bytes for them."""

    def __init__(self, lifecycles: Iterable[Lifecycle]) -> None:
        self.lifecycles = tuple(lifecycles)
        self._named = {one.name: one for one in self.lifecycles}
        self.names = frozenset(self._named)
        self.readers = {one.name: one for one in self.lifecycles if isinstance(one, ReadsTopics)}
        self.protocol_types = frozenset(one.protocol_type for one in self.readers.values())
        """Those of groups that have topics of their own."""
        self.topic_kinds = tuple(kind for one in self.readers.values() for kind in one.kinds)
        self.committed = frozenset(kind.name for kind in self.topic_kinds if kind.committed)
        """Kinds of topics of which only records of committed transactions are read."""
        self.blobs = MemberBlobs(one.members for one in self.lifecycles if one.members is not None)
        self.catalogue = Catalogue([*(rule for one in self.lifecycles for rule in one.rules), *OF_EVERY_GROUP])

    def named(self, name: str) -> Lifecycle:
        """The lifecycle of this name. Raises KeyError."""
        return self._named[name]

    def owner(self, body: Body) -> Lifecycle:
        """Whose record or row this is. Raises LookupError for one that nobody owns."""
        for lifecycle in self.lifecycles:
            if lifecycle.owns(body):
                return lifecycle
        raise LookupError(f"no lifecycle owns a {type(body).__name__}")

    # -- topics beside the coordinator's log ------------------------------------------------------------------------

    def of_topic(self, settings: ClusterSettings, group: str, topic: str) -> str | None:
        """The name of the lifecycle that reads this topic for the group; None for topics of nobody."""
        if not group:
            return None
        return next((name for name, one in self.readers.items() if topic in one.topics(settings, group)), None)

    def topics(self, settings: ClusterSettings, group: str) -> dict[str, TopicKind]:
        """The topics whose rows concern a group, if it is of a lifecycle that reads some."""
        return {name: kind for one in self.readers.values() for name, kind in one.topics(settings, group).items()}

    def configured(self, settings: ClusterSettings) -> list[str]:
        """Groups whose topics are read although no record of them has come yet."""
        return [group for one in self.readers.values() for group in one.configured(settings)]

    def groups_of_topic(self, settings: ClusterSettings, topic: str) -> list[str]:
        """The groups that the rows of a topic concern."""
        return [group for one in self.readers.values() for group in one.groups_of(settings, topic)]

    def kind_of(self, settings: ClusterSettings, topic: str) -> TopicKind | None:
        """What a topic holds; None where no lifecycle reads it."""
        found = (one.kind_of(settings, topic) for one in self.readers.values())
        return next((kind for kind in found if kind is not None), None)

    def reader_of(self, record: TopicRecord) -> ReadsTopics:
        """The lifecycle whose topics hold such a record. Raises LookupError."""
        return self.readers[self.owner(record).name]
