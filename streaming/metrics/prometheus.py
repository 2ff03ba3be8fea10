"""What the monitor publishes of itself and of its findings, as the metrics declare it, and whether it is ready.

Ready means: what was open in the database is published again, and every cluster is reachable and read to its end.
Until then a scrape shows what is known, and `rebalance_monitor_ready` says 0.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from prometheus_client import ProcessCollector, disable_created_metrics
from prometheus_client.exposition import generate_latest

from rebalance_monitor.streaming.core import metrics, polling_metrics
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.core.model.results import Incident, Result, Standing
from rebalance_monitor.streaming.core.model.subjects import Subject
from rebalance_monitor.streaming.core.streams.words import TaskCounts
from rebalance_monitor.streaming.store.gaps import TopicGaps
from rebalance_monitor.streaming.store.loads import Load
from rebalance_monitor.streaming.store.maintenance import Windows
from rebalance_monitor.streaming.store.stored import LastGeneration
from .batch_view import BatchView
from .endpoint import Endpoint
from .families import Families
from .incident_series import ZERO_FOR_S
from .known_group import key_of
from .limits import SeriesLimits
from .series import Series


class BatchResults(Protocol):
    """What the exporter reads of a committed batch."""

    @property
    def cluster(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def view(self) -> BatchView: ...
    @property
    def kinds(self) -> Mapping[tuple[str, str], int]: ...
    @property
    def unknown_tags(self) -> Mapping[str, int]: ...
    @property
    def other_groups(self) -> Mapping[tuple[str, str, str], int]: ...
    @property
    def fold_errors(self) -> Mapping[str, int]: ...
    @property
    def refused(self) -> Sequence[str]: ...


class Status(Protocol):
    """What the exporter reads of the reader's view of a cluster."""

    @property
    def backlog(self) -> dict[str, int]: ...
    @property
    def missing(self) -> dict[str, str]: ...
    @property
    def problem(self) -> str | None: ...
    @property
    def blind(self) -> str | None: ...
    @property
    def caught_up(self) -> bool: ...


class CommittedBefore(Protocol):
    """What a start publishes again; the PostgreSQL store has it."""

    def open_incidents(self, resolved_since_ms: int | None = None) -> Iterable[Incident]: ...
    def led(self) -> Mapping[str, str]: ...
    def latest_generations(self) -> Iterable[LastGeneration]: ...
    def latest_loads(self) -> Mapping[tuple[str, str], dict[str, Load]]: ...
    def latest_tasks(self) -> Mapping[tuple[str, str], TaskCounts]: ...
    def standings(self) -> Iterable[Standing]: ...
    def agreements(self) -> Iterable[tuple[tuple[str, str], Subject, str, str]]: ...
    def counted_groups(self) -> Iterable[tuple[str, str, str]]: ...
    def look_for_windows(self) -> None: ...


