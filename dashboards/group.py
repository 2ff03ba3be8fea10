"""One group's history: its state now, every generation with cause and verdict, who held what, which incidents."""

from typing import Any

from dashboards import queries, tables
from dashboards.frames import assembled, frame, label_values
from dashboards.panels import Panel, graph, number, rows
from dashboards.places import GROUP as HERE
from dashboards.places import rebalance_address
from dashboards.queries import ONE_GROUP
from streaming.core import metrics


def group() -> Any:
    """The dashboard's model."""
    base = frame(
        HERE,
        "One consumer group or Connect cluster: generations, assignments, verdicts and incidents.",
        marks=tables.GROUP_SQL,
    )
    base = base.with_variable(label_values("cluster", metrics.GROUP_GENERATION))
    base = base.with_variable(label_values("group", metrics.GROUP_GENERATION, scope='cluster="$cluster"'))
    return assembled(base, [("Now", _now()), ("Over time", _over_time()), ("Details", _details())])


def _now() -> list[Panel]:
    return [
        number(
            "Open incidents",
            queries.open_incidents(scope=ONE_GROUP),
            unit="none",
            description="Incidents of this group that people are told of, of any severity.",
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
            tables.MEMBERS_SQL,
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
            "State",
            [(queries.aggregated(metrics.GROUP_STATE, ("state",), ONE_GROUP, how="max"), "{{state}}")],
            unit="bool_yes_no",
            description="State of the group's latest record: Stable with members, Empty without, Dead once deleted.",
        ),
        graph(
            "Open incidents by rule",
            [(queries.open_incidents(("rule", "severity"), ONE_GROUP), "{{severity}} {{rule}}")],
            unit="none",
            description="What people are told of, and for how long.",
            stacked=True,
        ),
    ]


def _details() -> list[Panel]:
    return [
        rows(
            "Generations",
            tables.GENERATIONS_SQL,
            description="Every rebalance in this time range: cause, verdict and its reason. A click on the generation "
            "opens its post-mortem.",
            units={"at": "dateTimeAsIso", "delay": "ms"},
            links={"generation": rebalance_address()},
            hidden=("rebalance",),
        ),
        rows(
            "Moves",
            tables.DIFF_SQL,
            description="What each worker, instance or member gained and lost against the generation before.",
            units={"at": "dateTimeAsIso"},
        ),
        rows(
            "Incidents",
            tables.INCIDENT_HISTORY_SQL,
            description="Incidents opened in this time range, resolved ones included, and all that are open.",
            units={"opened": "dateTimeAsIso", "resolved": "dateTimeAsIso", "told": "dateTimeAsIso"},
        ),
    ]
