"""Expressions of the alerts about the monitor itself: the dead man's rule and what makes its silence worthless.

A heartbeat of 0 means "never yet", as in a monitor that is still starting. Every rule holds per monitor. One monitor
watches one cluster, so the cluster's name says which monitor it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.incidents.own_alerts import (
    ABSENT,
    AUDIT_FAILED,
    BLIND,
    CLUSTER_NOT_READY,
    DATABASE_FULL,
    DEGRADED,
    GAP,
    GROUPS_HIDDEN,
    NOTIFICATIONS_REFUSED,
    NOTIFICATIONS_STUCK,
    PART_FAILING,
    ROWS_REFUSED,
    STALE,
    UNDECODABLE,
    UNEXPLAINED,
    OwnAlert,
)
from rebalance_monitor.streaming.core.metrics import CLUSTER
from .queries import age, aggregated, gone, grew, kept, not_begun_while, series


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One rule: what it says, and the expression that makes it fire."""

    own: OwnAlert
    expr: str


_OVERFLOW = 'reason="overflow"'
_PER_MONITOR, _PER_REASON, _PER_TOPIC, _PER_PART = (
    (CLUSTER,),
    (CLUSTER, "reason"),
    (CLUSTER, "topic"),
    (CLUSTER, "part"),
)


def monitor_alerts() -> tuple[Alert, ...]:
    """Rules about the monitor; all others are worth nothing while one of the critical ones fires."""
    blind = f"{_worst(metrics.BLIND)} == 1"
    degraded = not_begun_while(f"{_worst(metrics.DEGRADED, _PER_REASON)} == 1", blind, DEGRADED.name, _PER_REASON)
    unmet = f"({_worst(metrics.AUDIT_SUCCESS)} == 0) and ({_worst(metrics.AUDIT_LAST_RUN)} > 0)"
    size, limit = aggregated(metrics.DATABASE_BYTES, _PER_MONITOR), _worst(metrics.DATABASE_LIMIT)
    failing = grew(metrics.NOTIFICATIONS, _PER_MONITOR, 'outcome="failed"')
    return (
        Alert(own=ABSENT, expr=f"{gone()} or (absent({series(metrics.HEARTBEAT)} > 0) unless on () {gone()})"),
        _lasting(STALE, f"{age(metrics.HEARTBEAT, _PER_MONITOR)} > 120"),
        _lasting(BLIND, blind),
        _lasting(CLUSTER_NOT_READY, f"{_worst(metrics.READY)} == 0"),
        _lasting(DEGRADED, degraded, _PER_REASON),
        _lasting(GAP, f"{_worst(metrics.GAPS_SHOWN, _PER_TOPIC)} > 0", _PER_TOPIC),
        _lasting(PART_FAILING, f"{_worst(metrics.PART_FAILING, _PER_PART)} == 1", _PER_PART),
        Alert(own=ROWS_REFUSED, expr=grew(metrics.REFUSED_ROWS, (CLUSTER, "table"))),
        _lasting(AUDIT_FAILED, unmet),
        _lasting(NOTIFICATIONS_STUCK, f"{_worst(metrics.OUTBOX_PENDING)} > 0 and on (cluster) ({failing})"),
        _lasting(DATABASE_FULL, f"{size} > on (cluster) {limit}"),
        Alert(own=NOTIFICATIONS_REFUSED, expr=grew(metrics.NOTIFICATIONS, _PER_MONITOR, 'outcome="refused"')),
        Alert(own=UNEXPLAINED, expr=grew(metrics.GENERATIONS, (CLUSTER, "group"), 'grade="unexplained"')),
        Alert(own=UNDECODABLE, expr=grew(metrics.UNDECODABLE_RECORDS, _PER_REASON)),
        Alert(own=GROUPS_HIDDEN, expr=f"{_worst(metrics.HIDDEN_GROUPS, scope=_OVERFLOW)} > 0"),
    )


def _worst(metric: metrics.Metric, by: Sequence[str] = _PER_MONITOR, scope: str = "") -> str:
    return aggregated(metric, by, scope, how="max")


def _lasting(own: OwnAlert, expression: str, by: Sequence[str] = _PER_MONITOR) -> Alert:
    """A rule that goes on to fire while the monitor that said so is gone."""
    return Alert(own=own, expr=kept(expression, own.name, by))
