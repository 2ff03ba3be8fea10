"""One Streams application: tasks by role and process, copies that lack, moves that are left, how even the load is."""

from typing import Any

from rebalance_monitor.streaming.core import streams_metrics
from . import queries, shared, streams_tables, tables
from .frames import assembled, frame, one_group
from .panels import Panel, graph, number, rows
from .places import STREAMS as HERE
from .queries import ONE_GROUP, line


def streams() -> Any:
    base = frame(HERE, "One Streams application: tasks, copies, moves and probing rebalances.", marks=tables.GROUP_SQL)
    base = one_group(base, streams_metrics.TASKS)
    return assembled(base, [("Now", _now()), ("Over time", _over_time()), ("Details", _details())])


def _now() -> list[Panel]:
    return [
        shared.open_incidents(),
        shared.members("Threads"),
        number(
            "Moves left",
            queries.aggregated(streams_metrics.MOVES_LEFT, scope=ONE_GROUP, how="max"),
            unit="none",
            description="Tasks with state that, or whose copies, are elsewhere than they shall be once nothing lags. "
            "No data: the target placement is not known.",
        ),
        number(
            "Next probing rebalance in",
            queries.remaining(streams_metrics.NEXT_PROBING, scope=ONE_GROUP),
            unit="s",
            description="Until members join again to see which copies have caught up; 0 when none is set or due.",
        ),
        number(
            "Missing standbys",
            queries.aggregated(streams_metrics.MISSING_STANDBYS, scope=ONE_GROUP, how="max"),
            unit="none",
            description="Copies that tasks with state lack against num.standby.replicas. No data: the setting is not "
            "known.",
            bad_from=1,
        ),
        number(
            "Withheld tasks",
            queries.aggregated(streams_metrics.TASKS, scope=f'role="withheld", {ONE_GROUP}', how="max"),
            unit="none",
            description="Tasks that nobody runs until their owners have given them up.",
        ),
        rows(
            "Processes",
            streams_tables.PROCESSES_SQL,
            description="Each process in the latest generation: tasks that it runs, standbys, warm-ups, and the copy "
            "that is furthest behind, where brokers said where changelogs end.",
            units={"behind": "none"},
        ),
    ]


def _over_time() -> list[Panel]:
    return [
        graph(
            "Tasks by role",
            [line("{{role}}", queries.aggregated, streams_metrics.TASKS, ONE_GROUP, how="max")],
            unit="none",
            description="Tasks that the latest generation names, by role. Warm-ups exist only to catch up.",
        ),
        graph(
            "Moves left and missing standbys",
            [
                line("moves left", queries.aggregated, streams_metrics.MOVES_LEFT, ONE_GROUP, how="max"),
                line("missing standbys", queries.aggregated, streams_metrics.MISSING_STANDBYS, ONE_GROUP, how="max"),
            ],
            unit="none",
            description="Both fall to 0 when the application has settled.",
        ),
        graph(
            "Probing rebalances in a row",
            [line("probing", queries.aggregated, streams_metrics.PROBING_REBALANCES, ONE_GROUP, how="max")],
            unit="none",
            description="With the same members. A line that rises while moves left stays says that copies do not "
            "catch up.",
        ),
        graph(
            "Spread of active tasks",
            [line("{{kind}}", queries.aggregated, streams_metrics.SPREAD, ONE_GROUP, how="max")],
            unit="none",
            description="Most minus fewest active tasks of a process, with state and without.",
        ),
        shared.incidents_by_rule(),
    ]


def _details() -> list[Panel]:
    return [
        rows(
            "Sub-topologies",
            streams_tables.SUBTOPOLOGIES_SQL,
            description="Each sub-topology in the latest generation: what it reads, its tasks, and how they are spread "
            "over processes.",
        ),
        shared.generations(),
        shared.incident_history(),
    ]
