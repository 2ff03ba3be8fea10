"""The lifecycles that a fold knows; it takes them as an argument."""

from collections.abc import Iterable

from rebalance_monitor.streaming.core.fold.lifecycle import Lifecycle
from rebalance_monitor.streaming.core.incidents.catalogue import Catalogue
from rebalance_monitor.streaming.core.incidents.of_every_group import OF_EVERY_GROUP
from rebalance_monitor.streaming.core.model.records import Body
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.blobs import MemberBlobs


class Registry:
    """Lifecycles, asked in this order: the first that owns a record has it. `blobs` reads members' bytes for them."""

    def __init__(self, lifecycles: Iterable[Lifecycle]) -> None:
        self.lifecycles = tuple(lifecycles)
        self._named = {one.name: one for one in self.lifecycles}
        self.names = frozenset(self._named)
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

    def of_topic(self, settings: ClusterSettings, group: str, topic: str) -> Lifecycle | None:
        """The lifecycle that reads this topic for the group; None for the coordinator's log and topics of nobody."""
        return next((one for one in self.lifecycles if topic in one.topics(settings, group)), None) if group else None
