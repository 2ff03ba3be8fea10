"""What came of predictions, counted as the generations come: what `stories.score` says of the stored ones."""

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.model.derived import Latest
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.score import Fate, JudgedPrediction, judged
from .families import Families, GroupLabels

MOST_KEPT = 50
"""Generations of a group that are kept for a prediction that no record has decided."""
MOST_GROUPS = 10_000
_Place = tuple[str, int, int, str]


class Predictions:
    """Keeps of each group the generations from the first undecided prediction on, at least the last one."""

    def __init__(self, families: Families) -> None:
        self._families = families
        self._known: Latest[GroupLabels, tuple[list[Published], set[_Place]]] = Latest(MOST_GROUPS)
        self._incidents: Latest[GroupLabels, dict[str, Published]] = Latest(MOST_GROUPS)
        self._changed: set[GroupLabels] = set()

    def incident(self, key: GroupLabels, told: Published) -> None:
        """A transition of an incident."""
        kept, _ = self._known.get(key) or ([], set())
        since_ms = kept[0]["at_ms"] if kept else 0
        known = {**(self._incidents.get(key) or {}), told["incident_id"]: told}
        lasting = [one for one in known.values() if (one["resolved_at_ms"] or since_ms) >= since_ms]
        self._incidents.put(key, {one["incident_id"]: one for one in lasting[-MOST_KEPT:]})
        self._changed.add(key)

    def generation(self, key: GroupLabels, told: Published) -> None:
        kept, counted = self._known.get(key) or ([], set())
        kept.append(told)
        self._known.put(key, (kept, counted))
        self._changed.add(key)

    def count(self) -> None:
        """What is decided, once all of a batch is known: an incident's end may come before a generation's."""
        for key in self._changed:
            kept, counted = self._known.get(key) or ([], set())
            if kept:
                self._count(key, kept, counted)
        self._changed.clear()

    def _count(self, key: GroupLabels, kept: list[Published], counted: set[_Place]) -> None:
        found = judged(kept, (self._incidents.get(key) or {}).values())
        for one in found:
            if one.fate is not Fate.OPEN and _place(one) not in counted:
                self._families.counter(metrics.PREDICTIONS, key[0], one.what.value, one.fate.value).inc()
        last = kept[-1]
        since = min((one.generation for one in found if one.fate is Fate.OPEN), default=last["generation"])
        same = [one for one in kept if one["incarnation"] == last["incarnation"] and one["generation"] >= since]
        decided = {_place(one) for one in found if one.fate is not Fate.OPEN and one.generation >= since}
        self._known.put(key, ((same or [last])[-MOST_KEPT:], decided))


def _place(prediction: JudgedPrediction) -> _Place:
    return prediction.what, prediction.generation, prediction.made_ms, prediction.incident_id
