"""The fleet overview: which groups are harmed now, how much they rebalance, and whether the monitor can be believed."""

from typing import Any

from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync

from dashboards import group, queries
from dashboards.panels import Panel, assembled, data_sources, graph, labels_variable, number, rows
from dashboards.queries import FLEET
from streaming.core import metrics

UID = "rebalance-monitor-fleet"
_TO_GROUP = f"/d/{group.UID}?var-cluster=${{__data.fields.cluster}}&var-group=${{__data.fields.group}}"


def fleet() -> Any:
    """The dashboard's model."""
    base = (
        dashboards.Dashboard("Rebalances: fleet")
        .uid(UID)
        .description("All watched Kafka clusters: open incidents, rebalances and the monitor's own health.")
        .tags(["kafka", "rebalance-monitor"])
        .time("now-6h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
    )
    for source in data_sources():
        base = base.with_variable(source)
    clusters = f"label_values({metrics.READY.name}, cluster)"
    base = base.with_variable(labels_variable("cluster", clusters, label="Cluster", several=True))
    return assembled(
        base,
        [("What is wrong now", _harm()), ("Rebalances", _rebalances()), ("Can the monitor be believed", _health())],
    )


def _harm() -> list[Panel]:
    numbers: list[Panel] = [
        number(
            f"Open: {severity}",
            queries.open_incidents(scope=f'severity="{severity}", {FLEET}'),
            unit="none",
            description=f"Open incidents of severity {severity}.",
            bad_from=1,
        )
        for severity in queries.SEVERITIES[:3]
    ]
    return [
        *numbers,
        number(
            "Unassigned",
            f"{queries.aggregated(metrics.CONNECT_UNASSIGNED_TASKS, scope=FLEET)} or vector(0)",
            unit="none",
            description="Connectors and tasks that are configured and run nowhere.",
            bad_from=1,
        ),
        number(
            "Unexplained",
            f'{queries.increase(metrics.GENERATIONS, scope=f"""grade="unexplained", {FLEET}""")} or vector(0)',
            unit="none",
            description="Generations in this time range whose assignment no known assignor would have made.",
            bad_from=1,
        ),
        number(
            "Clusters not ready",
            f"count({queries.series(metrics.READY, FLEET)} == 0) or vector(0)",
            unit="none",
            description="Clusters that cannot be reached or are not read up to their end: no verdict is current there.",
            bad_from=1,
        ),
        rows(
            "Open incidents",
            queries.OPEN_INCIDENTS_SQL,
            description="Worst first. A click on the group opens its history.",
            units={"opened": "dateTimeAsIso"},
            links={"group": _TO_GROUP},
        ),
    ]


def _rebalances() -> list[Panel]:
    return [
        graph(
            "Generations per minute, ten busiest groups",
            [
                (
                    f"topk(10, 60 * {queries.rate(metrics.GENERATIONS, ('cluster', 'group'), FLEET)})",
                    "{{cluster}} {{group}}",
                )
            ],
            unit="none",
            description="How often groups rebalance. A group that never stops has a member that cannot stay.",
        ),
        graph(
            "Generations per minute by grade",
            [(f"60 * {queries.rate(metrics.GENERATIONS, ('grade',), FLEET)}", "{{grade}}")],
            unit="none",
            description="Observed assignments against recomputed ones: match, explainable, unexplained, not judged.",
            stacked=True,
        ),
        graph(
            "Unassigned connectors and tasks",
            [
                (
                    f"{queries.aggregated(metrics.CONNECT_UNASSIGNED_TASKS, ('cluster', 'group'), FLEET)} > 0",
                    "{{cluster}} {{group}}",
                )
            ],
            unit="none",
            description="Jobs held back while a Connect group waits for a lost worker, or forgotten by it.",
        ),
        graph(
            "Time left until held-back tasks are handed out",
            [(queries.remaining(metrics.CONNECT_DELAY_END, ("cluster", "group"), FLEET), "{{cluster}} {{group}}")],
            unit="s",
            description="Rest of scheduled.rebalance.max.delay.ms after a worker left; 0 when no delay runs.",
        ),
        rows(
            "Unexplained generations",
            queries.UNEXPLAINED_SQL,
            description="Assignments that no known assignor makes of what the log shows.",
            units={"at": "dateTimeAsIso"},
            links={"group": _TO_GROUP},
        ),
    ]


def _health() -> list[Panel]:
    return [
        graph(
            "Since the last heartbeat",
            [(queries.age(metrics.HEARTBEAT), "heartbeat"), (queries.age(metrics.LAST_BATCH), "batch with records")],
            unit="s",
            description="A heartbeat is committed every few seconds even when nothing happens.",
        ),
        graph(
            "Records not yet read",
            [(queries.aggregated(metrics.POSITION_LAG, ("cluster", "topic"), FLEET), "{{cluster}} {{topic}}")],
            unit="none",
            description="Offsets between the committed position and the end of each topic.",
        ),
        graph(
            "Records read per second",
            [(queries.rate(metrics.RECORDS, ("cluster", "kind"), FLEET), "{{cluster}} {{kind}}")],
            unit="none",
            description="Records that reached the fold, by kind.",
        ),
        graph(
            "Records lost",
            [
                (
                    queries.rate(metrics.UNDECODABLE_RECORDS, ("cluster", "reason"), FLEET),
                    "{{cluster}} undecodable: {{reason}}",
                ),
                (
                    queries.rate(metrics.GAP_RECORDS, ("cluster", "topic"), FLEET),
                    "{{cluster}} {{topic}} deleted before read",
                ),
            ],
            unit="none",
            description="Per second: records that could not be decoded, and offsets deleted before they were read.",
        ),
        graph(
            "Batch duration",
            [
                (f"{queries.rate(metrics.BATCH_DURATION)} / {queries.rate(metrics.BATCHES)}", "mean"),
                (queries.aggregated(metrics.LAST_BATCH_DURATION, how="max"), "last"),
            ],
            unit="s",
            description="From a batch's rows to its commit.",
        ),
        graph(
            "Notifications",
            [
                (queries.rate(metrics.NOTIFICATIONS, ("outcome",)), "{{outcome}} per second"),
                (queries.aggregated(metrics.OUTBOX_PENDING, how="max"), "waiting"),
            ],
            unit="none",
            description="Only with alerting.path push: what was handed to Alertmanager, and what waits for it.",
        ),
    ]
