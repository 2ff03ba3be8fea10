"""One group's history: its state now, every generation with cause and verdict, who held what, which incidents."""

from typing import Any

from rebalance_monitor.streaming.core import connect_metrics, metrics
from . import queries, shared, tables
from .frames import assembled, frame, one_group
from .lag import lag
from .panels import Panel, graph, number, rows, states
from .places import GROUP as HERE
from .queries import ONE_GROUP, line


def group() -> Any:
    base = frame(
        HERE,
        "One consumer group or Connect cluster: generations, assignments, verdicts and incidents.",
        marks=tables.GROUP_SQL,
    )
    base = one_group(base, metrics.GROUP_GENERATION)
    return assembled(base, [("Now", _now()), ("Over time", _over_time()), ("Lag", lag()), ("Details", _details())])


def _now() -> list[Panel]:
    return [
        shared.open_incidents(),
        number(
            "Generation",
            queries.aggregated(metrics.GROUP_GENERATION, scope=ONE_GROUP, how="max"),
            unit="none",
            description="Number of the latest generation.",
        ),
        shared.members("Members"),
        number(
            "Since the last rebalance",
            queries.age(metrics.GROUP_LAST_GENERATION, scope=ONE_GROUP),
            unit="s",
            description="Time since the record of the latest generation.",
        ),
        shared.unassigned(ONE_GROUP),
        shared.delay_ends_in(),
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
            [line("{{grade}}", queries.increase, metrics.GENERATIONS, ONE_GROUP, window="$__rate_interval")],
            unit="none",
            description="Rebalances completed, by how the assignment compares with the recomputed one.",
            stacked=True,
        ),
        graph(
            "Members, unassigned connectors and tasks",
            [
                line("members", queries.aggregated, metrics.GROUP_MEMBERS, ONE_GROUP, how="max"),
                line("unassigned", queries.aggregated, connect_metrics.UNASSIGNED_TASKS, ONE_GROUP, how="max"),
            ],
            unit="none",
            description="Who is in the group, and which connectors and tasks run nowhere.",
        ),
        graph(
            "Rebalances by cause",
            [line("{{cause}}", queries.increase, metrics.REBALANCES, ONE_GROUP, window="$__rate_interval")],
            unit="none",
            description="Rebalances completed, by their first cause.",
            stacked=True,
        ),
        states(
            "State",
            f"{queries.aggregated(metrics.GROUP_STATE, ('state',), ONE_GROUP, how='max')} == 1",
            "{{state}}",
            description="State of the group's latest record: Stable with members, Empty without, Dead once deleted.",
        ),
        shared.incidents_by_rule(),
    ]


def _details() -> list[Panel]:
    return [
        shared.generations(),
        rows(
            "Moves",
            tables.DIFF_SQL,
            description="What each worker, instance or member gained and lost against the generation before.",
            moments=("at",),
        ),
        shared.incident_history(),
    ]
