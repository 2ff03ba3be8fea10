"""What came of predictions, counted as the generations come: what `stories.score` says of the stored ones."""

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.score import Fate, JudgedPrediction, judged
from .families import Families, GroupLabels

MOST_KEPT = 50
"""Generations of a group that are kept for a prediction that no record has decided."""


class Predictions:
    """Keeps of each group the generations from the first undecided prediction on, at least the last one."""

    def __init__(self, families: Families) -> None:
        self._families = families
        self._kept: dict[GroupLabels, list[Published]] = {}
        self._counted: dict[GroupLabels, set[tuple[str, int, int]]] = {}

    def generation(self, key: GroupLabels, told: Published) -> None:
        """The next one of this group."""
        kept, counted = [*self._kept.get(key, ()), told], self._counted.get(key, set())
        found = judged(kept)
        for one in found:
            if one.fate is not Fate.OPEN and _place(one) not in counted:
                self._families.counter(metrics.PREDICTIONS, key[0], one.what.value, one.fate.value).inc()
        since = min((one.generation for one in found if one.fate is Fate.OPEN), default=told["generation"])
        same = [one for one in kept if one["incarnation"] == told["incarnation"] and one["generation"] >= since]
        self._kept[key] = (same or [told])[-MOST_KEPT:]
        self._counted[key] = {_place(one) for one in found if one.fate is not Fate.OPEN and one.generation >= since}


def _place(prediction: JudgedPrediction) -> tuple[str, int, int]:
    return prediction.what, prediction.generation, prediction.made_ms
