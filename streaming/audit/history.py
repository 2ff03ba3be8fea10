"""Contracts of what is left of days that were cut."""

from rebalance_monitor.streaming.core import tables
from rebalance_monitor.streaming.core.costs import FIGURES
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

_KNOWN_OF = ", ".join(column.name for column in tables.COST_COLUMNS if column.name.endswith("_of"))
COSTS = suite(
    tables.COSTS,
    Contract(
        "cost_known_of_no_more_than_all",
        "a figure is known of at most as many rebalances as there are",
        f'select cluster, "group", day, cause from rebalance_monitor.costs where greatest({_KNOWN_OF}) > rebalances',
    ),
    Contract(
        "cost_as_the_document_says",
        "what a rebalance cost is what its document says",
        'select cluster, topic_id, partition, "offset" from rebalance_monitor.stored_generations'
        " cross join lateral (select rebalance_monitor.cost_of(document, protocol_type) as told offset 0) as computed"
        " where coalesce(cost, told) is distinct from told",
    ),
)

_ALL = ", ".join(f"coalesce({figure.name}, 0) as {figure.name}" for figure in FIGURES)
_SPLIT = ", ".join(f"-coalesce({figure.name}, 0)" for figure in FIGURES)
_LEFT = " or ".join(f"sum({figure.name}) <> 0" for figure in FIGURES)
CONNECTOR_COSTS = suite(
    tables.CONNECTOR_COSTS,
    Contract(
        "connectors_cost_what_the_rebalance_does",
        "of a group's day connectors and what is not split come to what its rebalances cost",
        f'select cluster, "group", day from (select cluster, "group", day, {_ALL} from rebalance_monitor.costs'
        f' union all select cluster, "group", day, {_SPLIT} from rebalance_monitor.connector_costs) as both_ways'
        f" group by 1, 2, 3 having {_LEFT}",
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
