"""Every way of answering wrongly is noticed, in recorded and in simulated clusters, with and without their settings.

RM_LONG=1 simulates more clusters; `-s` prints the table of kinds.
"""

from collections import Counter

import pytest

from lab.simulated import scenario
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.profile import size
from tests.streaming.core.mutant_sweep import rows_of, sweep
from tests.streaming.core.test_mutants import NAMES
from tests.vector_files import CAPTURES

LIVES, SHARE = size(1, 50), size(0.4, 1.0)
"""Of the records of a capture that are changed; of the shortest one all are."""


@pytest.mark.parametrize("known", [True, False], ids=["with settings", "without settings"])
@pytest.mark.parametrize("name", NAMES)
def test_each_kind_is_noticed(name: str, known: bool) -> None:
    path = CAPTURES / name
    ((group, own),) = settings_of(path).connect.items()
    settings = settings_of(path) if known else ClusterSettings(name=path.name)
    rows = rows_of(records_of(path), settings, group)
    share = 1.0 if name == "steady" else SHARE
    # With settings, `test_mutants` looks at what is wrong with one job.
    swept = sweep(settings, group, rows, own.max_delay_ms or 0, known=known, single_jobs=not known, share=share)
    for line in swept.lines():
        print(f"{name} {'with' if known else 'without'} settings, {line}")
    assert swept.how.total() >= 10
    assert not swept.missed


def test_each_kind_is_noticed_in_simulated_clusters() -> None:
    """At least 99 of 100 of all that no right leader answers."""
    made, missed = Counter[str](), list[object]()
    for seed in range(500, 500 + LIVES):
        cluster = scenario.live(seed, weights=scenario.CALM, actions=15)
        max_delay_ms = cluster.shape.worker.max_delay_ms
        for known in (True, False):
            settings = cluster.settings(told=known)
            rows = rows_of(cluster.log.stamped(), settings, cluster.shape.group)
            swept = sweep(settings, cluster.shape.group, rows, max_delay_ms, known=known, single_jobs=True, share=0.3)
            made.update(when for _, when in swept.how.elements())
            missed += [(seed, known, *one) for one in swept.missed]
            for line in swept.lines():
                print(f"cluster {seed} {'with' if known else 'without'} settings, {line}")
    print(dict(made))
    assert made.total() >= 25 * LIVES
    assert len(missed) * 100 <= made.total(), missed
