"""What `whatif` would have said of changes that the job saw, counted from stored generations: each once."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pytest

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.cli.group_sources import judged
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.metrics import whatif_watch
from rebalance_monitor.streaming.metrics.families import GroupLabels
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.metrics.whatif_watch import WhatifWatch
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.stories.score import Fate, JudgedPrediction
from rebalance_monitor.streaming.stories.whatif.scored import scored
from tests.streaming.metrics.test_rebalance_series import samples
from tests.vector_files import VECTORS
from tests.web.filled import put

pytestmark = pytest.mark.postgres
CAPTURE = "captures-upgrades/connect-4.3.1"


def generations() -> list[Generation]:
    told = judged(VECTORS / CAPTURE).results
    final = {(one.source.offset): one for one in told if isinstance(one, Generation)}
    return [replace(one, historic=False) for one in final.values()]


def watching(store: PostgresStore, dsn: str, at_once: int) -> Counter[tuple[str, str]]:
    """What is counted while so many generations come between two looks."""
    made = generations()
    exporter = Exporter(0, clusters=[made[0].cluster])
    watch = WhatifWatch(dsn, exporter)
    try:
        for number, start in enumerate(range(0, len(made), at_once)):
            put(store, *made[start : start + at_once], batch_id=number)
            exporter.observe(made[start : start + at_once])
            watch.look()
            watch.look()
        counted = samples(exporter, "predictions_total", cluster=made[0].cluster)
        return Counter(
            {(fate, what): int(value) for (fate, what), value in counted.items() if what.startswith("whatif")}
        )
    finally:
        watch.stop()
        exporter.stop()


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_each_change_is_counted_once_when_it_is_decided(dsn: str, store: PostgresStore, at_once: int) -> None:
    decided = [one for one in scored(map(as_object, generations())) if one.fate is not Fate.OPEN]
    assert watching(store, dsn, at_once) == Counter((one.fate.value, one.what.value) for one in decided)
    assert len(decided) == 12


def test_history_that_is_read_again_is_not_counted() -> None:
    exporter = Exporter(0, clusters=["connect-4.3.1"])
    exporter.observe([replace(one, historic=True) for one in generations()])
    assert exporter.rebalanced() == {}
    exporter.stop()


@dataclass(slots=True)
class Counts:
    """Groups that rebalanced, and what was counted of them."""

    due: dict[GroupLabels, int]
    counted: list[JudgedPrediction] = field(default_factory=list)

    def rebalanced(self) -> Mapping[GroupLabels, int]:
        found, self.due = self.due, {}
        return found

    def predicted(self, cluster: str, predictions: Iterable[JudgedPrediction]) -> None:
        self.counted += predictions


def test_groups_above_the_bound_of_a_look_wait(dsn: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [
        replace(one, group=group, source=replace(one.source, partition=place))
        for place, group in enumerate(("a", "b", "c"))
        for one in generations()
    ]
    put(store, *made)
    monkeypatch.setattr(whatif_watch, "MOST_GROUPS", 1)
    counts = Counts({(made[0].cluster, group): 0 for group in ("a", "b", "c", "unknown")})
    watch = WhatifWatch(dsn, counts)
    seen = []
    for _ in range(5):
        watch.look()
        seen.append(len(counts.counted))
    watch.stop()
    assert seen == [12, 24, 36, 36, 36]


def ends_with_a_decided_change(made: list[Generation]) -> bool:
    found = scored(map(as_object, made))
    return any(one.made_ms == made[-1].at_ms and one.fate is not Fate.OPEN for one in found)


def test_changes_before_the_first_generation_that_was_judged_are_not_counted(dsn: str, store: PostgresStore) -> None:
    """Where the database refused that one, its newest is older: another process has counted it."""
    every = generations()
    made = next(part for part in (every[:end] for end in range(2, len(every))) if ends_with_a_decided_change(part))
    put(store, *made)
    key, later_ms = (made[0].cluster, made[0].group), made[-1].at_ms + 1
    counts = Counts({key: later_ms})
    watch = WhatifWatch(dsn, counts)
    for _ in range(2):
        watch.look()
        counts.due = {key: later_ms}
    watch.stop()
    assert counts.counted == []
