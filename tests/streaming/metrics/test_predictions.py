"""What came of predictions, as a counter: the same as is said of the stored generations."""

from collections import Counter, defaultdict

import pytest

from rebalance_monitor.streaming.cli.group_sources import judged as replayed
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.stories.score import Fate, judged
from tests.streaming.metrics.test_rebalance_series import samples
from tests.vector_files import VECTORS


@pytest.mark.parametrize("at_once", [1, 7])
@pytest.mark.parametrize("capture", ["captures/zombie", "captures-groups/streams-churn", "captures/steady"])
def test_they_are_counted_once_decided(capture: str, at_once: int) -> None:
    told = [one for one in replayed(VECTORS / capture).results if isinstance(one, Generation)]
    stored = defaultdict(list)
    for one in told:
        stored[one.cluster, one.group].append(as_object(one))
    wanted = Counter(
        (one.fate.value, one.what.value) for own in stored.values() for one in judged(own) if one.fate is not Fate.OPEN
    )
    (cluster,) = {one.cluster for one in told}
    exporter = Exporter(0, clusters=[cluster])
    try:
        for start in range(0, len(told), at_once):
            exporter.observe(told[start : start + at_once])
        assert samples(exporter, "predictions_total", cluster=cluster) == wanted
    finally:
        exporter.stop()
