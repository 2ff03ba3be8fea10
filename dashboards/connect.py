"""One Connect cluster: which worker has which task, how even the spread is, what waits and for how long."""

from typing import Any

from rebalance_monitor.streaming.core import connect_metrics
from rebalance_monitor.streaming.core.costs import FIGURES
from . import queries, shared, tables
from .frames import assembled, frame, one_group
from .panels import Panel, graph, matrix, number, rows, sql_graph
from .places import CONNECT as HERE
from .queries import ONE_GROUP, line

CELLS = {
    "runs": "green",
    "runs, unexpected": "orange",
    "runs unheld": "red",
    "failed": "dark-red",
    "held": "yellow",
    "expected here": "blue",
    "paused": "gray",
    "stopped": "gray",
    "unassigned": "yellow",
    "restarting": "yellow",
    "member": "transparent",
}
"""What a cell of the matrix can say, and its colour."""


def connect() -> Any:
    base = frame(HERE, "One Connect cluster: tasks, workers, delays and incidents.", marks=tables.GROUP_SQL)
    base = one_group(base, connect_metrics.UNASSIGNED_TASKS)
    return assembled(base, [("Now", _now()), ("Over time", _over_time()), ("Details", _details())])


def _now() -> list[Panel]:
    return [
        shared.open_incidents(),
        shared.members("Workers"),
        number(
            "Tasks held",
            f"{queries.aggregated(connect_metrics.WORKER_TASKS, scope=ONE_GROUP)} or vector(0)",
            unit="none",
            description="Tasks that workers hold after the latest generation.",
            span=3,
        ),
        shared.unassigned(ONE_GROUP, span=3),
        shared.failed(ONE_GROUP),
        shared.delay_ends_in(),
        number(
            "Disagreeing",
            f'{queries.aggregated(connect_metrics.TASK_AGREEMENT, scope=f"""agreement!~"ok|unknown", {ONE_GROUP}""")} '
            "or vector(0)",
            unit="none",
            description="Connectors and tasks for which assignment, recomputed assignment and status topic do not "
            "say the same, or "
            "that have failed.",
            bad_from=1,
            span=3,
        ),
        matrix(
            "Tasks and workers",
            tables.MATRIX_SQL,
            row="id",
            column="worker",
            cell="cell",
            colors=CELLS,
            description="held: the group gave it; runs: the status topic says so too; unexpected: the recomputed "
            "assignment puts it elsewhere; runs unheld: it should have been stopped.",
        ),
    ]


def _over_time() -> list[Panel]:
    return [
        graph(
            "Tasks per worker",
            [line("{{worker}}", queries.aggregated, connect_metrics.WORKER_TASKS, ONE_GROUP)],
            unit="none",
            description="Tasks that each worker holds; 0 for an hour after a worker left.",
        ),
        graph(
            "Connectors per worker",
            [line("{{worker}}", queries.aggregated, connect_metrics.WORKER_CONNECTORS, ONE_GROUP)],
            unit="none",
            description="Connector instances that each worker holds; 0 for an hour after a worker left.",
        ),
        sql_graph(
            "Spread of tasks",
            tables.SPREAD_SQL,
            unit="none",
            description="Most minus fewest tasks on a worker, generation by generation: at most one when all is calm.",
            bars=True,
        ),
        shared.tasks_by_state(ONE_GROUP),
        shared.tasks_by_agreement(ONE_GROUP),
        graph(
            "Unassigned and waiting",
            [
                line("unassigned", queries.aggregated, connect_metrics.UNASSIGNED_TASKS, ONE_GROUP, how="max"),
                line(
                    "{{connector}} {{task}}: {{reason}}", queries.aggregated, connect_metrics.TASK, ONE_GROUP, how="max"
                ),
            ],
            unit="none",
            description="Connectors and tasks without a holder, and the single tasks that wait or are named by an "
            "incident.",
        ),
        graph(
            "Delay countdown",
            [line("until handed out", queries.remaining, connect_metrics.DELAY_END, ONE_GROUP)],
            unit="s",
            description="Rest of the scheduled rebalance delay; it should fall in a straight line to 0.",
        ),
        shared.idle_task_time(ONE_GROUP),
        shared.incidents_by_rule(),
    ]


def _details() -> list[Panel]:
    return [
        rows(
            "Assigned, expected, running",
            tables.CONNECTORS_AND_TASKS_SQL,
            description="Each connector and task three ways: who has it by the group's records, who should by the "
            "recomputed "
            "assignment, who runs it by the status topic. What disagrees comes first.",
            moments=("said", "since"),
        ),
        rows(
            "What rebalances cost each connector",
            tables.CONNECTOR_COSTS_SQL,
            description="Sums over whole days (UTC), a connector with its tasks. Empty: not known. A rebalance counts "
            "with each connector that it concerns. Not split: what an older release wrote.",
            units={figure.name: "ms" for figure in FIGURES if figure.name.endswith("_ms")},
        ),
        shared.incident_history(),
        shared.generations(),
    ]
