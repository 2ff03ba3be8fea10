"""What came of predictions, as a counter: the same as is said of the stored generations."""

from collections import Counter, defaultdict
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import judged as replayed
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Generation, Incident
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.stories.score import Fate, judged
from tests.streaming.metrics.test_rebalance_series import samples
from tests.vector_files import VECTORS

CAPTURES = ["captures/zombie", "captures-groups/streams-churn", "captures-groups/streams-probing", "captures/steady"]


@pytest.mark.parametrize("at_once", [1, 7])
@pytest.mark.parametrize("capture", CAPTURES)
def test_they_are_counted_once_decided(capture: str, at_once: int) -> None:
    told = [one for one in replayed(VECTORS / capture).results if isinstance(one, Generation | Incident)]
    stored, incidents = defaultdict(list), defaultdict[tuple[str, str], dict[str, Any]](dict)
    for one in told:
        if isinstance(one, Generation):
            stored[one.cluster, one.group].append(as_object(one))
        else:
            incidents[one.cluster, one.group][one.incident_id] = as_object(one)
    wanted = Counter(
        (one.fate.value, one.what.value)
        for key, own in stored.items()
        for one in judged(own, incidents[key].values())
        if one.fate is not Fate.OPEN
    )
    (cluster,) = {one.cluster for one in told}
    exporter = Exporter(0, clusters=[cluster])
    try:
        for start in range(0, len(told), at_once):
            exporter.observe(told[start : start + at_once])
        assert samples(exporter, "predictions_total", cluster=cluster) == wanted
    finally:
        exporter.stop()
