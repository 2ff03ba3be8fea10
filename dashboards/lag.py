"""How far one group is behind, and what its rebalances held up."""

from rebalance_monitor.streaming.core import lag_metrics as lags
from . import queries
from .panels import Panel, graph
from .queries import ONE_GROUP, line

ALL = queries.aggregated


def lag() -> list[Panel]:
    return [
        graph(
            "Lag",
            [
                line("group", ALL, lags.LAG_RECORDS, ONE_GROUP, how="max"),
                line("{{topic}}", ALL, lags.TOPIC_LAG_RECORDS, ONE_GROUP, how="max"),
            ],
            unit="none",
            description="Records between committed offsets and end offsets. Topics have lines with metrics.lag: topic.",
        ),
        graph(
            "Lag in time",
            [
                line("group", ALL, lags.LAG_SECONDS, ONE_GROUP, how="max"),
                line("{{topic}}", ALL, lags.TOPIC_LAG_SECONDS, ONE_GROUP, how="max"),
            ],
            unit="s",
            description="How long ago the first record was written that is not read yet.",
        ),
        graph(
            "Partitions",
            [
                line("{{topic}} {{partition}}", ALL, lags.PARTITION_LAG_RECORDS, ONE_GROUP, how="max"),
                line("{{topic}} {{partition}}, seconds", ALL, lags.PARTITION_LAG_SECONDS, ONE_GROUP, how="max"),
            ],
            unit="none",
            description="Lag of each partition in records and in seconds, with metrics.lag: partition.",
        ),
        graph(
            "Committed and written",
            [
                line("{{topic}} committed", ALL, lags.PARTITION_COMMITTED, ONE_GROUP),
                line("{{topic}} end", ALL, lags.PARTITION_END, ONE_GROUP),
            ],
            unit="none",
            description="Sums of committed offsets and of end offsets, with metrics.lag: partition.",
        ),
        graph(
            "Trend",
            [line("trend", ALL, lags.LAG_TREND, ONE_GROUP, how="max")],
            unit="none",
            description="1 falling behind, -1 catching up, 0 steady.",
        ).min(-1),
        graph(
            "Partitions that are not known",
            [
                line("lag not known", ALL, lags.LAG_UNKNOWN, ONE_GROUP, how="max"),
                line("held and never committed", ALL, lags.NEVER_COMMITTED, ONE_GROUP, how="max"),
            ],
            unit="none",
            description="Partitions of which the lag is not known, and those of them that members hold.",
        ),
        graph(
            "Since",
            [
                line("another committed offset", queries.age, lags.COMMIT_CHANGED, ONE_GROUP),
                line("the last sample", queries.age, lags.LAG_SAMPLED, ONE_GROUP),
                line("it had caught up after a rebalance", queries.age, lags.CAUGHT_UP, ONE_GROUP),
            ],
            unit="s",
            description="Of when the lag is, when the group last committed, and when it last had caught up.",
        ),
        graph(
            "Held up by rebalances",
            [
                line("records", queries.per_minute, lags.HELD_UP_RECORDS, ONE_GROUP),
                line("seconds", queries.per_minute, lags.HELD_UP_SECONDS, ONE_GROUP),
                line("rebalances {{outcome}}", queries.per_minute, lags.REBALANCES_MEASURED, ONE_GROUP),
            ],
            unit="none",
            description="Records that rebalances held up, and until the group had caught up, per minute.",
        ),
    ]
