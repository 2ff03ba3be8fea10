"""Every exported metric, declared once: exporter, dashboards, alert rules and documentation read these objects.

Rules that the declarations obey (and a test enforces): names start with `rebalance_monitor_`; base units (seconds,
bytes, records) stand at the end of the name; counters end in `_total`; moments are exported as timestamps, never as
ages, so that a stopped exporter shows as an old moment and not as a young age; a label's values are bounded by what
exists in the cluster (clusters, groups, topics, workers, connectors) - incident ids and messages belong to the
database, and a member is named only as long as an incident about it is notified. How many groups and tasks get series
of their own is bounded by the configuration.
"""

import re

from .connect_metrics import CONNECT_METRICS
from .lag_metrics import LAG_METRICS
from .metric import CLUSTER, LABEL_NAME, PREFIX, Metric
from .polling_metrics import GROUPS_FROM_LOG, GROUPS_UNSEEN, LAST_POLL, POLL_REQUESTS, PROGRESS_TURN
from .streams_metrics import STREAMS_METRICS

__all__ = ["CLUSTER", "LABEL_NAME", "METRICS", "OF_CLUSTER", "OF_JOB", "PREFIX", "Metric", "label_problem"]
_FAST_TO_SLOW_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0)

BUILD_INFO = Metric(
    name="rebalance_monitor_build_info",
    kind="info",
    help="Constant 1; the labels say which version runs, and page the address of its page as people reach it.",
    labels=("cluster", "version", "page"),
)

# -- what the monitor sees ---------------------------------------------------------------------------------------

GENERATIONS = Metric(
    name="rebalance_monitor_generations_total",
    kind="counter",
    help="Generations of classic groups judged, by grade of the verdict.",
    labels=("cluster", "group", "grade"),
)
REBALANCES = Metric(
    name="rebalance_monitor_rebalances_total",
    kind="counter",
    help="Generations of classic groups judged, by their first cause (worker_joined, member_left, config_changed, …); "
    "causes beyond the first 40 count as other.",
    labels=("cluster", "group", "cause"),
)
PREDICTIONS = Metric(
    name="rebalance_monitor_predictions_total",
    kind="counter",
    help="What was said of a group's next rebalance, or whatif would have said before a change, once it is decided. "
    "The page says it by group. Values of what and fate: docs/why.md (What was predicted).",
    labels=("cluster", "what", "fate"),
)
INCIDENT = Metric(
    name="rebalance_monitor_incident",
    kind="gauge",
    unit="bool",
    help="1 while people are notified of an incident, and at one scrape at least, even if it was over before; 0 for 30 "
    "minutes after that and while maintenance mutes it; "
    "worker and connector are empty when not concerned. path says who notifies: prometheus (alert rules) or push.",
    labels=("cluster", "group", "team", "worker", "connector", "rule", "severity", "path"),
)
INCIDENT_SINCE = Metric(
    name="rebalance_monitor_incident_since_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When a notified incident was opened, for the first five connectors, tasks, partitions or members it names; "
    "workers are those it names with them. subject is empty when it names the group alone. The other labels are those "
    "of rebalance_monitor_incident, so that an alert finds what its own incident names.",
    labels=("cluster", "group", "worker", "connector", "rule", "severity", "subject", "workers"),
)
INCIDENT_TRANSITIONS = Metric(
    name="rebalance_monitor_incident_transitions_total",
    kind="counter",
    help="Transitions of incidents: opened, updated, resolved, and fired and ended, of which people are notified.",
    labels=("cluster", "group", "rule", "severity", "transition"),
)
MUTED_INCIDENTS = Metric(
    name="rebalance_monitor_muted_incidents",
    kind="gauge",
    help="Incidents of which people would be notified now, if maintenance did not mute them.",
    labels=("cluster", "group", "team"),
)
MAINTENANCE_END = Metric(
    name="rebalance_monitor_maintenance_end_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When a maintenance window that runs now ends; cluster and groups are its patterns.",
    labels=("cluster", "groups", "owner"),
)
GROUP_STATE = Metric(
    name="rebalance_monitor_group_state",
    kind="gauge",
    unit="bool",
    help="1 for the state of the group's latest record, 0 for the others: Stable, Empty, Dead; Assigning and "
    "Reconciling of KIP-848 and KIP-1071 groups, NotReady of the latter. A classic group never writes a rebalance "
    "under way to the log, so its PreparingRebalance and CompletingRebalance can't be seen.",
    labels=("cluster", "group", "state"),
)
GROUP_INFO = Metric(
    name="rebalance_monitor_group_info",
    kind="info",
    help="Constant 1 for each group that has series, with the team that owns it: joined to any other series of the "
    "group (on cluster and group, group_left team), that has the team too.",
    labels=("cluster", "group", "team"),
)
GROUP_GENERATION = Metric(
    name="rebalance_monitor_group_generation",
    kind="gauge",
    help="Number of the group's latest generation.",
    labels=("cluster", "group"),
)
GROUP_MEMBERS = Metric(
    name="rebalance_monitor_group_members",
    kind="gauge",
    help="Members in the group's latest generation; 0 once the group is Empty or Dead.",
    labels=("cluster", "group"),
)
GROUP_LAST_GENERATION = Metric(
    name="rebalance_monitor_group_last_generation_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When the group's latest generation was written (time of its record).",
    labels=("cluster", "group"),
)
HIDDEN_GROUPS = Metric(
    name="rebalance_monitor_hidden_groups",
    kind="gauge",
    help="Groups without series of their own, by reason: ignored (metrics.ignored_groups) or overflow "
    "(metrics.max_groups). Their counters run under an empty group.",
    labels=("cluster", "reason"),
)
HIDDEN_TASKS = Metric(
    name="rebalance_monitor_hidden_tasks",
    kind="gauge",
    help="Tasks that wait or are named by an incident and have no series (metrics.max_tasks).",
    labels=("cluster",),
)
OTHER_GROUPS = Metric(
    name="rebalance_monitor_other_groups",
    kind="gauge",
    help="Groups that are only counted, by type (unknown: of no known release); those that are gone count, too.",
    labels=("cluster", "type"),
)

