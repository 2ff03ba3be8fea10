"""Expressions of the alerts about the monitor itself: the dead man's rule and what makes its silence worthless.

A heartbeat of 0 means "never yet", as in a monitor that is still starting. Every rule holds per monitor. One monitor
watches one cluster, so the cluster's name says which monitor it is.
"""

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.incidents.own_alerts import (
    ABSENT,
    AUDIT_FAILED,
    BLIND,
    CLUSTER_NOT_READY,
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
)
from rebalance_monitor.streaming.core.metrics import CLUSTER
from .alert import Alert
from .queries import age, aggregated, gone, grew, kept, not_begun_while, series

_PER_MONITOR = (CLUSTER,)
_PER_REASON = (CLUSTER, "reason")
_OVERFLOW = 'reason="overflow"'
_UNEXPLAINED = 'grade="unexplained"'
_FAILED = 'outcome="failed"'
_REFUSED = 'outcome="refused"'


def monitor_alerts() -> tuple[Alert, ...]:
    """Rules about the monitor; all others are worth nothing while one of the critical ones fires."""
    blind = f"{aggregated(metrics.BLIND, _PER_MONITOR, how='max')} == 1"
    return (
        Alert(own=ABSENT, expr=f"{gone()} or (absent({series(metrics.HEARTBEAT)} > 0) unless on () {gone()})"),
        Alert(own=STALE, expr=kept(f"{age(metrics.HEARTBEAT, _PER_MONITOR)} > 120", STALE.name, _PER_MONITOR)),
        Alert(
            own=BLIND,
            expr=kept(blind, BLIND.name, _PER_MONITOR),
        ),
        Alert(
            own=CLUSTER_NOT_READY,
            expr=kept(
                f"{aggregated(metrics.READY, _PER_MONITOR, how='max')} == 0",
                CLUSTER_NOT_READY.name,
                _PER_MONITOR,
            ),
        ),
        Alert(
            own=DEGRADED,
            expr=kept(
                not_begun_while(
                    f"{aggregated(metrics.DEGRADED, _PER_REASON, how='max')} == 1", blind, DEGRADED.name, _PER_REASON
                ),
                DEGRADED.name,
                _PER_REASON,
            ),
        ),
        Alert(
            own=GAP,
            expr=kept(
                f"{aggregated(metrics.GAPS_SHOWN, ('cluster', 'topic'), how='max')} > 0",
                GAP.name,
                ("cluster", "topic"),
            ),
        ),
        Alert(
            own=PART_FAILING,
            expr=kept(
                f"{aggregated(metrics.PART_FAILING, ('cluster', 'part'), how='max')} == 1",
                PART_FAILING.name,
                ("cluster", "part"),
            ),
        ),
        Alert(own=ROWS_REFUSED, expr=grew(metrics.REFUSED_ROWS, ("cluster", "table"))),
        Alert(
            own=AUDIT_FAILED,
            expr=kept(
                f"({aggregated(metrics.AUDIT_SUCCESS, _PER_MONITOR, how='max')} == 0) "
                f"and ({aggregated(metrics.AUDIT_LAST_RUN, _PER_MONITOR, how='max')} > 0)",
                AUDIT_FAILED.name,
                _PER_MONITOR,
            ),
        ),
        Alert(
            own=NOTIFICATIONS_STUCK,
            expr=kept(
                f"{aggregated(metrics.OUTBOX_PENDING, _PER_MONITOR, how='max')} > 0 "
                f"and on (cluster) ({grew(metrics.NOTIFICATIONS, _PER_MONITOR, _FAILED)})",
                NOTIFICATIONS_STUCK.name,
                _PER_MONITOR,
            ),
        ),
        Alert(own=NOTIFICATIONS_REFUSED, expr=grew(metrics.NOTIFICATIONS, _PER_MONITOR, _REFUSED)),
        Alert(own=UNEXPLAINED, expr=grew(metrics.GENERATIONS, ("cluster", "group"), _UNEXPLAINED)),
        Alert(own=UNDECODABLE, expr=grew(metrics.UNDECODABLE_RECORDS, ("cluster", "reason"))),
        Alert(own=GROUPS_HIDDEN, expr=f"{aggregated(metrics.HIDDEN_GROUPS, ('cluster',), _OVERFLOW, how='max')} > 0"),
    )
