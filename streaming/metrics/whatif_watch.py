"""What `whatif` would have said before each change of a group, and what came, as a counter.

It is computed beside the job, once a minute and of stored generations: a prediction takes milliseconds and needs
the group's last generations, which no batch has at hand. How much is read and computed in a minute is bounded; groups
above that wait.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from rebalance_monitor.streaming.core.model.derived import Latest
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.group_documents import newest_documents
from rebalance_monitor.streaming.stories.score import Fate, JudgedPrediction
from rebalance_monitor.streaming.stories.whatif.scored import scored
from rebalance_monitor.streaming.supervision import Answerable, Supervised
from .families import GroupLabels

LOOK_EVERY_S = 60.0
MOST_GROUPS, MOST_GENERATIONS, MOST_HELD = 20, 30, 1_000
"""Of one look; of a group the newest generations, and as many changes as `scored` says."""
MOST_DUE, MOST_KEPT = 1_000, 10_000
_Place = tuple[int, str]


class CountsPredictions(Protocol):
    """Who knows which groups rebalanced, and publishes the counter; the exporter does."""

    def rebalanced(self) -> Mapping[GroupLabels, int]: ...
    def predicted(self, cluster: str, predictions: Iterable[JudgedPrediction]) -> None: ...


class WhatifWatch:
    """Looks from `start` to `stop`."""

    def __init__(self, dsn: str, counts: CountsPredictions, answerable: Answerable | None = None) -> None:
        self._database, self._counts = Database(dsn), counts
        self._due: dict[GroupLabels, int] = {}
        self._known: Latest[GroupLabels, tuple[int, frozenset[_Place]]] = Latest(MOST_KEPT)
        self._thread = Supervised("whatif", self.look, answerable, at_end=self._database.close)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop()

    def look(self) -> float:
        """Those groups first that have waited longest."""
        for key, at_ms in self._counts.rebalanced().items():
            if len(self._due) < MOST_DUE:
                self._due.setdefault(key, at_ms)
        try:
            with self._database.session() as connection:
                for key in list(self._due)[:MOST_GROUPS]:
                    documents = newest_documents(connection, *key, MOST_GENERATIONS)
                    since_ms = self._due.pop(key)
                    if documents:
                        self._count(key, since_ms, documents)
        except DatabaseUnreachable:
            pass  # the job itself says so
        return LOOK_EVERY_S

    def _count(self, key: GroupLabels, first_ms: int, documents: list[dict[str, object]]) -> None:
        """Each prediction once, when it is decided. A later generation may show that who went has come back, so the
        newest change is looked at again."""
        since_ms, counted = self._known.get(key) or (first_ms, frozenset[_Place]())
        found = scored(documents, since_ms, MOST_HELD)
        decided = [one for one in found if one.fate is not Fate.OPEN]
        self._counts.predicted(key[0], [one for one in decided if _place(one) not in counted])
        again_ms = [one.made_ms for one in found if one.fate is Fate.OPEN]
        newest_ms = max(int(str(one["at_ms"])) for one in documents)
        since_ms = max(since_ms, min([newest_ms, *again_ms]))  # a generation that the database refused is not there
        self._known.put(key, (since_ms, frozenset(_place(one) for one in decided if one.made_ms >= since_ms)))


def _place(prediction: JudgedPrediction) -> _Place:
    return prediction.made_ms, prediction.what
