"""The fleet overview: which groups are harmed now, how much they rebalance, and whether the monitor can be believed."""

from typing import Any

from rebalance_monitor.streaming.core import connect_metrics, metrics
from rebalance_monitor.streaming.core.costs import FIGURES
from . import queries, shared, tables
from .frames import assembled, frame, several_clusters
from .panels import Panel, graph, number, rows
from .places import FLEET as HERE
from .places import group_address
from .queries import FLEET, line

_OF = ("cluster", "group")
_NAMES = "{{cluster}} {{group}}"


def fleet() -> Any:
    base = frame(HERE, "All watched Kafka clusters: open incidents and rebalances.", marks=tables.FLEET_SQL)
    base = several_clusters(base, metrics.READY)
    return assembled(base, [("What is wrong now", _harm()), ("Connect clusters", _connect()), ("Groups", _groups())])


def _harm() -> list[Panel]:
    numbers: list[Panel] = [
        number(
            f"Open: {severity}",
            queries.open_incidents(scope=f'severity="{severity}", {FLEET}'),
            unit="none",
            description=f"Incidents of which people are notified as {severity}.",
            bad_from=1,
            span=3,
        )
        for severity in queries.SEVERITIES
        if severity != "info"
    ]
    return [
        *numbers,
        number(
            "Muted",
            f"{queries.aggregated(metrics.MUTED_INCIDENTS, scope=FLEET)} or vector(0)",
            unit="none",
            description="Incidents that maintenance keeps from people.",
            span=3,
        ),
        shared.unassigned(FLEET, span=3),
        shared.failed(FLEET),
        number(
            "Unexplained",
            f'{queries.increase(metrics.GENERATIONS, scope=f"""grade="unexplained", {FLEET}""")} or vector(0)',
            unit="none",
            description="Generations in this time range whose assignment no known assignor would have made.",
            bad_from=1,
            span=3,
        ),
        number(
            "Oldest open incident",
            f"time() - min({queries.series(metrics.INCIDENT_SINCE, FLEET)})",
            unit="s",
            description="How long ago the oldest incident that is notified now was opened; no data: there is none.",
            span=3,
        ),
        shared.clusters_not_ready(span=3),
        rows(
            "Open incidents",
            tables.OPEN_INCIDENTS_SQL,
            description="The incidents of which people are notified, loudest first. A click on the group opens its "
            "history.",
            moments=("opened",),
            links={"group": group_address()},
        ),
    ]


def _connect() -> list[Panel]:
    return [
        graph(
            "Unassigned connectors and tasks",
            [(f"{queries.aggregated(connect_metrics.UNASSIGNED_TASKS, _OF, FLEET)} > 0", _NAMES)],
            unit="none",
            description="Connectors and tasks held back while a Connect group waits for a lost worker, or forgotten "
            "by it.",
        ),
        graph(
            "Time left until held-back tasks are handed out",
            [line(_NAMES, queries.remaining, connect_metrics.DELAY_END, FLEET)],
            unit="s",
            description="Rest of scheduled.rebalance.max.delay.ms after a worker left; 0 when no delay runs.",
        ),
        shared.tasks_by_state(FLEET),
        graph(
            "Spread, ten worst groups",
            [
                (
                    f"topk(10, {queries.aggregated(connect_metrics.SPREAD, (*_OF, 'kind'), FLEET)})",
                    f"{_NAMES} {{{{kind}}}}",
                )
            ],
            unit="none",
            description="Most minus fewest connectors or tasks on a worker; leaders since 3.4 keep it at one.",
        ),
        shared.tasks_by_agreement(FLEET),
        shared.idle_task_time(FLEET),
    ]


def _groups() -> list[Panel]:
    return [
        graph(
            "Generations per minute, ten busiest groups",
            [(f"topk(10, {queries.per_minute(metrics.GENERATIONS, _OF, FLEET)})", _NAMES)],
            unit="none",
            description="How often groups rebalance. A group that never stops has a member that cannot stay.",
        ),
        graph(
            "Rebalances by cause",
            [line("{{cause}}", queries.per_minute, metrics.REBALANCES, FLEET)],
            unit="none",
            description="Rebalances per minute by their first cause.",
            stacked=True,
        ),
        graph(
            "Generations per minute by grade",
            [line("{{grade}}", queries.per_minute, metrics.GENERATIONS, FLEET)],
            unit="none",
            description="Observed assignments against recomputed ones: match, explainable, unexplained, not judged.",
            stacked=True,
        ),
        graph(
            "Generations per minute by team",
            [(f"60 * {queries.by_team(queries.rate(metrics.GENERATIONS, _OF, FLEET), FLEET)}", "{{team}}")],
            unit="none",
            description="Whose groups rebalance, by groups[].team of the configuration; without a name: nobody's.",
        ),
        graph(
            "Groups by team",
            [line("{{team}}", queries.aggregated, metrics.GROUP_INFO, FLEET)],
            unit="none",
            description="How many groups each owner has; without a name: nobody's.",
            stacked=True,
        ),
        graph(
            "Groups by state",
            [line("{{state}}", queries.aggregated, metrics.GROUP_STATE, FLEET)],
            unit="none",
            description="Groups by the state of their latest record: Stable, Empty or Dead.",
            stacked=True,
        ),
        graph(
            "Predictions of the next rebalance",
            [line("{{what}}: {{fate}}", queries.increase, metrics.PREDICTIONS, FLEET, window="1h")],
            unit="none",
            description="Decided in the hour before: hit, early and late came to a test; before what was overtaken "
            "something else came.",
            stacked=True,
        ),
        graph(
            "Groups that are only counted",
            [
                line("{{cluster}} {{type}}", queries.aggregated, metrics.OTHER_GROUPS, FLEET),
                line("{{cluster}} {{reason}}", queries.aggregated, metrics.HIDDEN_GROUPS, FLEET),
            ],
            unit="none",
            description="Groups of kinds that are not judged, and groups without series of their own: ignored by "
            "pattern, or more than metrics.max_groups.",
        ),
        rows(
            "What rebalances cost",
            tables.COSTS_SQL,
            description="Sums over whole days (UTC) by group and cause. Empty: not known; a sum is of the rebalances "
            "of which it is known. Without a cause: what ran twice, which findings tell and not rebalances.",
            units={figure.name: "ms" for figure in FIGURES if figure.name.endswith("_ms")},
            links={"group": group_address()},
        ),
        rows(
            "Unexplained generations",
            tables.UNEXPLAINED_SQL,
            description="Assignments that no known assignor makes of what the log shows.",
            moments=("at",),
            links={"group": group_address()},
        ),
    ]
