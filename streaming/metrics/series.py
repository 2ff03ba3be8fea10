"""The published numbers, kept in memory and moved by results: incidents, groups, counters."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core import connect_metrics, metrics
from rebalance_monitor.streaming.core.incidents.notifying import NotifiedIncident, notifications
from rebalance_monitor.streaming.core.model.results import (
    GroupProgress,
    Incident,
    JobState,
    RebalanceCost,
    Result,
    Standing,
)
from rebalance_monitor.streaming.store.maintenance import Windows
from rebalance_monitor.streaming.store.text import name
from .batch_view import BatchView, JudgedNumbers, view_of
from .families import Families, GroupLabels
from .group_series import Groups
from .incident_series import Incidents
from .known_group import key_of
from .lag_series import LagSeries
from .limits import SeriesLimits
from .named_series import Subjects, TaskSeries
from .predictions import Predictions
from .unseen_ends import UnseenEnds

# Reasons are made by decoders; should one ever carry data, the series still stay few.
MOST_REASONS = 50
MOST_CAUSES = 40
MOST_REBALANCED = 1_000


class Series:
    """Turns results into series. `groups` takes what is known of groups from before.

    Not thread-safe: the exporter holds a lock around it.
    """

    def __init__(
        self,
        families: Families,
        path: str,
        clock_s: Callable[[], float] = time.monotonic,
        limits: SeriesLimits | None = None,
        windows: Windows | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        limits = limits if limits is not None else SeriesLimits()
        windows = windows if windows is not None else Windows()
        self._families, self._windows, self._now_s = families, windows, now_s
        self.groups = Groups(families, limits, clock_s)
        self._incidents = Incidents(families, self.groups, path, clock_s, limits, windows)
        self._tasks = TaskSeries(families, self.groups, limits)
        self._lags = LagSeries(families, self.groups, limits)
        self._subjects = Subjects(families, limits)
        self._unseen_ends = UnseenEnds()
        self._predictions = Predictions(families)
        self._rebalanced: dict[GroupLabels, int] = {}
        self._known: dict[GroupLabels, dict[str, NotifiedIncident]] = {}
        self._others: dict[tuple[str, str], set[str]] = {}
        self._reasons: set[str] = set()
        self._causes: set[str] = set()

    def observe(self, results: Sequence[Result]) -> None:
        self.show(view_of(results))

    def show(self, view: BatchView) -> None:
        for newest in view.newest:
            self.groups.latest(*newest)
        incidents = [one for one in view.others if isinstance(one, Incident)]
        for one in incidents:
            told = {
                "incident_id": one.incident_id, "code": one.code,
                "opened_at_ms": one.opened_at_ms, "resolved_at_ms": one.resolved_at_ms,
            }  # fmt: skip
            self._predictions.incident(key_of(one.cluster, one.group), told)
        for judged in view.judged:
            self._counted(judged)
        self._predictions.count()
        for result in view.others:
            match result:
                case Standing():
                    self.groups.stands(result)
                case JobState():
                    self.groups.job(result)
                case GroupProgress():
                    self._lags.progress(result)
                case RebalanceCost():
                    self._lags.cost(result)
                case _:
                    # Incidents are looked at together. Gaps are counted in the database, which is read every few
                    # seconds: here they would count twice.
                    pass
        self._transitions(incidents)
        for (cluster, reason), count in view.undecodable.items():
            shown = _bounded(reason, self._reasons, MOST_REASONS)
            self._families.counter(metrics.UNDECODABLE_RECORDS, cluster, shown).inc(count)

    def _counted(self, judged: JudgedNumbers) -> None:
        group = self.groups.label(judged.cluster, judged.group)
        self._families.counter(metrics.GENERATIONS, judged.cluster, group, judged.grade).inc()
        self._families.counter(
            metrics.REBALANCES, judged.cluster, group, _bounded(judged.cause, self._causes, MOST_CAUSES)
        ).inc()
        key = key_of(judged.cluster, judged.group)
        if not judged.historic and len(self._rebalanced) < MOST_REBALANCED:
            self._rebalanced.setdefault(key, judged.at_ms)
        if judged.foretold is not None:
            self._predictions.generation(key, judged.foretold)
        for cause, idle_ms in judged.idle_ms.items():
            self._families.counter(connect_metrics.IDLE_TASK_SECONDS, judged.cluster, group, cause).inc(idle_ms / 1000)

    def rebalanced(self) -> dict[GroupLabels, int]:
        """The groups of which generations were judged since it was asked last, but for history, each with the time of
        the first of them. So many at most; of others nothing is said."""
        found, self._rebalanced = self._rebalanced, {}
        return found

    def _transitions(self, some: Iterable[Incident]) -> None:
        """The transitions of one batch: what people are notified of, and each counted."""
        by_group: dict[GroupLabels, list[Incident]] = {}
        for result in some:
            if not result.historic:
                by_group.setdefault(key_of(result.cluster, result.group), []).append(result)
        for key, transitions in by_group.items():
            self._known[key], told, _ = notifications(self._known.get(key, {}), transitions)
            for incident in told:
                self._incident(incident)
            for incident in transitions:
                group = self.groups.label(incident.cluster, incident.group)
                self._families.counter(
                    metrics.INCIDENT_TRANSITIONS,
                    incident.cluster,
                    group,
                    incident.rule,
                    incident.severity.value,
                    incident.transition,
                ).inc()

    def incidents(self, some: Iterable[Incident], led: Mapping[str, str]) -> None:
        """Incidents known from before; `led` has the leaders of those that are part of another's notification."""
        leaders = set(led.values())
        self._known.clear()
        for incident in some:
            led_by = led.get(incident.incident_id, "") if incident.firing else ""
            if incident.firing or incident.incident_id in leaders:
                known = self._known.setdefault(key_of(incident.cluster, incident.group), {})
                known[incident.incident_id] = NotifiedIncident(incident, led_by)
            if not led_by:
                self._incident(replace(incident, firing=incident.firing or incident.incident_id in leaders))

    def _incident(self, incident: Incident) -> None:
        muting = self._windows.muting(incident.cluster, incident.group, int(self._now_s() * 1000))
        if not self._unseen_ends.holds(incident, muted=muting is not None):
            self._publish(incident)

    def _publish(self, incident: Incident) -> None:
        self._incidents.state(incident)
        self._tasks.incident(incident)
        self._subjects.incident(incident)

    def sweep(self, now_ms: int) -> None:
        """Called before each scrape: what is over goes, what maintenance mutes shows 0."""
        for incident in self._unseen_ends.seen():
            self._publish(incident)
        self._incidents.sweep(now_ms)
        self.groups.sweep()
        self._tasks.sweep()
        self._lags.sweep()
        self._subjects.sweep()

    def others(self, groups: Iterable[tuple[str, str, str]]) -> None:
        """Groups that are only counted, as (cluster, group, kind)."""
        for cluster, group, kind in groups:
            known = self._others.setdefault((cluster, kind), set())
            known.add(name(group))
            self._families.gauge(metrics.OTHER_GROUPS, cluster, kind).set(len(known))


def _bounded(word: str, known: set[str], most: int) -> str:
    """The word, if it is known or one of the first; else that of all others."""
    if word not in known and len(known) >= most:
        return "other"
    known.add(word)
    return word
