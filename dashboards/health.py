"""The monitor itself: is it alive, does it keep up, what did it miss, and do its notifications arrive?"""

from typing import Any

from rebalance_monitor.streaming.core import lag_metrics, metrics, polling_metrics
from . import post_mortem, queries, shared
from .frames import assembled, frame, several_clusters
from .panels import Panel, graph, number, rows
from .places import HEALTH as HERE
from .queries import FLEET, line

_MONITOR = ("cluster",)
"""Each monitor watches one cluster."""


def health() -> Any:
    base = frame(
        HERE, "Whether the monitor can be believed: while it is blind, silence about the groups means nothing."
    )
    base = several_clusters(base, metrics.READY)
    return assembled(
        base,
        [
            ("Alive", _alive()),
            ("Reading", _reading()),
            ("What it missed", _missed()),
            ("Notifications", _telling()),
            ("History", _history()),
        ],
    )


def _alive() -> list[Panel]:
    return [
        number(
            "Since the last heartbeat",
            queries.oldest(metrics.HEARTBEAT, FLEET),
            unit="s",
            description="A heartbeat is committed every few seconds even when nothing happens. Of several monitors, "
            "the one that is longest without.",
            bad_from=120,
            span=6,
        ),
        shared.clusters_not_ready(span=6),
        number(
            "Features off",
            f"count({queries.series(metrics.DEGRADED, FLEET)} == 1) or vector(0)",
            unit="none",
            description="Topics, partitions or permissions that are missing; what depends on them is not judged.",
            bad_from=1,
            span=6,
        ),
        number(
            "Monitors",
            queries.aggregated(metrics.BUILD_INFO, ("version",), how="count"),
            unit="none",
            description="Processes that are scraped, by version: one writes, others stand by.",
            bad_below=1,
            span=6,
        ),
        graph(
            "Ready",
            [
                line("{{cluster}}", queries.aggregated, metrics.READY, FLEET, how="max"),
                line("{{cluster}} standbys", queries.aggregated, metrics.STANDBY, FLEET, how="sum"),
            ],
            unit="none",
            description="Whether the cluster is reachable and read up to its end, by the monitor that judges it; and "
            "how many monitors stand by.",
        ),
        graph(
            "Blind, or a part fails",
            [
                line("{{cluster}} blind", queries.aggregated, metrics.BLIND, FLEET, how="max"),
                line("{{cluster}} {{part}} fails", queries.aggregated, metrics.PART_FAILING, FLEET, how="max"),
                line("{{cluster}} {{part}} per second", queries.rate, metrics.PART_FAILURES, FLEET),
            ],
            unit="none",
            description="Blind: the offsets topic cannot be read. A part that fails is tried again or started anew.",
        ),
        graph(
            "Features off",
            [line("{{cluster}} {{reason}}", queries.aggregated, metrics.DEGRADED, FLEET, how="max")],
            unit="bool_yes_no",
            description="What is missing, and so not judged.",
        ),
    ]