# -- what the monitor reads --------------------------------------------------------------------------------------

RECORDS = Metric(
    name="rebalance_monitor_records_total",
    kind="counter",
    unit="records",
    help="Records that reached the fold, by kind of their body.",
    labels=("cluster", "topic", "kind"),
)
FOLD_ERRORS = Metric(
    name="rebalance_monitor_fold_errors_total",
    kind="counter",
    help="Errors of the monitor while it folded a group's records, by the error's type; monitor_error names the group.",
    labels=("cluster", "error"),
)
REFUSED_ROWS = Metric(
    name="rebalance_monitor_refused_rows_total",
    kind="counter",
    help="Rows that PostgreSQL refused and that are therefore not stored, by table; the log names each.",
    labels=("cluster", "table"),
)
UNDECODABLE_RECORDS = Metric(
    name="rebalance_monitor_undecodable_records_total",
    kind="counter",
    unit="records",
    help="Records that Kafka's own reader would reject, by reason; of unknown versions by version.",
    labels=("cluster", "reason"),
)
UNKNOWN_TAGGED_FIELDS = Metric(
    name="rebalance_monitor_unknown_tagged_fields_total",
    kind="counter",
    help="Tagged fields in group records that nobody has described: skipped, as Kafka does.",
    labels=("cluster", "topic"),
)
GAP_RECORDS = Metric(
    name="rebalance_monitor_gap_records_total",
    kind="counter",
    unit="records",
    help="Offsets that were gone from the topic before they were read, all that the database knows of.",
    labels=("cluster", "topic"),
)
GAPS_SHOWN = Metric(
    name="rebalance_monitor_gaps_not_acknowledged",
    kind="gauge",
    help="Gaps of a topic that nobody has acknowledged and that are younger than gap.shown_for, as in the database.",
    labels=("cluster", "topic"),
)
POSITION_LAG = Metric(
    name="rebalance_monitor_position_lag_records",
    kind="gauge",
    unit="records",
    help="Offsets between the committed position and the end of the topic, summed over partitions.",
    labels=("cluster", "topic"),
)

# -- the monitor's own health ------------------------------------------------------------------------------------

