"""Metrics of Streams groups: who runs and copies how much after the latest generation, and how far its moves are."""

from .metric import Metric

TASKS = Metric(
    name="rebalance_monitor_streams_tasks",
    kind="gauge",
    help="Tasks that a Streams group's latest generation names, by role: active, standby, warm_up (a copy that is to "
    "catch up), transient (keeps the state until the task is handed over), withheld (nobody runs it until its owner "
    "gives it up). While roles of copies are not known, all are standby, and warm_up and transient have no series.",
    labels=("cluster", "group", "role"),
)
MISSING_STANDBYS = Metric(
    name="rebalance_monitor_streams_missing_standbys",
    kind="gauge",
    help="Copies that tasks with state lack against num.standby.replicas; no series while the setting is not known.",
    labels=("cluster", "group"),
)
MOVES_LEFT = Metric(
    name="rebalance_monitor_streams_moves_left",
    kind="gauge",
    help="Tasks with state that, or whose copies, are elsewhere than they shall be once nothing lags; no series while "
    "the target placement is not known.",
    labels=("cluster", "group"),
)
PROBING_REBALANCES = Metric(
    name="rebalance_monitor_streams_probing_rebalances",
    kind="gauge",
    help="Probing rebalances in a row with the members of now; no series while the target placement is not known.",
    labels=("cluster", "group"),
)
NEXT_PROBING = Metric(
    name="rebalance_monitor_streams_next_probing_rebalance_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When a Streams group's members join again for the next probing rebalance; 0 when none is set.",
    labels=("cluster", "group"),
)
SPREAD = Metric(
    name="rebalance_monitor_streams_spread",
    kind="gauge",
    help="Most minus fewest active tasks that a process has after the latest generation, by kind: stateful, stateless.",
    labels=("cluster", "group", "kind"),
)

STREAMS_METRICS = (
    TASKS, MISSING_STANDBYS, MOVES_LEFT, PROBING_REBALANCES, NEXT_PROBING,
    SPREAD,
)  # fmt: skip
"""All of them, in the order in which the documentation lists them."""