def _reading() -> list[Panel]:
    return [
        graph(
            "Records not yet read",
            [line("{{cluster}} {{topic}}", queries.aggregated, metrics.POSITION_LAG, FLEET)],
            unit="none",
            description="Offsets between the committed position and the end of each topic. Falling: a catch-up.",
        ),
        graph(
            "Records read per second",
            [line("{{cluster}} {{kind}}", queries.rate, metrics.RECORDS, FLEET)],
            unit="none",
            description="Records that reached the fold, by kind.",
        ),
        graph(
            "Batch duration",
            [line("{{cluster}} last", queries.aggregated, metrics.LAST_BATCH_DURATION, FLEET, how="max")],
            unit="s",
            description="From a batch's rows to its commit.",
        ),
        graph(
            "Batches and verdicts, slowest of twenty",
            [
                (queries.quantile(metrics.JUDGED_AFTER, 0.95, _MONITOR, FLEET), "{{cluster}} record to verdict"),
                (queries.quantile(metrics.BATCH_SECONDS, 0.95, _MONITOR, FLEET), "{{cluster}} batch"),
            ],
            unit="s",
            description="95 of 100 were faster: from a generation's record to its verdict, from a batch's rows to its "
            "commit.",
        ),
        graph(
            "Batches per minute",
            [line("{{cluster}}", queries.per_minute, metrics.BATCHES, FLEET)],
            unit="none",
            description="Committed batches, empty ones included.",
        ),
        graph(
            "Memory",
            [(queries.process("process_resident_memory_bytes"), "{{cluster}}")],
            unit="bytes",
            description="Resident memory of the monitor's main process.",
        ),
        graph(
            "Since the last batch with records",
            [
                line("{{cluster}} batch with records", queries.age, metrics.LAST_BATCH, FLEET),
                line("{{cluster}} heartbeat", queries.age, metrics.HEARTBEAT, FLEET),
            ],
            unit="s",
            description="Both stay small in a monitor that is well and a cluster that is busy.",
            span=24,
        ),
        graph(
            "Since the last answer to a poller",
            [line("{{cluster}} {{poller}}", queries.age, polling_metrics.LAST_POLL, FLEET)],
            unit="s",
            description="What brokers are asked beside the topics that are read: partition counts and racks, and which "
            "groups rebalance.",
            span=8,
        ),
        graph(
            "Requests of pollers per minute",
            [line("{{cluster}} {{poller}}", queries.per_minute, polling_metrics.POLL_REQUESTS, FLEET)],
            unit="none",
            description="What the pollers cost the brokers.",
            span=8,
        ),
        graph(
            "Groups that the monitor may not list",
            [line("{{cluster}}", queries.aggregated, polling_metrics.GROUPS_UNSEEN, FLEET, how="max")],
            unit="bool_yes_no",
            description="Yes: a rebalance of a group that the monitor may not describe is not seen while it lasts.",
            span=8,
        ),
        graph(
            "Turn through all groups' offsets",
            [line("{{cluster}}", queries.aggregated, polling_metrics.PROGRESS_TURN, FLEET, how="max")],
            unit="s",
            description="Above polling.progress_every_ms: there are more groups or partitions than the bounds of "
            "requests allow in that time.",
            span=8,
        ),
        graph(
            "Groups with offsets from the log",
            [line("{{cluster}}", queries.aggregated, polling_metrics.GROUPS_FROM_LOG, FLEET, how="max")],
            unit="none",
            description="With lag.from: log. Brokers are asked for the offsets of all others.",
            span=8,
        ),
        graph(
            "Lags without a series",
            [line("{{cluster}}", queries.aggregated, lag_metrics.HIDDEN_LAGS, FLEET, how="max")],
            unit="none",
            description="Topics or partitions that metrics.max_lags leaves out.",
            span=8,
        ),
        rows(
            "Positions",
            post_mortem.POSITIONS_SQL,
            description="How far each topic is read, as committed in the database.",
            moments=("last_read",),
        ),
    ]


def _missed() -> list[Panel]:
    return [
        graph(
            "Records lost",
            [
                line("{{cluster}} undecodable: {{reason}}", queries.rate, metrics.UNDECODABLE_RECORDS, FLEET),
                line("{{cluster}} {{topic}} deleted before read", queries.rate, metrics.GAP_RECORDS, FLEET),
                line(
                    "{{cluster}} {{topic}} gaps not acknowledged",
                    queries.aggregated,
                    metrics.GAPS_SHOWN,
                    FLEET,
                    how="max",
                ),
                line("{{cluster}} {{topic}} unknown tagged fields", queries.rate, metrics.UNKNOWN_TAGGED_FIELDS, FLEET),
                line("{{cluster}} error of the monitor: {{error}}", queries.rate, metrics.FOLD_ERRORS, FLEET),
                line("{{cluster}} refused by PostgreSQL: {{table}}", queries.rate, metrics.REFUSED_ROWS, FLEET),
            ],
            unit="none",
            description="Per second: records that could not be decoded, offsets deleted before they were read, fields "
            "that nobody has described, errors while a group was folded (monitor_error names the group), and rows that "
            "PostgreSQL refused (the log names each).",
        ),
        graph(
            "Without series of their own",
            [
                line("{{cluster}} {{reason}}", queries.aggregated, metrics.HIDDEN_GROUPS, FLEET),
                line("{{cluster}} tasks", queries.aggregated, metrics.HIDDEN_TASKS, FLEET),
            ],
            unit="none",
            description="Groups and tasks beyond metrics.max_groups and metrics.max_tasks, or ignored by pattern.",
        ),
        graph(
            "Expectations not met",
            [line("{{cluster}} not met", queries.aggregated, metrics.AUDIT_FAILED_EXPECTATIONS, FLEET, how="max")],
            unit="none",
            description="What the last audit of the published tables found broken or could not check.",
        ),
        graph(
            "Since the last audit",
            [
                line("{{cluster}} audit", queries.age, metrics.AUDIT_LAST_RUN, FLEET),
                (
                    queries.age(metrics.AUDIT_LAST_RUN, _MONITOR, FLEET)
                    + f" and on (cluster) {queries.series(metrics.AUDIT_SUCCESS)} == 1",
                    "{{cluster}} met",
                ),
            ],
            unit="s",
            description="Whether the data contracts are looked at, and whether the last look found everything well.",
        ),
        rows(
            "Undecodable records",
            post_mortem.UNDECODABLE_SQL,
            description="The first ones of each reason.",
            units={"size": "bytes"},
        ),
        rows(
            "Gaps",
            post_mortem.GAPS_SQL,
            description="Offsets that were gone before they could be read; generations in them are unknown.",
        ),
    ]