READY = Metric(
    name="rebalance_monitor_ready",
    kind="gauge",
    unit="bool",
    help="1 when the cluster is reachable and read up to its end.",
    labels=("cluster",),
)
STANDBY = Metric(
    name="rebalance_monitor_standby",
    kind="gauge",
    unit="bool",
    help="1 while another job holds the lease of this cluster and judges it, and this one waits.",
    labels=("cluster",),
)
DEGRADED = Metric(
    name="rebalance_monitor_degraded",
    kind="gauge",
    unit="bool",
    help="1 while a feature is off because a topic, partition or permission is missing.",
    labels=("cluster", "reason"),
)
BLIND = Metric(
    name="rebalance_monitor_blind",
    kind="gauge",
    unit="bool",
    help="1 while the offsets topic is gone or may not be read: then nothing of the cluster is judged.",
    labels=("cluster",),
)
PART_FAILING = Metric(
    name="rebalance_monitor_part_failing",
    kind="gauge",
    unit="bool",
    help="1 while a part of the monitor fails and is tried again; /readyz and the log say why.",
    labels=("cluster", "part"),
)
PART_FAILURES = Metric(
    name="rebalance_monitor_part_failures_total",
    kind="counter",
    help="Failures of parts of the monitor; the parts reader and task count restarts of the query by the watchdog.",
    labels=("cluster", "part"),
)
HEARTBEAT = Metric(
    name="rebalance_monitor_heartbeat_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When the job last committed a batch or an empty heartbeat; stale means that nothing is judged.",
    labels=("cluster",),
)
LAST_BATCH = Metric(
    name="rebalance_monitor_last_batch_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When the last batch with records was committed.",
    labels=("cluster",),
)
LAST_BATCH_DURATION = Metric(
    name="rebalance_monitor_last_batch_duration_seconds",
    kind="gauge",
    unit="seconds",
    help="How long the last batch took, from its rows to the commit.",
    labels=("cluster",),
)
JUDGED_AFTER = Metric(
    name="rebalance_monitor_judged_after_seconds",
    kind="histogram",
    unit="seconds",
    help="From a generation's record in the log (its time) to its verdict in the database; history that a start reads "
    "again does not count.",
    labels=("cluster",),
    buckets=_FAST_TO_SLOW_S,
)
BATCH_SECONDS = Metric(
    name="rebalance_monitor_batch_seconds",
    kind="histogram",
    unit="seconds",
    help="How long batches with records took, from their rows to the commit.",
    labels=("cluster",),
    buckets=_FAST_TO_SLOW_S,
)
BATCHES = Metric(
    name="rebalance_monitor_batches_total",
    kind="counter",
    help="Batches committed.",
    labels=("cluster",),
)
OUTBOX_PENDING = Metric(
    name="rebalance_monitor_outbox_pending",
    kind="gauge",
    help="Notifications that wait for a receiver (Alertmanager, webhook, topic) to accept them.",
    labels=("cluster",),
)
OUTBOX_OLDEST = Metric(
    name="rebalance_monitor_outbox_oldest_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When the oldest notification that waits for a receiver was written; 0 when none waits.",
    labels=("cluster",),
)
DATABASE_BYTES = Metric(
    name="rebalance_monitor_database_bytes",
    kind="gauge",
    unit="bytes",
    help="Size of each table of the database with its indexes.",
    labels=("cluster", "table"),
)
DATABASE_LIMIT = Metric(
    name="rebalance_monitor_database_limit_bytes",
    kind="gauge",
    unit="bytes",
    help="storage.max_bytes: above it the oldest days are cut.",
    labels=("cluster",),
)
DATABASE_DAY = Metric(
    name="rebalance_monitor_database_day_bytes",
    kind="gauge",
    unit="bytes",
    help="Size of the newest day of history that is over: what a day adds.",
    labels=("cluster",),
)
HISTORY_SINCE = Metric(
    name="rebalance_monitor_history_since_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="Beginning of the oldest day whose generations are kept; of days before there are summaries. 0: none yet.",
    labels=("cluster",),
)
HISTORY_CUT = Metric(
    name="rebalance_monitor_history_cut_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When history was looked through for what is too old or too much last; 0 before the first time.",
    labels=("cluster",),
)
NOTIFICATIONS = Metric(
    name="rebalance_monitor_notifications_total",
    kind="counter",
    help="Attempts to hand a notification to a receiver, by outcome (sent, failed, refused for good).",
    labels=("cluster", "outcome"),
)
HEARTBEATS_SENT = Metric(
    name="rebalance_monitor_heartbeats_sent_total",
    kind="counter",
    help="Calls of alerting.heartbeat_url, by outcome (sent, failed, withheld: not caught up or nothing commits).",
    labels=("cluster", "outcome"),
)

