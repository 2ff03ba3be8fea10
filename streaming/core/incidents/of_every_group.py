"""The rules that hold of groups of every kind, whatever their lifecycle."""

from rebalance_monitor.streaming.core.incidents import (
    generation_back,
    monitor_error,
    progress,
    restless_groups,
    static_member_missing,
    stuck_rebalance,
)

OF_EVERY_GROUP = (
    *stuck_rebalance.RULES,
    *progress.RULES,
    *static_member_missing.RULES,
    *generation_back.RULES,
    *restless_groups.RULES,
    *monitor_error.RULES,
)
OUTLIVE_EMPTY = frozenset(one.code for one in (*restless_groups.RULES, *monitor_error.RULES))
"""Codes of the rules whose incidents go on where a group has no members for a while."""
