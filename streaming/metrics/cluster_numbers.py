"""What is published of one cluster, and whether it is ready: its groups, incidents, batches, reader and pollers."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from rebalance_monitor.streaming.core import metrics, polling_metrics
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.core.model.results import Incident, Result, Standing
from rebalance_monitor.streaming.core.model.subjects import Subject
from rebalance_monitor.streaming.core.streams.words import TaskCounts
from rebalance_monitor.streaming.store.gaps import TopicGaps
from rebalance_monitor.streaming.store.loads import Load
from rebalance_monitor.streaming.store.stored import LastGeneration
from rebalance_monitor.streaming.stories.score import JudgedPrediction
from .batch_view import BatchView
from .families import Families, GroupLabels
from .incident_series import ZERO_FOR_S
from .known_group import key_of
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
    """What a start publishes again of one cluster; the PostgreSQL store has it."""

    @property
    def cluster(self) -> str: ...
    def open_incidents(self, resolved_since_ms: int | None = None) -> Iterable[Incident]: ...
    def led(self) -> Mapping[str, str]: ...
    def latest_generations(self) -> Iterable[LastGeneration]: ...
    def latest_loads(self) -> Mapping[tuple[str, str], dict[str, Load]]: ...
    def latest_tasks(self) -> Mapping[tuple[str, str], TaskCounts]: ...
    def standings(self) -> Iterable[Standing]: ...
    def agreements(self) -> Iterable[tuple[tuple[str, str], Subject, str, str]]: ...
    def counted_groups(self) -> Iterable[tuple[str, str, str]]: ...
    def look_for_windows(self) -> None: ...


class ClusterNumbers:
    """One cluster's series. Every method may be called from any thread."""

    def __init__(
        self,
        cluster: str,
        families: Families,
        series: Series,
        lock: "threading.RLock",
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """`lock`: held while anything changes; a scrape holds it, too."""
        self.cluster, self.families, self._series, self._lock, self._now_s = cluster, families, series, lock, now_s
        self.committed_s: float | None = None
        self.restored = False
        self.holder: str | None = None
        self._not_ready: str | None = None
        self._trouble: str | None = None
        self._unreadable = False
        self._degraded: dict[str, str] = {}
        self._reasons: set[str] = set()
        self._parts: dict[str, str] = {}
        self._gaps: dict[str, str] = {}
        self._lagging: frozenset[str] = frozenset()

    def begin(self, version: str, page: str) -> None:
        """What is said before anything was read."""
        for metric in metrics.OF_CLUSTER:
            self.families.series(metric, (self.cluster,))  # with the value 0
        self.families.gauge(metrics.BUILD_INFO, self.cluster, version, page).set(1)
        self.set_health("nothing was read yet")
        self.families.gauge(metrics.BLIND, self.cluster).set(0)
        self.families.gauge(metrics.STANDBY, self.cluster).set(0)

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
            self.restored = True

    def rebalanced(self) -> dict[GroupLabels, int]:
        """As of `Series`."""
        with self._lock:
            return self._series.rebalanced()

    def predicted(self, predictions: Iterable[JudgedPrediction]) -> None:
        with self._lock:
            for one in predictions:
                self.families.counter(metrics.PREDICTIONS, self.cluster, one.what.value, one.fate.value).inc()

    def observe(self, results: Sequence[Result]) -> None:
        with self._lock:
            self._series.observe(results)

    def batch(self, report: BatchResults) -> None:
        now_s = self._now_s()
        with self._lock:
            self.committed_s = now_s
            self._series.show(report.view)
            self._series.others(report.other_groups)
            for (topic, kind), count in report.kinds.items():
                self.families.counter(metrics.RECORDS, self.cluster, topic, kind).inc(count)
            for error, count in report.fold_errors.items():
                self.families.counter(metrics.FOLD_ERRORS, self.cluster, error).inc(count)
            for table in report.refused:
                self.families.counter(metrics.REFUSED_ROWS, self.cluster, table).inc()
            for topic, count in report.unknown_tags.items():
                self.families.counter(metrics.UNKNOWN_TAGGED_FIELDS, self.cluster, topic).inc(count)
            self.families.gauge(metrics.HEARTBEAT, self.cluster).set(now_s)
            for judged in report.view.judged:
                if not judged.historic:
                    judged_after_s = max(0.0, now_s - judged.at_ms / 1000)
                    self.families.histogram(metrics.JUDGED_AFTER, self.cluster).observe(judged_after_s)
            if report.rows:
                self.families.histogram(metrics.BATCH_SECONDS, self.cluster).observe(report.seconds)
                self.families.gauge(metrics.LAST_BATCH, self.cluster).set(now_s)
                self.families.gauge(metrics.LAST_BATCH_DURATION, self.cluster).set(report.seconds)
            self.families.counter(metrics.BATCHES, self.cluster).inc()

    def reader(self, status: Status) -> None:
        problem = status.problem
        if problem is None and not status.caught_up:
            problem = _not_caught_up(sum(status.backlog.values()), status.missing)
        with self._lock:
            self._lag(status)
            self._unreadable = status.problem is not None
            self.families.gauge(metrics.BLIND, self.cluster).set(int(status.blind is not None))
            self.set_degraded({f"{topic}: {why}": topic for topic, why in status.missing.items()})
            self.set_health(problem)

    def _lag(self, status: Status) -> None:
        """While the cluster gives no answer the last lag stands; a topic that is not read any more has none."""
        known = frozenset(status.backlog) | (self._lagging if status.problem is not None else frozenset())
        for topic in self._lagging - known:
            self.families.remove(metrics.POSITION_LAG, self.cluster, topic)
        for topic, count in status.backlog.items():
            self.families.gauge(metrics.POSITION_LAG, self.cluster, topic).set(count)
        self._lagging = known

    def trouble(self, problem: str | None) -> None:
        with self._lock:
            self._trouble = problem
            self.set_health(self._not_ready)

    def stands_by(self, holder: str | None) -> None:
        with self._lock:
            if holder is None and self.holder is None:
                return  # what troubles the cluster still does
            self.holder = holder
            self._trouble = None
            self.families.gauge(metrics.STANDBY, self.cluster).set(int(holder is not None))
            self.set_health(self._not_ready)

    def set_health(self, problem: str | None) -> None:
        """Whether the cluster is reachable and caught up: None, or why not."""
        with self._lock:
            self._not_ready = problem
            self.families.gauge(metrics.READY, self.cluster).set(int(self.why_not_ready() is None))

    def why_not_ready(self) -> str | None:
        if self.stands_by_well():
            return f"stands by: {self.holder} judges this cluster"
        return self._trouble or self._not_ready

    def stands_by_well(self) -> bool:
        """Whether another job judges the cluster, and nothing hinders this one to take over."""
        return self.holder is not None and self._trouble is None

    def cannot_be_read(self) -> bool:
        """Whether it is not ready for a reason that waiting for the end of its topics does not mend: its query does not
        run, brokers do not answer, or another job judges it. The alerts of each cluster tell what is wrong of these."""
        return self._trouble is not None or self._unreadable or self.holder is not None

    def set_degraded(self, reasons: Mapping[str, str]) -> None:
        """Features that are off, by reason; a reason no longer given goes to 0."""
        with self._lock:
            self._degraded = dict(reasons)
            now = {*reasons, *self._gaps}
            for reason in self._reasons | now:
                self.families.gauge(metrics.DEGRADED, self.cluster, reason).set(int(reason in now))
            self._reasons = now

    def degraded(self) -> list[str]:
        """What is off, for people."""
        return sorted([*self._degraded, *self._gaps.values()])

    def part(self, name: str, problem: str | None) -> None:
        """Why a part of the monitor fails now; None when it works."""
        with self._lock:
            show_part(self.families, self.cluster, self._parts, name, problem)

    def parts(self) -> dict[str, str]:
        """Parts that fail, and why."""
        return dict(self._parts)

    def polled(self, poller: str, requests: int, answered_ms: int | None) -> None:
        """A poller made so many requests; `answered_ms`: when the answer came, None if none did."""
        with self._lock:
            self.families.counter(polling_metrics.POLL_REQUESTS, self.cluster, poller).inc(requests)
            if answered_ms is not None:
                self.families.gauge(polling_metrics.LAST_POLL, self.cluster, poller).set(answered_ms / 1000)

    def progress_turn(self, seconds: float, from_log: int) -> None:
        """A turn through all groups took so long; the log told the offsets of so many."""
        with self._lock:
            self.families.gauge(polling_metrics.PROGRESS_TURN, self.cluster).set(seconds)
            self.families.gauge(polling_metrics.GROUPS_FROM_LOG, self.cluster).set(from_log)

    def groups_unseen(self, *, unseen: bool) -> None:
        """Whether brokers leave out groups that the monitor may not describe, when they are asked who rebalances."""
        with self._lock:
            self.families.gauge(polling_metrics.GROUPS_UNSEEN, self.cluster).set(int(unseen))

    def gaps(self, known: Iterable[TopicGaps]) -> None:
        """All gaps of the cluster, by topic: the offsets lost, and a reason to be degraded where one is still shown."""
        reasons: dict[str, str] = {}
        with self._lock:
            for gap in known:
                lost = self.families.counter(metrics.GAP_RECORDS, self.cluster, gap.topic)
                lost.inc(max(0, gap.offsets - lost._value.get()))
                self.families.gauge(metrics.GAPS_SHOWN, self.cluster, gap.topic).set(gap.shown)
                if gap.shown:
                    shown = counted(gap.shown, "gap")
                    why = f"{gap.topic}: records were gone before they were read ({shown} not acknowledged)"
                    reasons[f"{gap.topic}: gap"] = why
            self._gaps = reasons
            self.set_degraded(self._degraded)

    def sweep(self) -> None:
        """Called before each scrape: what is over goes, what maintenance mutes shows 0."""
        self._series.sweep(int(self._now_s() * 1000))


def show_part(families: Families, label: str, failing: dict[str, str], name: str, problem: str | None) -> None:
    """A part fails, or works again. `failing`: those that failed until now, with their problems; it is brought up to
    date."""
    failed = failing.pop(name, None) is not None
    if problem is not None:
        failing[name] = problem
    if failed or problem is not None:
        families.gauge(metrics.PART_FAILING, label, name).set(int(problem is not None))
        families.counter(metrics.PART_FAILURES, label, name).inc(int(problem is not None))


def _not_caught_up(left: int, missing: Mapping[str, str]) -> str:
    if left:
        return f"catching up, {left} records left"
    if missing:
        return "waiting for " + ", ".join(f"{topic} ({why})" for topic, why in sorted(missing.items()))
    return "the first batch is not committed yet"
