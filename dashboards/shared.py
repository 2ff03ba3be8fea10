"""Panels that several dashboards show alike: each is declared here once, for the fleet or for one group."""

from rebalance_monitor.streaming.core import connect_metrics, metrics
from . import queries, tables
from .panels import Panel, graph, number, rows
from .places import rebalance_address
from .queries import FLEET, ONE_GROUP, line

# -- one group ------------------------------------------------------------------------------------------------------


def open_incidents() -> Panel:
    return number(
        "Open incidents",
        queries.open_incidents(scope=ONE_GROUP),
        unit="none",
        description="Incidents of this group of which people are notified, of any severity.",
        bad_from=1,
    )


def members(title: str) -> Panel:
    """`title`: what this kind of group calls them."""
    return number(
        title,
        queries.aggregated(metrics.GROUP_MEMBERS, scope=ONE_GROUP, how="max"),
        unit="none",
        description=f"{title} in the latest generation; 0 once the group is empty.",
        bad_below=1,
    )


def delay_ends_in() -> Panel:
    return number(
        "Delay ends in",
        f"{queries.remaining(connect_metrics.DELAY_END, scope=ONE_GROUP)} or vector(0)",
        unit="s",
        description="Until then the tasks of a lost worker are held back for it; 0 when no delay runs.",
    )


def incidents_by_rule() -> Panel:
    return graph(
        "Open incidents by rule",
        [(queries.open_incidents(("rule", "severity"), ONE_GROUP), "{{severity}} {{rule}}")],
        unit="none",
        description="The incidents of which people are notified, and for how long.",
        stacked=True,
    )


def generations() -> Panel:
    return rows(
        "Generations",
        tables.GENERATIONS_SQL,
        description="Every rebalance in this time range: cause, verdict and its reason. A click on the generation "
        "opens its post-mortem.",
        moments=("at",),
        units={"delay": "ms"},
        links={"generation": rebalance_address()},
        hidden=("rebalance",),
    )


def incident_history() -> Panel:
    return rows(
        "Incidents",
        tables.INCIDENT_HISTORY_SQL,
        description="Incidents opened in this time range, resolved ones included, and all that are open.",
        moments=("opened", "resolved", "notified"),
    )


# -- one group, or the fleet -----------------------------------------------------------------------------------------


def unassigned(scope: str, span: int = 4) -> Panel:
    return number(
        "Unassigned",
        f"{queries.aggregated(connect_metrics.UNASSIGNED_TASKS, scope=scope)} or vector(0)",
        unit="none",
        description="Connectors and tasks that are configured and run nowhere.",
        bad_from=1,
        span=span,
    )


def tasks_by_agreement(scope: str) -> Panel:
    return graph(
        "Connectors and tasks by agreement",
        [line("{{agreement}}", queries.aggregated, connect_metrics.TASK_AGREEMENT, scope)],
        unit="none",
        description="Connectors and tasks by how assignment, recomputed assignment and status topic agree. ok: its "
        "holder has taken it up; all others say what is wrong with one.",
        stacked=True,
    )


def tasks_by_state(scope: str) -> Panel:
    return graph(
        "Connectors and tasks by state",
        [line("{{state}}", queries.aggregated, connect_metrics.TASK_STATES, scope)],
        unit="none",
        description="As their workers say; lost: nobody holds it, and its last worker never stopped it.",
        stacked=True,
    )


def failed(scope: str) -> Panel:
    return number(
        "Failed",
        f'{queries.aggregated(connect_metrics.TASK_STATES, scope=f"""state="failed", {scope}""")} or vector(0)',
        unit="none",
        description="Connectors and tasks that their workers report as FAILED. Connect restarts none of them.",
        bad_from=1,
        span=3,
    )


def idle_task_time(scope: str) -> Panel:
    return graph(
        "Idle task time",
        [line("{{cause}}", queries.rate, connect_metrics.IDLE_TASK_SECONDS, scope)],
        unit="none",
        description="Tasks without a holder, on average, by cause; counted when the next generation ends the interval.",
        stacked=True,
    )


# -- the fleet, or the monitor ---------------------------------------------------------------------------------------


def clusters_not_ready(span: int) -> Panel:
    return number(
        "Clusters not ready",
        f"count({queries.aggregated(metrics.READY, ('cluster',), FLEET, how='max')} == 0) or vector(0)",
        unit="none",
        description="Clusters that cannot be reached or are not read up to their end: no verdict is current there.",
        bad_from=1,
        span=span,
    )
