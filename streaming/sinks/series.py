"""The published numbers, kept in memory and moved by results: incidents, groups, counters."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge

from streaming.core import metrics
from streaming.core.metrics import METRICS, Metric
from streaming.core.results import GapRecord, Generation, Incident, Result, UndecodableRecord
from streaming.core.unreadable import counted_reason
from streaming.sinks.labels import incident_labels
from streaming.sinks.stored import LastGeneration
from streaming.sinks.text import name

# A resolved incident's gauge stays at 0 this long, so that every scraper and rule sees the explicit 0.
ZERO_FOR_S = 1_800.0
# Reasons are made by decoders; should one ever carry data, the series still stay few.
MOST_REASONS = 50


@dataclass(slots=True)
class Families:
    """One client object for each declared metric, by name."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    gauges: dict[str, Gauge] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for metric in METRICS:
            if metric.kind == "counter":
                self.counters[metric.name] = Counter(metric.name, metric.help, metric.labels, registry=self.registry)
            else:
                self.gauges[metric.name] = Gauge(metric.name, metric.help, metric.labels, registry=self.registry)

    def gauge(self, metric: Metric, *labels: str) -> Gauge:
        """The gauge of these label values."""
        family = self.gauges[metric.name]
        return family.labels(*map(name, labels)) if metric.labels else family

    def counter(self, metric: Metric, *labels: str) -> Counter:
        """The counter of these label values."""
        family = self.counters[metric.name]
        return family.labels(*map(name, labels)) if metric.labels else family


class Series:
    """Turns results into series. Not thread-safe: the exporter holds a lock around it."""

    def __init__(self, families: Families, path: str, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._families, self._path, self._clock_s = families, path, clock_s
        self._open: dict[tuple[str, ...], set[str]] = {}
        self._labels_of: dict[str, tuple[str, ...]] = {}
        self._zero_since_s: dict[tuple[str, ...], float] = {}
        self._latest: dict[tuple[str, str], LastGeneration] = {}
        self._others: dict[tuple[str, str], set[str]] = {}
        self._reasons: set[str] = set()

    def observe(self, results: Sequence[Result]) -> None:
        """One batch's results. A record that several groups tell of counts once."""
        undecodable: dict[object, UndecodableRecord] = {}
        gaps: dict[object, GapRecord] = {}
        for result in results:
            match result:
                case Generation():
                    self._generation(result)
                case Incident():
                    self._transition(result)
                case UndecodableRecord():
                    undecodable[result.cluster, result.source] = result
                case GapRecord():
                    gaps[result.cluster, result.topic, result.partition, result.from_offset] = result
        for record in undecodable.values():
            self._families.counter(
                metrics.UNDECODABLE_RECORDS, record.cluster, self._reason(counted_reason(record))
            ).inc()
        for gap in gaps.values():
            lost = max(0, gap.to_offset - gap.from_offset)
            self._families.counter(metrics.GAP_RECORDS, gap.cluster, gap.topic).inc(lost)

    def _generation(self, one: Generation) -> None:
        if one.verdict.pending_until_ms is None:
            self._families.counter(metrics.GENERATIONS, one.cluster, one.group, one.verdict.grade.value).inc()
            for cause, idle_ms in one.idle_ms.items():
                self._families.counter(metrics.CONNECT_IDLE_TASK_SECONDS, one.cluster, one.group, cause).inc(
                    idle_ms / 1000
                )
        self.latest(
            LastGeneration(
                one.incarnation, one.source.offset, one.cluster, one.group, one.generation, len(one.members),
                one.at_ms, len(one.unassigned), one.delay_ms, one.protocol_type == "connect",
            )
        )  # fmt: skip

    def latest(self, one: LastGeneration) -> None:
        """Publishes a generation unless a later one of its group already is."""
        key = (one.cluster, name(one.group))
        before = self._latest.get(key)
        if before is not None and before[:2] > one[:2]:
            return
        self._latest[key] = one
        self._families.gauge(metrics.GROUP_GENERATION, *key).set(one.generation)
        self._families.gauge(metrics.GROUP_MEMBERS, *key).set(one.members)
        self._families.gauge(metrics.GROUP_LAST_GENERATION, *key).set(one.at_ms / 1000)
        if one.connect:
            delay_end_ms = one.at_ms + one.delay_ms if one.delay_ms else 0
            self._families.gauge(metrics.CONNECT_UNASSIGNED_TASKS, *key).set(one.unassigned)
            self._families.gauge(metrics.CONNECT_DELAY_END, *key).set(delay_end_ms / 1000)

    def _transition(self, one: Incident) -> None:
        if one.historic:
            return
        counted = (one.cluster, one.group, one.rule, one.severity.value, one.transition)
        self._families.counter(metrics.INCIDENT_TRANSITIONS, *counted).inc()
        self.incident(one)

    def incident(self, one: Incident) -> None:
        """Publishes an incident's state: 1 while people are told of it, an explicit 0 under labels it no longer has."""
        labels = tuple(incident_labels(one, self._path)[label] for label in metrics.INCIDENT.labels)
        before = self._labels_of.pop(one.incident_id, None)
        if before is not None and (before != labels or not one.firing):
            self._close(before, one.incident_id)
        if one.firing:
            self._labels_of[one.incident_id] = labels
            self._open.setdefault(labels, set()).add(one.incident_id)
            self._zero_since_s.pop(labels, None)
            self._families.gauge(metrics.INCIDENT, *labels).set(1)
        elif before is None and one.fired_at_ms is not None and labels not in self._open:
            # Opened and resolved in one batch, or resolved after a restart that never saw it open.
            self._zero(labels)

    def _close(self, labels: tuple[str, ...], incident_id: str) -> None:
        same = self._open[labels]
        same.discard(incident_id)
        if not same:
            del self._open[labels]
            self._zero(labels)

    def _zero(self, labels: tuple[str, ...]) -> None:
        self._families.gauge(metrics.INCIDENT, *labels).set(0)
        self._zero_since_s[labels] = self._clock_s()

    def forget_old_zeros(self) -> None:
        """Removes incident series that have been 0 long enough; called before each scrape."""
        before_s = self._clock_s() - ZERO_FOR_S
        for labels in [labels for labels, since_s in self._zero_since_s.items() if since_s < before_s]:
            del self._zero_since_s[labels]
            self._families.gauges[metrics.INCIDENT.name].remove(*map(name, labels))

    def others(self, groups: Iterable[tuple[str, str, str]]) -> None:
        """Groups that are only counted, as (cluster, group, kind)."""
        for cluster, group, kind in groups:
            known = self._others.setdefault((cluster, kind), set())
            known.add(name(group))
            self._families.gauge(metrics.OTHER_GROUPS, cluster, kind).set(len(known))

    def _reason(self, reason: str) -> str:
        if reason not in self._reasons and len(self._reasons) >= MOST_REASONS:
            return "other"
        self._reasons.add(reason)
        return reason
