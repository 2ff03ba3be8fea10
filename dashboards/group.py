"""One group's history: its state now, every generation with cause and verdict, who held what, which incidents."""

from typing import Any

from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync

from dashboards import queries
from dashboards.panels import Panel, assembled, data_sources, graph, labels_variable, number, rows
from dashboards.queries import ONE_GROUP
from streaming.core import metrics

UID = "rebalance-monitor-group"


def group() -> Any:
    """The dashboard's model."""
    base = (
        dashboards.Dashboard("Rebalances: one group")
        .uid(UID)
        .description("One consumer group or Connect cluster: generations, assignments, verdicts and incidents.")
        .tags(["kafka", "rebalance-monitor"])
        .time("now-6h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
    )
    for source in data_sources():
        base = base.with_variable(source)
    clusters = f"label_values({metrics.GROUP_GENERATION.name}, cluster)"
    groups = f'label_values({metrics.GROUP_GENERATION.name}{{cluster="$cluster"}}, group)'
    base = base.with_variable(labels_variable("cluster", clusters, label="Cluster", several=False))
    base = base.with_variable(labels_variable("group", groups, label="Group", several=False))
    return assembled(base, [("Now", _now()), ("Over time", _over_time()), ("Details", _details())])


def _now() -> list[Panel]:
    return [
        number(
            "Open incidents",
            queries.open_incidents(scope=ONE_GROUP),
            unit="none",
            description="Open incidents of this group, of any severity.",
            bad_from=1,
        ),
        number(
            "Generation",
            queries.aggregated(metrics.GROUP_GENERATION, scope=ONE_GROUP, how="max"),
            unit="none",
            description="Number of the latest generation.",
        ),
        number(
            "Members",
            queries.aggregated(metrics.GROUP_MEMBERS, scope=ONE_GROUP, how="max"),
            unit="none",
            description="Members in the latest generation.",
            bad_below=1,
        ),
        number(
            "Since the last rebalance",
            queries.age(metrics.GROUP_LAST_GENERATION, scope=ONE_GROUP),
            unit="s",
            description="Time since the record of the latest generation.",
        ),
        number(
            "Unassigned",
            f"{queries.aggregated(metrics.CONNECT_UNASSIGNED_TASKS, scope=ONE_GROUP)} or vector(0)",
            unit="none",
            description="Connectors and tasks of this Connect cluster that run nowhere.",
            bad_from=1,
        ),
        number(
            "Delay ends in",
            f"{queries.remaining(metrics.CONNECT_DELAY_END, scope=ONE_GROUP)} or vector(0)",
            unit="s",
            description="Until then the tasks of a lost worker are held back for it.",
        ),
        rows(
            "Who holds what",
            queries.MEMBERS_SQL,
            description="Members of the latest generation. assigned and revoked are what the leader sent, "
            "owned is what the member reported when it joined.",
        ),
    ]


def _over_time() -> list[Panel]:
    return [
        graph(
            "Generations by grade",
            [(queries.increase(metrics.GENERATIONS, ("grade",), ONE_GROUP, "$__rate_interval"), "{{grade}}")],
            unit="none",
            description="Rebalances completed, by how the assignment compares with the recomputed one.",
            stacked=True,
        ),
        graph(
            "Members and unassigned jobs",
            [
                (queries.aggregated(metrics.GROUP_MEMBERS, scope=ONE_GROUP, how="max"), "members"),
                (queries.aggregated(metrics.CONNECT_UNASSIGNED_TASKS, scope=ONE_GROUP, how="max"), "unassigned"),
            ],
            unit="none",
            description="Who is in the group, and which connectors and tasks run nowhere.",
        ),
        graph(
            "Open incidents by rule",
            [(queries.open_incidents(("rule", "severity"), ONE_GROUP), "{{severity}} {{rule}}")],
            unit="none",
            description="Which rules are broken, and for how long.",
            span=24,
            stacked=True,
        ),
    ]


def _details() -> list[Panel]:
    return [
        rows(
            "Generations",
            queries.GENERATIONS_SQL,
            description="Every rebalance in this time range: cause, verdict and its reason.",
            units={"at": "dateTimeAsIso", "delay": "ms"},
        ),
        rows(
            "Moves",
            queries.DIFF_SQL,
            description="What each worker, instance or member gained and lost against the generation before.",
            units={"at": "dateTimeAsIso"},
        ),
        rows(
            "Incidents",
            queries.INCIDENT_HISTORY_SQL,
            description="Incidents opened in this time range, resolved ones included.",
            units={"opened": "dateTimeAsIso", "resolved": "dateTimeAsIso"},
        ),
    ]
