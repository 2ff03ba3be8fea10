"""Contracts of what is left of days that were cut."""

from rebalance_monitor.streaming.core import tables
from .contract import Contract, known_values, suite

CUTS = suite(
    tables.CUTS,
    known_values("cut_reason_known", "cuts", "reason", "age size", "day"),
    Contract(
        "cut_comes_to_its_end",
        "a day that was cut is gone within two hours, its summaries written",
        "select day, cut_at from rebalance_monitor.cuts where dropped_at is null"
        " and cut_at < now() - interval '2 hours'",
    ),
)

DAILY_SUMMARIES = suite(
    tables.DAILY_SUMMARIES,
    known_values(
        "summary_kind_known", "daily_summaries", "kind", "grade cause moved idle_s rule", 'cluster, "group", day, name'
    ),
    Contract(
        "summary_counts_all_alike",
        "of a group's day as many generations are counted by grade as by cause",
        "select cluster, \"group\", day from rebalance_monitor.daily_summaries where kind in ('grade', 'cause')"
        " group by 1, 2, 3 having coalesce(sum(count) filter (where kind = 'grade'), 0)"
        " <> coalesce(sum(count) filter (where kind = 'cause'), 0)",
    ),
)
