"""Groups that a new job looks at once without a record: the configuration may expect something else of them now."""

from collections.abc import Iterable, Sequence

from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.settings import NOTHING_EXPECTED, ClusterSettings
from rebalance_monitor.streaming.core.ports import Store


class Expecting:
    """Those of which something is expected, be they there or not, and those with an open incident, which may be of
    something that is not expected any more."""

    def __init__(self, store: Store, settings: ClusterSettings) -> None:
        self._store, self._settings = store, settings
        self._left: dict[str, None] | None = None

    def left(self, tick: Tick | None) -> Sequence[str]:
        """The groups that no batch has folded since the log was first read to its end; none before."""
        if tick is None or tick.historic:
            return ()
        if self._left is None:
            self._left = dict.fromkeys(self._all())
        return list(self._left)

    def folded(self, groups: Iterable[str], tick: Tick | None) -> None:
        """A batch has folded these and committed them, at this time."""
        if self._left and tick is not None:
            for group in groups:
                self._left.pop(group, None)

    def _all(self) -> Iterable[str]:
        settings = self._settings
        if any(one.expects != NOTHING_EXPECTED for one in settings.owners):
            yield from settings.awaited()
            present = self._store.present_groups(settings.name)
            yield from (one for one in present if settings.expects(one) != NOTHING_EXPECTED)
        yield from (group for group, _ in self._store.troubled_groups(settings.name))
