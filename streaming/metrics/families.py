"""One client object for each declared metric, and which series a group has, so that they can go together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from rebalance_monitor.streaming.core.metrics import CLUSTER, INCIDENT, INCIDENT_SINCE, METRICS, Metric
from rebalance_monitor.streaming.store.text import name

Labels = tuple[str, ...]
GroupLabels = tuple[str, str]  # cluster, group
_OF_GROUP = ("cluster", "group")
_CLASSES: dict[str, Callable[..., Any]] = {"gauge": Gauge, "info": Gauge, "counter": Counter, "histogram": Histogram}


@dataclass(slots=True)
class Families:
    """Series by declared metric and label values. Not thread-safe."""

    cluster_label: str = CLUSTER
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    made: dict[str, Any] = field(default_factory=dict)
    of_group: dict[GroupLabels, set[tuple[str, Labels]]] = field(default_factory=dict)
    whole: dict[str, set[Labels]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for metric in METRICS:
            labels, more = metric.exposed_labels(self.cluster_label), {}
            if metric.kind == "histogram":
                more = {"buckets": metric.buckets}
            make = _CLASSES[metric.kind]
            self.made[metric.name] = make(metric.name, metric.help, labels, registry=self.registry, **more)

    def series(self, metric: Metric, labels: Labels) -> Any:
        """The series of these label values, whatever the metric's kind; it is there from now on."""
        family = self.made[metric.name]
        return family.labels(*self._values(metric, labels)) if metric.labels else family

    def gauge(self, metric: Metric, *labels: str) -> Gauge:
        return cast(Gauge, self.series(metric, labels))

    def counter(self, metric: Metric, *labels: str) -> Counter:
        return cast(Counter, self.series(metric, labels))

    def histogram(self, metric: Metric, *labels: str) -> Histogram:
        return cast(Histogram, self.series(metric, labels))

    def only(self, metric: Metric, values: Mapping[Labels, float]) -> None:
        """These are all series of a gauge: those that were given so before, and are not now, end."""
        for labels in self.whole.get(metric.name, set()) - values.keys():
            self.remove(metric, *labels)
        for labels, value in values.items():
            self.gauge(metric, *labels).set(value)
        self.whole[metric.name] = set(values)

    def remove(self, metric: Metric, *labels: str) -> None:
        """Ends one series, if it is there; scrapers see it end at once."""
        values = tuple(map(name, labels))
        if self._goes_with_its_group(metric):
            series = self.of_group.get((values[0], values[1]), set())
            if (metric.name, values) not in series:
                return  # the library looks at the environment before it finds that there is nothing to remove
            series.discard((metric.name, values))
        self._drop(metric.name, values)

    def forget(self, group: GroupLabels) -> None:
        """Ends every series of a group, except its incidents'."""
        for metric, values in self.of_group.pop((name(group[0]), name(group[1])), set()):
            self._drop(metric, values)

    def _values(self, metric: Metric, labels: Labels) -> Labels:
        values = tuple(map(name, labels))
        if self._goes_with_its_group(metric):
            self.of_group.setdefault((values[0], values[1]), set()).add((metric.name, values))
        return values

    @staticmethod
    def _goes_with_its_group(metric: Metric) -> bool:
        """Whether `forget` ends its series: those of incidents end with the incident."""
        return metric.labels[:2] == _OF_GROUP and metric not in (INCIDENT, INCIDENT_SINCE)

    def _drop(self, metric: str, values: Labels) -> None:
        self.made[metric].remove(*values)