def _telling() -> list[Panel]:
    transitions = queries.increase(metrics.INCIDENT_TRANSITIONS, ("transition",), FLEET, "$__rate_interval")
    return [
        graph(
            "Notifications",
            [
                line("{{cluster}} {{outcome}} per second", queries.rate, metrics.NOTIFICATIONS, FLEET),
                line("{{cluster}} waiting", queries.aggregated, metrics.OUTBOX_PENDING, FLEET, how="max"),
            ],
            unit="none",
            description="What was handed to receivers, and what waits for them.",
        ),
        graph(
            "Heartbeats sent",
            [line("{{cluster}} {{outcome}} per second", queries.rate, metrics.HEARTBEATS_SENT, FLEET)],
            unit="none",
            description="Calls of alerting.heartbeat_url; withheld while the monitor is not caught up.",
        ),
        graph(
            "Transitions of incidents",
            [(transitions, "{{transition}}")],
            unit="none",
            description="Opened, fired, updated, resolved, ended: what the batches did to incidents.",
            stacked=True,
        ),
        graph(
            "Maintenance ends in",
            [line("{{cluster}} {{groups}} ({{owner}})", queries.remaining, metrics.MAINTENANCE_END, FLEET)],
            unit="s",
            description="Windows that run now and mute the alerts of their groups.",
        ),
        graph(
            "The oldest notification waits",
            [
                (
                    queries.age(metrics.OUTBOX_OLDEST, _MONITOR, FLEET)
                    + f" and on (cluster) {queries.series(metrics.OUTBOX_OLDEST)} > 0",
                    "{{cluster}}",
                )
            ],
            unit="s",
            description="How long the oldest one has waited for its receivers.",
        ),
        rows(
            "Waiting notifications",
            post_mortem.OUTBOX_SQL,
            description="Oldest first; they are kept and sent as soon as a receiver answers.",
            moments=("since",),
            span=12,
        ),
        rows(
            "Maintenance",
            post_mortem.MAINTENANCE_SQL,
            description="Windows given on the command line, with who gave them; the configuration's own are not here.",
            moments=("from", "until"),
            span=12,
        ),
    ]


def _history() -> list[Panel]:
    size = queries.aggregated(metrics.DATABASE_BYTES, _MONITOR, FLEET)
    limit = queries.aggregated(metrics.DATABASE_LIMIT, _MONITOR, FLEET, how="max")
    day = queries.aggregated(metrics.DATABASE_DAY, _MONITOR, FLEET, how="max")
    since = queries.series(metrics.HISTORY_SINCE, FLEET)
    return [
        graph(
            "Database",
            [
                line("{{cluster}} {{table}}", queries.aggregated, metrics.DATABASE_BYTES, FLEET, how="max"),
                (limit, "{{cluster}} storage.max_bytes"),
            ],
            unit="bytes",
            description="Size of each table with its indexes. Above storage.max_bytes the oldest days are cut.",
        ),
        graph(
            "Days until the database is full",
            [(f"({limit} - {size}) / ({day} > 0)", "{{cluster}}")],
            unit="d",
            description="If each day adds as much as the last one that is over, and none is cut for its age before.",
        ),
        graph(
            "Days kept",
            [(f"(time() - max by (cluster) ({since} > 0)) / 86400", "{{cluster}}")],
            unit="d",
            description="How far back generations are kept; of days before there are summaries.",
        ),
        graph(
            "Since the last look through history",
            [line("{{cluster}}", queries.age, metrics.HISTORY_CUT, FLEET)],
            unit="s",
            description="Once an hour what is too old or too much is cut.",
        ),
    ]
