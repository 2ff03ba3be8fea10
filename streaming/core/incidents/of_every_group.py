"""The rules that hold of groups of every kind, whatever their lifecycle."""

from rebalance_monitor.streaming.core.incidents import monitor_error, progress, static_member_missing, stuck_rebalance

OF_EVERY_GROUP = (
    *stuck_rebalance.RULES,
    *progress.RULES,
    *static_member_missing.RULES,
    *monitor_error.RULES,
)
