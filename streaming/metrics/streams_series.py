"""The series of one Streams group: what its latest generation says, or that nobody is in it any more."""

from rebalance_monitor.streaming.core import streams_metrics
from rebalance_monitor.streaming.core.metric import Metric
from rebalance_monitor.streaming.core.streams.words import NO_TASKS, TaskCounts
from .families import Families, GroupLabels


def show_tasks(families: Families, key: GroupLabels, counts: TaskCounts | None) -> None:
    """Publishes these numbers; what is not known has no series. None: the group has shown no Streams tasks."""
    for role in NO_TASKS.roles:
        _set(families, streams_metrics.TASKS, (*key, role), None if counts is None else counts.roles.get(role))
    for kind in NO_TASKS.spread:
        _set(families, streams_metrics.SPREAD, (*key, kind), None if counts is None else counts.spread[kind])
    for metric, value in (
        (streams_metrics.MISSING_STANDBYS, None if counts is None else counts.missing_standbys),
        (streams_metrics.MOVES_LEFT, None if counts is None else counts.moves_left),
        (streams_metrics.PROBING_REBALANCES, None if counts is None else counts.probing_rebalances),
        (streams_metrics.NEXT_PROBING, None if counts is None else counts.next_probing_ms / 1000),
    ):
        _set(families, metric, key, value)


def _set(families: Families, metric: Metric, labels: tuple[str, ...], value: float | None) -> None:
    if value is None:
        families.remove(metric, *labels)
    else:
        families.gauge(metric, *labels).set(value)