AUDIT_SUCCESS = Metric(
    name="rebalance_monitor_audit_success",
    kind="gauge",
    unit="bool",
    help="1 when the last audit of the published tables came to its end and every expectation was met; 0 before the "
    "first one too.",
    labels=("cluster",),
)
AUDIT_LAST_RUN = Metric(
    name="rebalance_monitor_audit_last_run_timestamp_seconds",
    kind="gauge",
    unit="timestamp_seconds",
    help="When the last audit ended, however; 0 before the first one.",
    labels=("cluster",),
)
AUDIT_FAILED_EXPECTATIONS = Metric(
    name="rebalance_monitor_audit_failed_expectations",
    kind="gauge",
    help="Expectations that the last audit which came to its end found broken or could not check.",
    labels=("cluster",),
)

METRICS: tuple[Metric, ...] = (
    BUILD_INFO, GENERATIONS, REBALANCES, PREDICTIONS, INCIDENT, INCIDENT_SINCE, INCIDENT_TRANSITIONS, MUTED_INCIDENTS,
    MAINTENANCE_END, GROUP_INFO, GROUP_GENERATION, GROUP_MEMBERS, GROUP_STATE, GROUP_LAST_GENERATION,
    *CONNECT_METRICS, *STREAMS_METRICS, *LAG_METRICS, HIDDEN_GROUPS, HIDDEN_TASKS, OTHER_GROUPS, RECORDS,
    UNDECODABLE_RECORDS, UNKNOWN_TAGGED_FIELDS, GAP_RECORDS, GAPS_SHOWN, FOLD_ERRORS, REFUSED_ROWS, POSITION_LAG,
    READY, STANDBY, DEGRADED, BLIND, PART_FAILING, PART_FAILURES, POLL_REQUESTS, LAST_POLL, PROGRESS_TURN,
    GROUPS_FROM_LOG, GROUPS_UNSEEN, HEARTBEAT, LAST_BATCH, LAST_BATCH_DURATION, JUDGED_AFTER, BATCH_SECONDS, BATCHES,
    OUTBOX_PENDING, OUTBOX_OLDEST, NOTIFICATIONS, HEARTBEATS_SENT, DATABASE_BYTES, DATABASE_LIMIT, DATABASE_DAY,
    HISTORY_SINCE, HISTORY_CUT, AUDIT_SUCCESS, AUDIT_LAST_RUN, AUDIT_FAILED_EXPECTATIONS,
)  # fmt: skip

OF_CLUSTER: tuple[Metric, ...] = (
    HEARTBEAT, LAST_BATCH, LAST_BATCH_DURATION, JUDGED_AFTER, BATCH_SECONDS, BATCHES,
)  # fmt: skip
"""What a monitor says from its start on of how it reads a cluster, with 0 for "never yet"."""
OF_JOB: tuple[Metric, ...] = (
    OUTBOX_PENDING, OUTBOX_OLDEST, HISTORY_CUT, AUDIT_SUCCESS, AUDIT_LAST_RUN, AUDIT_FAILED_EXPECTATIONS,
)  # fmt: skip
"""What it says so of itself as a whole."""


def label_problem(name: str) -> str | None:
    """Why the cluster's label can't have this name; None where it can."""
    if not re.fullmatch(LABEL_NAME, name) or name.startswith("__"):
        return "must be a label name of Prometheus: letters, digits and _, no digit first, not __ first"
    if name in _TAKEN:
        return f"{name} is the name of another label"
    return None


_TAKEN = {label for metric in METRICS for label in metric.labels if label != CLUSTER} | {
    "instance", "job", "alertname", "alertstate", "incident_id", "le", "quantile",
}  # fmt: skip
