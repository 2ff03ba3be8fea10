"""One client object for each declared metric, and which series a group has, so that they can go together."""

from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from rebalance_monitor.streaming.core.metrics import CLUSTER, INCIDENT, INCIDENT_SINCE, METRICS, Metric
from rebalance_monitor.streaming.store.text import name

GroupLabels = tuple[str, str]  # cluster, group
_OF_GROUP = ("cluster", "group")


@dataclass(slots=True)
class Families:
    """Series by declared metric and label values. Not thread-safe."""

    cluster_label: str = CLUSTER
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    gauges: dict[str, Gauge] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    histograms: dict[str, Histogram] = field(default_factory=dict)
    of_group: dict[GroupLabels, set[tuple[str, tuple[str, ...]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for metric in METRICS:
            labels = metric.exposed_labels(self.cluster_label)
            if metric.kind == "counter":
                self.counters[metric.name] = Counter(metric.name, metric.help, labels, registry=self.registry)
            elif metric.kind == "histogram":
                self.histograms[metric.name] = Histogram(
                    metric.name, metric.help, labels, buckets=metric.buckets, registry=self.registry
                )
            else:
                self.gauges[metric.name] = Gauge(metric.name, metric.help, labels, registry=self.registry)

    def gauge(self, metric: Metric, *labels: str) -> Gauge:
        family = self.gauges[metric.name]
        return family.labels(*self._values(metric, labels)) if metric.labels else family

    def counter(self, metric: Metric, *labels: str) -> Counter:
        family = self.counters[metric.name]
        return family.labels(*self._values(metric, labels)) if metric.labels else family

    def histogram(self, metric: Metric, *labels: str) -> Histogram:
        return self.histograms[metric.name].labels(*self._values(metric, labels))

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

    def _values(self, metric: Metric, labels: tuple[str, ...]) -> tuple[str, ...]:
        values = tuple(map(name, labels))
        if self._goes_with_its_group(metric):
            self.of_group.setdefault((values[0], values[1]), set()).add((metric.name, values))
        return values

    @staticmethod
    def _goes_with_its_group(metric: Metric) -> bool:
        """Whether `forget` ends its series: those of incidents end with the incident."""
        return metric.labels[:2] == _OF_GROUP and metric not in (INCIDENT, INCIDENT_SINCE)

    def _drop(self, metric: str, values: tuple[str, ...]) -> None:
        family = self.gauges.get(metric) or self.counters[metric]
        family.remove(*values)
