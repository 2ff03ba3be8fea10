"""Metrics of Connect clusters: who holds how much after the latest generation, what waits, and until when."""

from .metric import Metric

UNASSIGNED_TASKS = Metric(
    name="rebalance_monitor_connect_unassigned_tasks",
    kind="gauge",
    help="Configured connectors and tasks that no worker of the group holds: all of them when it is Empty or Dead. "
    "Keeps the previous value while a verdict is pending.",
    labels=("cluster", "group"),
)
DELAY_END = Metric(
    name="rebalance_monitor_connect_delay_end_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="Until when a Connect group holds back the tasks of a worker that left, as its latest generation says; "
    "0 when it says nothing of a delay or nobody is left.",
    labels=("cluster", "group"),
)
IDLE_TASK_SECONDS = Metric(
    name="rebalance_monitor_connect_idle_task_seconds_total",
    kind="counter",
    unit="seconds",
    help="Seconds that configured tasks spent in nobody's hands, summed over tasks, by cause (scheduled_delay, "
    "revocation, config_mismatch, unexplained); counted when the next generation ends the interval.",
    labels=("cluster", "group", "cause"),
)
WORKER_CONNECTORS = Metric(
    name="rebalance_monitor_connect_worker_connectors",
    kind="gauge",
    help="Connectors that a worker holds after the latest generation; 0 for an hour after the worker left.",
    labels=("cluster", "group", "worker"),
)
WORKER_TASKS = Metric(
    name="rebalance_monitor_connect_worker_tasks",
    kind="gauge",
    help="Tasks that a worker holds after the latest generation; 0 for an hour after the worker left.",
    labels=("cluster", "group", "worker"),
)
SPREAD = Metric(
    name="rebalance_monitor_connect_spread",
    kind="gauge",
    help="Most minus fewest that a worker of the group holds after the latest generation, by kind: connectors, tasks.",
    labels=("cluster", "group", "kind"),
)
TASK_AGREEMENT = Metric(
    name="rebalance_monitor_connect_task_agreement",
    kind="gauge",
    help="Connectors and tasks by how assignment, recomputed assignment and status topic agree (ok, failed, "
    "unexpected, elsewhere, held_twice, not_started, unassigned, unknown).",
    labels=("cluster", "group", "agreement"),
)
TASK_STATES = Metric(
    name="rebalance_monitor_connect_task_states",
    kind="gauge",
    help="Connectors and tasks by state: running, failed, paused, stopped, restarting as their workers say; starting "
    "(held, nothing said yet), unassigned, lost (unassigned, and its last worker never stopped it), unknown.",
    labels=("cluster", "group", "state"),
)
TASK = Metric(
    name="rebalance_monitor_connect_task",
    kind="gauge",
    unit="bool",
    help="1 for a task (or, with an empty task, a connector) that waits for a worker or is named by an incident "
    "of which people are notified; all others are only counted.",
    labels=("cluster", "group", "connector", "task", "reason"),
)

CONNECT_METRICS = (
    WORKER_CONNECTORS, WORKER_TASKS, SPREAD, TASK_AGREEMENT, TASK_STATES, TASK, UNASSIGNED_TASKS, DELAY_END,
    IDLE_TASK_SECONDS,
)  # fmt: skip
"""All of them, in the order in which the documentation lists them."""
