"""Metrics of the pollers: what brokers are asked beside the topics that are read."""

from .metric import Metric

POLL_REQUESTS = Metric(
    name="rebalance_monitor_poll_requests_total",
    kind="counter",
    help="Requests that a poller made to brokers beside reading, by poller: topics (partition counts and racks), "
    "group_states (which groups rebalance), groups (all groups, on a cluster whose source is poll), progress "
    "(committed offsets and end offsets).",
    labels=("cluster", "poller"),
)
LAST_POLL = Metric(
    name="rebalance_monitor_last_poll_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When a poller got its last answer from brokers.",
    labels=("cluster", "poller"),
)
PROGRESS_TURN = Metric(
    name="rebalance_monitor_progress_turn_seconds",
    kind="gauge",
    unit="seconds",
    help="From the beginning of the last turn through all groups whose offsets are asked for to the next one: above "
    "polling.progress_every_ms where 20 requests a second, or 10,000 partitions in that time, are too few for them.",
    labels=("cluster",),
)
GROUPS_FROM_LOG = Metric(
    name="rebalance_monitor_groups_with_offsets_from_log",
    kind="gauge",
    help="Groups whose committed offsets came from the log in the last turn (lag.from: log); brokers were asked for "
    "those of all others.",
    labels=("cluster",),
)
GROUPS_UNSEEN = Metric(
    name="rebalance_monitor_groups_unseen",
    kind="gauge",
    help="1 while brokers list only groups that the monitor may describe one by one (it may not describe the cluster): "
    "a rebalance of another group that does not end is not seen.",
    labels=("cluster",),
)