class Exporter:
    """Publishes the declared metrics. Every method may be called from any thread."""

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
    ) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it untyped
        self._lock = threading.RLock()
        named = tuple(clusters)
        # One job watches one cluster: the cluster's name tells whose numbers about the monitor itself these are.
        self._cluster = named[0] if named else ""
        self._families = Families(cluster_label)
        ProcessCollector(registry=self._families.registry)
        for metric in metrics.OF_MONITOR if named else ():
            self._families.series(metric, (self._cluster,))  # with the value 0
        self._series = Series(self._families, path, clock_s, limits, windows, now_s)
        self._now_s = now_s
        self._committed_s: float | None = None
        self._restored = False
        self._not_ready: dict[str, str] = {}
        self._troubles: dict[str, str] = {}
        self._degraded: dict[str, dict[str, str]] = {}
        self._reasons: dict[str, set[str]] = {}
        self._parts: dict[str, str] = {}
        self._gaps: dict[str, dict[str, str]] = {}
        self._lagging: dict[str, frozenset[str]] = {}
        self._families.gauge(metrics.BUILD_INFO, self._cluster, version, page).set(1)
        for cluster in named:
            self.set_health(cluster, "nothing was read yet")
            self._families.gauge(metrics.BLIND, cluster).set(0)
        self._endpoint = Endpoint(host, port, self, self)

    @property
    def url(self) -> str:
        """Base address; tells the port when a free one was asked for."""
        return self._endpoint.url

    def start(self) -> None:
        self._endpoint.start()

    def stop(self) -> None:
        self._endpoint.stop()

    def restore(self, past: CommittedBefore) -> None:
        """Publishes again what the database knows; must come before readiness, and wherever a committed batch may not
        have been told of."""
        past.look_for_windows()
        incidents = past.open_incidents(int((self._now_s() - ZERO_FOR_S) * 1000))
        led = past.led()
        standings = {(one.cluster, one.group): one for one in past.standings()}
        groups, loads, tasks = past.latest_generations(), past.latest_loads(), past.latest_tasks()
        agreements, others = past.agreements(), past.counted_groups()
        dead = {key for key, one in standings.items() if one.state == "Dead"}
        with self._lock:
            # Groups with incidents first: they have the first claim on a place.
            self._series.incidents([one for one in incidents if not one.historic], led)
            for group in sorted(groups, key=lambda one: -one.at_ms):
                key = (group.cluster, group.group)
                if key not in dead:
                    self._series.groups.latest(group, loads.get(key), tasks.get(key))
                    if key in standings:
                        self._series.groups.stands(standings[key])
            for key in dead:
                if self._series.groups.knows(key_of(*key)):
                    self._series.groups.stands(standings[key])
            for key, job, agreement, word in agreements:
                if key not in dead:
                    self._series.groups.agreement(key, job, agreement, word)
            self._series.others(others)
            self._restored = True

    def observe(self, results: Sequence[Result]) -> None:
        with self._lock:
            self._series.observe(results)

    def batch(self, report: BatchResults) -> None:
        now_s = self._now_s()
        with self._lock:
            self._committed_s = now_s
            self._series.show(report.view)
            self._series.others(report.other_groups)
            for (topic, kind), count in report.kinds.items():
                self._families.counter(metrics.RECORDS, report.cluster, topic, kind).inc(count)
            for error, count in report.fold_errors.items():
                self._families.counter(metrics.FOLD_ERRORS, report.cluster, error).inc(count)
            for table in report.refused:
                self._families.counter(metrics.REFUSED_ROWS, report.cluster, table).inc()
            for topic, count in report.unknown_tags.items():
                self._families.counter(metrics.UNKNOWN_TAGGED_FIELDS, report.cluster, topic).inc(count)
            self._families.gauge(metrics.HEARTBEAT, report.cluster).set(now_s)
            for judged in report.view.judged:
                if not judged.historic:
                    judged_after_s = max(0.0, now_s - judged.at_ms / 1000)
                    self._families.histogram(metrics.JUDGED_AFTER, report.cluster).observe(judged_after_s)
            if report.rows:
                self._families.histogram(metrics.BATCH_SECONDS, report.cluster).observe(report.seconds)
                self._families.gauge(metrics.LAST_BATCH, report.cluster).set(now_s)
                self._families.gauge(metrics.LAST_BATCH_DURATION, report.cluster).set(report.seconds)
            self._families.counter(metrics.BATCHES, report.cluster).inc()

    def reader(self, cluster: str, status: Status) -> None:
        """What the reader sees of the cluster."""
        problem = status.problem
        if problem is None and not status.caught_up:
            problem = _not_caught_up(sum(status.backlog.values()), status.missing)
        with self._lock:
            self._lag(cluster, status)
            self._families.gauge(metrics.BLIND, cluster).set(int(status.blind is not None))
            self.set_degraded(cluster, {f"{topic}: {why}": topic for topic, why in status.missing.items()})
            self.set_health(cluster, problem)

    def _lag(self, cluster: str, status: Status) -> None:
        """While the cluster gives no answer the last lag stands; a topic that is not read any more has none."""
        before = self._lagging.get(cluster, frozenset())
        known = frozenset(status.backlog) | (before if status.problem is not None else frozenset())
        for topic in before - known:
            self._families.remove(metrics.POSITION_LAG, cluster, topic)
        for topic, count in status.backlog.items():
            self._families.gauge(metrics.POSITION_LAG, cluster, topic).set(count)
        self._lagging[cluster] = known

    def trouble(self, cluster: str, problem: str | None) -> None:
        """Why the query is not running now; None when it runs again."""
        with self._lock:
            if problem is None:
                self._troubles.pop(cluster, None)
            else:
                self._troubles[cluster] = problem
            self.set_health(cluster, self._not_ready.get(cluster))

    def set_health(self, cluster: str, problem: str | None) -> None:
        """Whether the cluster is reachable and caught up: None, or why not."""
        with self._lock:
            if problem is None:
                self._not_ready.pop(cluster, None)
            else:
                self._not_ready[cluster] = problem
            well = cluster not in self._not_ready and cluster not in self._troubles
            self._families.gauge(metrics.READY, cluster).set(int(well))

    def set_degraded(self, cluster: str, reasons: Mapping[str, str]) -> None:
        """Features that are off, by reason; a reason no longer given goes to 0."""
        with self._lock:
            self._degraded[cluster] = dict(reasons)
            now = {*reasons, *self._gaps.get(cluster, {})}
            for reason in {*self._reasons.get(cluster, ()), *now}:
                self._families.gauge(metrics.DEGRADED, cluster, reason).set(int(reason in now))
            self._reasons[cluster] = now

    def part(self, name: str, problem: str | None) -> None:
        """Why a part of the monitor fails now; None when it works."""
        with self._lock:
            failed = self._parts.pop(name, None) is not None
            if problem is not None:
                self._parts[name] = problem
            if failed or problem is not None:
                self._families.gauge(metrics.PART_FAILING, self._cluster, name).set(int(problem is not None))
                self._families.counter(metrics.PART_FAILURES, self._cluster, name).inc(int(problem is not None))

    def polled(self, poller: str, requests: int, answered_ms: int | None) -> None:
        """A poller made so many requests; `answered_ms`: when the answer came, None if none did."""
        with self._lock:
            self._families.counter(polling_metrics.POLL_REQUESTS, self._cluster, poller).inc(requests)
            if answered_ms is not None:
                self._families.gauge(polling_metrics.LAST_POLL, self._cluster, poller).set(answered_ms / 1000)

    def groups_unseen(self, *, unseen: bool) -> None:
        """Whether brokers leave out groups that the monitor may not describe, when they are asked who rebalances."""
        with self._lock:
            self._families.gauge(polling_metrics.GROUPS_UNSEEN, self._cluster).set(int(unseen))

    def gaps(self, known: Sequence[TopicGaps]) -> None:
        """All gaps there are, by topic: the offsets lost, and a reason to be degraded where one is still shown."""
        reasons: dict[str, dict[str, str]] = {}
        with self._lock:
            for gap in known:
                lost = self._families.counter(metrics.GAP_RECORDS, gap.cluster, gap.topic)
                lost.inc(max(0, gap.offsets - lost._value.get()))
                self._families.gauge(metrics.GAPS_SHOWN, gap.cluster, gap.topic).set(gap.shown)
                if gap.shown:
                    shown = counted(gap.shown, "gap")
                    why = f"{gap.topic}: records were gone before they were read ({shown} not acknowledged)"
                    reasons.setdefault(gap.cluster, {})[f"{gap.topic}: gap"] = why
            for cluster in {*self._gaps, *reasons}:
                self._gaps[cluster] = reasons.get(cluster, {})
                self.set_degraded(cluster, self._degraded.get(cluster, {}))

    def notified(self, outcome: str) -> None:
        """A push ended: `sent`, `failed` or `refused`."""
        self._families.counter(metrics.NOTIFICATIONS, self._cluster, outcome).inc()

    def outbox_pending(self, count: int) -> None:
        """So many notifications wait."""
        self._families.gauge(metrics.OUTBOX_PENDING, self._cluster).set(count)

    def beat(self, outcome: str) -> None:
        """The outgoing heartbeat was `sent`, `failed` or `withheld`."""
        self._families.counter(metrics.HEARTBEATS_SENT, self._cluster, outcome).inc()

    def audited(self, failed: int | None) -> None:
        """An audit ended with so many expectations not met; None: it could not be made."""
        self._families.gauge(metrics.AUDIT_SUCCESS, self._cluster).set(int(failed == 0))
        self._families.gauge(metrics.AUDIT_LAST_RUN, self._cluster).set(self._now_s())
        if failed is not None:
            self._families.gauge(metrics.AUDIT_FAILED_EXPECTATIONS, self._cluster).set(failed)

    def well(self, within_s: float) -> bool:
        """Whether everything is caught up and a batch, if only an empty one, was committed in this time."""
        with self._lock:
            committed_s = self._committed_s
            return self.readiness()[0] and committed_s is not None and self._now_s() - committed_s <= within_s

    def scrape(self) -> bytes:
        """The text that Prometheus reads."""
        with self._lock:
            self._series.sweep(int(self._now_s() * 1000))
            return generate_latest(self._families.registry)

    def readiness(self) -> tuple[bool, dict[str, object]]:
        """Whether everything is published and caught up, and what is missing."""
        with self._lock:
            missing = {**self._not_ready, **self._troubles}
            state: dict[str, object] = {"ready": self._restored and not missing, "clusters": missing}
            degraded = {
                cluster: sorted([*self._degraded.get(cluster, ()), *self._gaps.get(cluster, {}).values()])
                for cluster in sorted({*self._degraded, *self._gaps})
                if self._degraded.get(cluster) or self._gaps.get(cluster)
            }
            if degraded:
                state["degraded"] = degraded
            if self._parts:
                state["parts"] = dict(sorted(self._parts.items()))
            if not self._restored:
                state["database"] = "what is open in the database is not published yet"
            return bool(state["ready"]), state


def _not_caught_up(left: int, missing: Mapping[str, str]) -> str:
    if left:
        return f"catching up, {left} records left"
    if missing:
        return "waiting for " + ", ".join(f"{topic} ({why})" for topic, why in sorted(missing.items()))
    return "the first batch is not committed yet"
