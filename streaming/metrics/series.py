"""The published numbers, kept in memory and moved by results: incidents, groups, counters."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from rebalance_monitor.streaming.core import connect_metrics, metrics
from rebalance_monitor.streaming.core.incidents.notifying import NotifiedIncident, notifications
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import (
    Aftermath,
    GapRecord,
    Generation,
    GroupProgress,
    Incident,
    JobState,
    Part,
    Result,
    Standing,
    UndecodableRecord,
)
from rebalance_monitor.streaming.core.model.subjects import Subject
from rebalance_monitor.streaming.core.reading.unreadable import counted_reason
from rebalance_monitor.streaming.core.streams.counted import TaskCounts, counted_tasks
from rebalance_monitor.streaming.metrics.families import Families, GroupLabels
from rebalance_monitor.streaming.metrics.group_series import Groups
from rebalance_monitor.streaming.metrics.incident_series import Incidents
from rebalance_monitor.streaming.metrics.known_group import key_of
from rebalance_monitor.streaming.metrics.limits import SeriesLimits
from rebalance_monitor.streaming.metrics.subject_series import Subjects
from rebalance_monitor.streaming.metrics.task_series import TaskSeries
from rebalance_monitor.streaming.metrics.unseen_ends import UnseenEnds
from rebalance_monitor.streaming.store.loads import Load, loads_of
from rebalance_monitor.streaming.store.maintenance import Windows
from rebalance_monitor.streaming.store.stored import LastGeneration
from rebalance_monitor.streaming.store.text import name

# Reasons are made by decoders; should one ever carry data, the series still stay few.
MOST_REASONS = 50
MOST_CAUSES = 40


class Series:
    """Turns results into series. Not thread-safe: the exporter holds a lock around it."""

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
        self._groups = Groups(families, limits, clock_s)
        self._incidents = Incidents(families, self._groups, path, clock_s, limits, windows)
        self._tasks = TaskSeries(families, self._groups, limits)
        self._subjects = Subjects(families, limits)
        self._unseen_ends = UnseenEnds()
        self._known: dict[GroupLabels, dict[str, NotifiedIncident]] = {}
        self._others: dict[tuple[str, str], set[str]] = {}
        self._reasons: set[str] = set()
        self._causes: set[str] = set()

    def observe(self, results: Sequence[Result]) -> None:
        """One batch's results. A record that several groups tell of counts once."""
        undecodable: dict[object, UndecodableRecord] = {}
        generations = [one for one in results if isinstance(one, Generation)]
        newest = {(one.cluster, one.group): one.source for one in sorted(generations, key=_place)}
        for result in results:
            match result:
                case Generation():
                    if newest[result.cluster, result.group] == result.source:
                        self._latest(result)
                    self._counted(result)
                case Aftermath():
                    pass  # it adds nothing that is counted
                case Standing():
                    self._groups.stands(result)
                case JobState():
                    self._groups.job(result)
                case GroupProgress():
                    pass  # a page's matter: a series for each member of each group is too many
                case Incident() | Part():
                    pass  # a batch's incidents are looked at together
                case UndecodableRecord():
                    undecodable[result.cluster, result.source] = result
                case GapRecord():
                    pass  # counted in the database, which is read every few seconds: here it would count twice
                case _:
                    assert_never(result)
        self._transitions(one for one in results if isinstance(one, Incident))
        for record in undecodable.values():
            self._families.counter(
                metrics.UNDECODABLE_RECORDS, record.cluster, self._reason(counted_reason(record))
            ).inc()

    def _latest(self, generation: Generation) -> None:
        """A gauge shows the newest generation alone: what a batch says of those before it was never to be seen."""
        connect, judged = generation.protocol_type == "connect", generation.verdict.pending_until_ms is None
        self._groups.latest(
            LastGeneration(
                generation.incarnation, generation.source.offset, generation.cluster, generation.group,
                generation.generation, len(generation.members), generation.at_ms,
                len(generation.connect.unassigned) if judged else None, generation.connect.delay_ms, connect,
            ),
            loads_of(generation) if connect else None,
            None if generation.streams is None else counted_tasks(as_object(generation.streams)),
        )  # fmt: skip

    def _counted(self, generation: Generation) -> None:
        if generation.verdict.pending_until_ms is None:
            group = self._groups.label(generation.cluster, generation.group)
            self._families.counter(metrics.GENERATIONS, generation.cluster, group, generation.verdict.grade.value).inc()
            cause = self._cause(generation.cause[0].kind if generation.cause else "unknown")
            self._families.counter(metrics.REBALANCES, generation.cluster, group, cause).inc()
            for cause, idle_ms in generation.connect.idle_ms.items():
                self._families.counter(connect_metrics.IDLE_TASK_SECONDS, generation.cluster, group, cause).inc(
                    idle_ms / 1000
                )

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
                group = self._groups.label(incident.cluster, incident.group)
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

    def latest(
        self, generation: LastGeneration, loads: dict[str, Load] | None = None, tasks: TaskCounts | None = None
    ) -> None:
        """A generation known from before."""
        self._groups.latest(generation, loads, tasks)

    def stands(self, standing: Standing) -> None:
        """A group's state known from before."""
        self._groups.stands(standing)

    def agreement(self, group: tuple[str, str], job: Subject, agreement: str, word: str) -> None:
        """A job known from before."""
        self._groups.agreement(group, job, agreement, word)

    def sweep(self, now_ms: int) -> None:
        """Called before each scrape: what is over goes, what maintenance mutes shows 0."""
        for incident in self._unseen_ends.seen():
            self._publish(incident)
        self._incidents.sweep(now_ms)
        self._groups.sweep()
        self._tasks.sweep()
        self._subjects.sweep()

    def others(self, groups: Iterable[tuple[str, str, str]]) -> None:
        """Groups that are only counted, as (cluster, group, kind)."""
        for cluster, group, kind in groups:
            known = self._others.setdefault((cluster, kind), set())
            known.add(name(group))
            self._families.gauge(metrics.OTHER_GROUPS, cluster, kind).set(len(known))

    def _cause(self, cause: str) -> str:
        if cause not in self._causes and len(self._causes) >= MOST_CAUSES:
            return "other"
        self._causes.add(cause)
        return cause

    def _reason(self, reason: str) -> str:
        if reason not in self._reasons and len(self._reasons) >= MOST_REASONS:
            return "other"
        self._reasons.add(reason)
        return reason


def _place(generation: Generation) -> tuple[int, int]:
    """Which of a group's generations is the newest, as `LastGeneration` says it."""
    return generation.incarnation, generation.source.offset
