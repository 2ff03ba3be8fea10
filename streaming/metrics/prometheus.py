"""What the monitor publishes of itself and of its findings, as the metrics declare it, and whether it is ready.

Each cluster has series of its own (`cluster_numbers`), which go with it; a scrape puts all together. A cluster is ready
when what was open in the database is published again, and when it is reachable and read to its end. Until then a scrape
shows what is known, and `rebalance_monitor_ready` says 0.
"""

import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import ProcessCollector, disable_created_metrics
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.model.results import Part, Result
from rebalance_monitor.streaming.store.gaps import TopicGaps
from rebalance_monitor.streaming.store.history import Health
from rebalance_monitor.streaming.store.maintenance import Windows
from rebalance_monitor.streaming.stories.score import JudgedPrediction
from .cluster_numbers import BatchResults, ClusterNumbers, CommittedBefore, Status, show_part
from .endpoint import Endpoint
from .families import Families, GroupLabels, Labels
from .limits import SeriesLimits
from .series import Series


class Exporter:
    """Publishes the declared metrics, those of each cluster and those of the job. Every method may be called from any
    thread."""

    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        *,
        clusters: Iterable[str] = (),
        path: str = "prometheus",
        version: str = "",
        page: str = "",
        clock_s: Callable[[], float] = time.monotonic,
        now_s: Callable[[], float] = time.time,
        limits: SeriesLimits | None = None,
        windows: Windows | None = None,
        cluster_label: str = metrics.CLUSTER,
        tls: ssl.SSLContext | None = None,
        shadow: str | None = None,
    ) -> None:
        """`shadow`: the schema of a job beside the live one. Its series have other names, so that no rule and no
        dashboard takes them for the live job's."""
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it untyped
        self._lock = threading.RLock()
        self._path, self._version, self._page, self._cluster_label = path, version, page, cluster_label
        self._clock_s, self._now_s, self._limits = clock_s, now_s, limits
        self._shadow = shadow
        self._windows = windows if windows is not None else Windows()
        named = tuple(clusters)
        # What is of the job as a whole has the name of its cluster, and none where it watches several.
        self._whole = named[0] if len(named) == 1 else ""
        self._families = Families(cluster_label)
        ProcessCollector(registry=self._families.registry)
        self._parts: dict[str, str] = {}
        self._of: dict[str, ClusterNumbers] = {}
        for metric in metrics.OF_JOB if named else ():
            self._families.series(metric, (self._whole,))  # with the value 0
        for cluster in named:
            self.watch(cluster)
        self._endpoint = Endpoint(host, port, self, self, tls)

    @property
    def url(self) -> str:
        """Base address; tells the port when a free one was asked for."""
        return self._endpoint.url

    def start(self) -> None:
        self._endpoint.start()

    def stop(self) -> None:
        self._endpoint.stop()

    def watch(self, cluster: str) -> None:
        with self._lock:
            self.of(cluster).begin(self._version, self._page)

    def forget(self, cluster: str) -> None:
        with self._lock:
            self._of.pop(cluster, None)

    def of(self, cluster: str) -> ClusterNumbers:
        """What is published of this cluster."""
        with self._lock:
            if cluster not in self._of:
                families = Families(self._cluster_label)
                series = Series(families, self._path, self._clock_s, self._limits, self._windows, self._now_s)
                self._of[cluster] = ClusterNumbers(cluster, families, series, self._lock, self._now_s)
            return self._of[cluster]

    def restore(self, past: CommittedBefore) -> None:
        """Publishes again what the database knows of a cluster."""
        self.of(past.cluster).restore(past)

    def observe(self, results: Sequence[Result]) -> None:
        shown = [one for one in results if not isinstance(one, Part)]  # no series is made of those
        for cluster in dict.fromkeys(one.cluster for one in shown):
            self.of(cluster).observe([one for one in shown if one.cluster == cluster])

    def batch(self, report: BatchResults) -> None:
        self.of(report.cluster).batch(report)

    def reader(self, cluster: str, status: Status) -> None:
        self.of(cluster).reader(status)

    def trouble(self, cluster: str, problem: str | None) -> None:
        self.of(cluster).trouble(problem)

    def stands_by(self, cluster: str, holder: str | None) -> None:
        self.of(cluster).stands_by(holder)

    def part(self, name: str, problem: str | None) -> None:
        """Why a part of the monitor that serves all clusters fails now; None when it works."""
        with self._lock:
            show_part(self._families, self._whole, self._parts, name, problem)

    def gaps(self, known: Sequence[TopicGaps]) -> None:
        with self._lock:
            for cluster, numbers in self._of.items():
                numbers.gaps(gap for gap in known if gap.cluster == cluster)

    def rebalanced(self) -> dict[GroupLabels, int]:
        """Groups with generations that were judged since it was asked last, each with the time of the first of them."""
        with self._lock:
            return {key: at_ms for one in self._of.values() for key, at_ms in one.rebalanced().items()}

    def predicted(self, cluster: str, predictions: Iterable[JudgedPrediction]) -> None:
        """What came of predictions that were made of stored generations."""
        with self._lock:
            if cluster in self._of:
                self._of[cluster].predicted(predictions)

    def notified(self, outcome: str) -> None:
        """A push ended: `sent`, `failed` or `refused`."""
        with self._lock:
            self._families.counter(metrics.NOTIFICATIONS, self._whole, outcome).inc()

    def outbox_pending(self, count: int) -> None:
        """So many notifications wait."""
        with self._lock:
            self._families.gauge(metrics.OUTBOX_PENDING, self._whole).set(count)

    def history(self, health: Health) -> None:
        with self._lock:
            gauge, whole = self._families.gauge, self._whole
            sizes: dict[Labels, float] = {(whole, table): size for table, size in health.table_bytes.items()}
            self._families.only(metrics.DATABASE_BYTES, sizes)
            gauge(metrics.DATABASE_LIMIT, whole).set(health.limit_bytes)
            gauge(metrics.DATABASE_DAY, whole).set(health.day_bytes)
            gauge(metrics.HISTORY_SINCE, whole).set(health.since_s)
            gauge(metrics.OUTBOX_OLDEST, whole).set(health.waiting_since_s)

    def history_cut(self) -> None:
        """History was looked through for what is too old or too much."""
        with self._lock:
            self._families.gauge(metrics.HISTORY_CUT, self._whole).set(self._now_s())

    def beat(self, outcome: str) -> None:
        """The outgoing heartbeat was `sent`, `failed` or `withheld`."""
        with self._lock:
            self._families.counter(metrics.HEARTBEATS_SENT, self._whole, outcome).inc()

    def audited(self, failed: int | None) -> None:
        """An audit ended with so many expectations not met; None: it could not be made."""
        with self._lock:
            self._families.gauge(metrics.AUDIT_SUCCESS, self._whole).set(int(failed == 0))
            self._families.gauge(metrics.AUDIT_LAST_RUN, self._whole).set(self._now_s())
            if failed is not None:
                self._families.gauge(metrics.AUDIT_FAILED_EXPECTATIONS, self._whole).set(failed)

    def well(self, within_s: float) -> bool:
        """Whether the job is ready, and of each cluster that is, a batch, if only an empty one, was committed in this
        time."""
        with self._lock:
            ready = [one for one in self._of.values() if one.why_not_ready() is None]
            return self.readiness()[0] and all(
                one.committed_s is not None and self._now_s() - one.committed_s <= within_s for one in ready
            )

    def scrape(self) -> bytes:
        with self._lock:
            for numbers in self._of.values():
                numbers.sweep()
            self._maintenance()
            together = _Together([self._families, *(one.families for one in self._of.values())])
            return generate_latest(together if self._shadow is None else _Renamed(together))

    def _maintenance(self) -> None:
        """The windows that run, each with its end."""
        ends: dict[Labels, float] = {}
        for window in self._windows.running(int(self._now_s() * 1000)):
            own = (window.cluster, window.groups, window.owner)
            ends[own] = max(window.until_ms / 1000, ends.get(own, 0))
        self._families.only(metrics.MAINTENANCE_END, ends)

    def readiness(self, cluster: str | None = None) -> tuple[bool, dict[str, object]]:
        """Whether everything is published and caught up, and what is missing; of one cluster, or of all.

        Of several clusters, those that cannot be read do not count as long as another one is ready: each has an alert
        of its own, and the others' numbers are good. KeyError for a cluster that is not watched.
        """
        with self._lock:
            some = self._of if cluster is None else {cluster: self._of[cluster]}
            missing = {name: why for name, one in some.items() if (why := one.why_not_ready()) is not None}
            restored = all(one.restored or one.holder is not None for one in some.values())
            excused = [name for name in missing if some[name].cannot_be_read()] if len(missing) < len(some) else []
            state: dict[str, object] = {"ready": restored and len(excused) == len(missing), "clusters": missing}
            if some and "lease" not in self._parts and all(one.stands_by_well() for one in some.values()):
                state["standby"] = True
            if self._shadow is not None:
                state["shadow"] = self._shadow
            if cluster is None and len(some) > 1:
                state["watched"] = sorted(some)
            degraded = {name: one.degraded() for name, one in sorted(some.items()) if one.degraded()}
            if degraded:
                state["degraded"] = degraded
            parts = dict(self._parts)
            for name, one in some.items():
                of = f" of {name}" if len(some) > 1 else ""
                parts.update({f"{part}{of}": why for part, why in one.parts().items()})
            if parts:
                state["parts"] = dict(sorted(parts.items()))
            if not restored:
                state["database"] = "what is open in the database is not published yet"
            return bool(state["ready"]), state


class _Together(Collector):
    """Several registries as one: a metric has the series of all."""

    def __init__(self, all_: Sequence[Families]) -> None:
        self._all = all_

    def collect(self) -> Iterator[Metric]:
        found: dict[str, Metric] = {}
        for families in self._all:
            for metric in families.registry.collect():
                if metric.name in found:
                    found[metric.name].samples.extend(metric.samples)
                else:
                    found[metric.name] = metric
        yield from found.values()


class _Renamed(Collector):
    """The same series, as those of a shadow."""

    def __init__(self, of: Collector) -> None:
        self._of = of

    def collect(self) -> Iterator[Metric]:
        for metric in self._of.collect():
            metric.name = _of_shadow(metric.name)
            metric.samples = [one._replace(name=_of_shadow(one.name)) for one in metric.samples]
            yield metric


def _of_shadow(name: str) -> str:
    own = "rebalance_monitor_"
    return f"{own}shadow_{name.removeprefix(own)}" if name.startswith(own) else name
