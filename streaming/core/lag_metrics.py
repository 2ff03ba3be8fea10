"""Metrics of lag: how far groups have come by polled offsets, and what their rebalances held up.

What is not known has no series. Which topics and partitions have series of their own, `metrics.lag` says.
"""

from .metric import Metric

LAG_RECORDS = Metric(
    name="rebalance_monitor_lag_records",
    kind="gauge",
    unit="records",
    help="Records between a group's committed offsets and the end offsets, over the partitions of which both are "
    "known; with or without members.",
    labels=("cluster", "group"),
)
LAG_SECONDS = Metric(
    name="rebalance_monitor_lag_seconds",
    kind="gauge",
    unit="seconds",
    help="How long ago the first record was written that the group has not read yet, in its worst partition: the time "
    "since the end offset passed the committed offset, by samples of end offsets. A lower bound where it is longer "
    "than the monitor has sampled.",
    labels=("cluster", "group"),
)
LAG_TREND = Metric(
    name="rebalance_monitor_lag_trend",
    kind="gauge",
    help="1 while the group falls behind, -1 while it catches up, 0 while its lag is steady, by its last ten samples.",
    labels=("cluster", "group"),
)
LAG_UNKNOWN = Metric(
    name="rebalance_monitor_lag_unknown_partitions",
    kind="gauge",
    help="Partitions of a group of which the lag is not known: never committed, no end offset, or one before the "
    "committed offset.",
    labels=("cluster", "group"),
)
NEVER_COMMITTED = Metric(
    name="rebalance_monitor_never_committed_partitions",
    kind="gauge",
    help="Partitions that members of a group hold and of which brokers tell no committed offset: it has never "
    "committed on them, its commits have expired, or the monitor may not describe the topic.",
    labels=("cluster", "group"),
)
COMMIT_CHANGED = Metric(
    name="rebalance_monitor_commit_changed_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When a sample last showed another committed offset of the group than the one before (lag.from: log: when it "
    "was committed, by the coordinator's clock); no series while none did since the monitor began.",
    labels=("cluster", "group"),
)
LAG_SAMPLED = Metric(
    name="rebalance_monitor_lag_sampled_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When brokers last answered for the group's offsets: of when its lag is.",
    labels=("cluster", "group"),
)
TOPIC_LAG_RECORDS = Metric(
    name="rebalance_monitor_topic_lag_records",
    kind="gauge",
    unit="records",
    help="As rebalance_monitor_lag_records, for each topic of a group (metrics.lag: topic or partition).",
    labels=("cluster", "group", "topic"),
)
TOPIC_LAG_SECONDS = Metric(
    name="rebalance_monitor_topic_lag_seconds",
    kind="gauge",
    unit="seconds",
    help="As rebalance_monitor_lag_seconds, for each topic of a group (metrics.lag: topic or partition).",
    labels=("cluster", "group", "topic"),
)
PARTITION_LAG_RECORDS = Metric(
    name="rebalance_monitor_partition_lag_records",
    kind="gauge",
    unit="records",
    help="As rebalance_monitor_lag_records, for each partition of a group (metrics.lag: partition).",
    labels=("cluster", "group", "topic", "partition"),
)
PARTITION_LAG_SECONDS = Metric(
    name="rebalance_monitor_partition_lag_seconds",
    kind="gauge",
    unit="seconds",
    help="As rebalance_monitor_lag_seconds, for each partition of a group (metrics.lag: partition).",
    labels=("cluster", "group", "topic", "partition"),
)
PARTITION_COMMITTED = Metric(
    name="rebalance_monitor_partition_committed_offset",
    kind="gauge",
    help="The group's committed offset (metrics.lag: partition).",
    labels=("cluster", "group", "topic", "partition"),
)
PARTITION_END = Metric(
    name="rebalance_monitor_partition_end_offset",
    kind="gauge",
    help="The partition's end offset, its last stable one (metrics.lag: partition).",
    labels=("cluster", "group", "topic", "partition"),
)
HIDDEN_LAGS = Metric(
    name="rebalance_monitor_hidden_lags",
    kind="gauge",
    help="Topics or partitions of groups that metrics.lag wants to show and that have no series (metrics.max_lags, and "
    "of one group the 500 partitions with the largest lag).",
    labels=("cluster",),
)
REBALANCES_MEASURED = Metric(
    name="rebalance_monitor_rebalances_measured_total",
    kind="counter",
    help="Rebalances of groups whose offsets are polled, by what became of the lag that they added: caught_up, "
    "not_caught_up (another rebalance came before, the members left, or an hour was over), not_known (samples too few "
    "or too far away).",
    labels=("cluster", "group", "outcome"),
)
HELD_UP_RECORDS = Metric(
    name="rebalance_monitor_rebalance_held_up_records_total",
    kind="counter",
    unit="records",
    help="Records that rebalances held up: by how many the group's lag grew above what it was before. Of several "
    "before the group had caught up it is counted once, with the last one.",
    labels=("cluster", "group"),
)
HELD_UP_SECONDS = Metric(
    name="rebalance_monitor_rebalance_held_up_seconds_total",
    kind="counter",
    unit="seconds",
    help="From rebalances that added lag to the first sample with no more lag than before, of those where one came.",
    labels=("cluster", "group"),
)
CAUGHT_UP = Metric(
    name="rebalance_monitor_rebalance_caught_up_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When a sample first showed no more lag than before the group's last measured rebalance; no series where it "
    "did not catch up, or that is not known.",
    labels=("cluster", "group"),
)

OF_PARTITIONS = (PARTITION_LAG_RECORDS, PARTITION_LAG_SECONDS, PARTITION_COMMITTED, PARTITION_END)
"""Off unless asked for, and bounded by metrics.max_lags."""

LAG_METRICS = (
    LAG_RECORDS, LAG_SECONDS, LAG_TREND, LAG_UNKNOWN, NEVER_COMMITTED, COMMIT_CHANGED, LAG_SAMPLED, TOPIC_LAG_RECORDS,
    TOPIC_LAG_SECONDS, PARTITION_LAG_RECORDS, PARTITION_LAG_SECONDS, PARTITION_COMMITTED, PARTITION_END, HIDDEN_LAGS,
    REBALANCES_MEASURED, HELD_UP_RECORDS, HELD_UP_SECONDS, CAUGHT_UP,
)  # fmt: skip
