"""What came of predictions, counted as the generations come: what `stories.score` says of the stored ones."""

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.model.derived import Latest
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.score import Fate, JudgedPrediction, judged
from .families import Families, GroupLabels

MOST_KEPT = 50
"""Generations of a group that are kept for a prediction that no record has decided."""
MOST_GROUPS = 10_000


class Predictions:
    """Keeps of each group the generations from the first undecided prediction on, at least the last one."""

    def __init__(self, families: Families) -> None:
        self._families = families
        self._known: Latest[GroupLabels, tuple[list[Published], set[tuple[str, int, int]]]] = Latest(MOST_GROUPS)

    def generation(self, key: GroupLabels, told: Published) -> None:
        before, counted = self._known.get(key) or ([], set())
        kept = [*before, told]
        found = judged(kept)
        for one in found:
            if one.fate is not Fate.OPEN and _place(one) not in counted:
                self._families.counter(metrics.PREDICTIONS, key[0], one.what.value, one.fate.value).inc()
        since = min((one.generation for one in found if one.fate is Fate.OPEN), default=told["generation"])
        same = [one for one in kept if one["incarnation"] == told["incarnation"] and one["generation"] >= since]
        decided = {_place(one) for one in found if one.fate is not Fate.OPEN and one.generation >= since}
        self._known.put(key, ((same or [told])[-MOST_KEPT:], decided))


def _place(prediction: JudgedPrediction) -> tuple[str, int, int]:
    return prediction.what, prediction.generation, prediction.made_ms
