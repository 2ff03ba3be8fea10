"""What all dashboards share: data sources, navigation to all others, rebalances marked on the time axis."""

from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    VariableHide,
    VariableRefresh,
    VariableSort,
)

from rebalance_monitor.streaming.core.metrics import CLUSTER, Metric
from . import tables
from .panels import POSTGRES, PROMETHEUS, Panel, SqlQuery
from .places import FIRST_CHOSEN, PLACES, SOURCES, DashboardPlace, navigation
from .queries import FLEET, series

TAG = "rebalance-monitor"


def frame(place: DashboardPlace, description: str, *, marks: str = "") -> dashboards.Dashboard:
    """An empty dashboard. `marks` is the scope (SQL) of the rebalances to mark; empty: none."""
    base = (
        dashboards.Dashboard(place.title)
        .uid(place.uid)
        .description(description)
        .tags(["kafka", TAG])
        .time("now-6h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
    )
    labels, kinds = ("Prometheus", "PostgreSQL"), ("prometheus", "grafana-postgresql-datasource")
    for label, name, kind in zip(labels, SOURCES, kinds, strict=True):
        base = base.with_variable(dashboards.DatasourceVariable(name).label(label).type(kind))
    for other in PLACES:
        if other is not place:
            base = base.link(_link(place, other))
    return base.annotation(rebalances(tables.annotations(marks))) if marks else base


def _link(here: DashboardPlace, there: DashboardPlace) -> dashboards.DashboardLink:
    address, all_variables = navigation(here, there)
    return (
        dashboards.DashboardLink(there.title.removeprefix("Rebalances: "))
        .type(DashboardLinkType.LINK)
        .icon("dashboard")
        .tooltip(there.title)
        .url(address)
        .keep_time(True)
        .include_vars(all_variables)
    )


def rebalances(sql: str) -> dashboards.AnnotationQuery:
    """Rebalances as marks on the time axis; works on any dashboard with a PostgreSQL data source."""
    return (
        dashboards.AnnotationQuery()
        .name("Rebalances")
        .datasource(POSTGRES)
        .enable(True)
        .hide(False)
        .icon_color("orange")
        .target(SqlQuery(sql, ref_id="Rebalances"))
    )


def one_group(base: dashboards.Dashboard, metric: Metric) -> dashboards.Dashboard:
    """The dashboard with a choice of one cluster, and of one of its groups that have this metric."""
    cluster = _choice(_of_label(CLUSTER, CLUSTER, metric, ""), several=False)
    group = _choice(_of_label("group", "group", metric, 'cluster="$cluster"'), several=False)
    return base.with_variable(cluster).with_variable(group)


def several_clusters(base: dashboards.Dashboard, metric: Metric) -> dashboards.Dashboard:
    """The dashboard with a choice of any number of clusters, and the first of them for links (`places.navigation`)."""
    chosen = _choice(_of_label(CLUSTER, CLUSTER, metric, ""), several=True)
    first = _choice(_of_label(FIRST_CHOSEN, CLUSTER, metric, FLEET), several=False)
    return base.with_variable(chosen).with_variable(first.hide(VariableHide.HIDE_VARIABLE))


def _of_label(name: str, label: str, metric: Metric, scope: str) -> dashboards.QueryVariable:
    query = f"label_values({series(metric, scope)}, {label})"
    variable = _variable(name).datasource(PROMETHEUS).query({"query": query, "refId": name, "qryType": 1})
    return variable.definition(query)


def sql_values(name: str, sql: str) -> dashboards.QueryVariable:
    """A variable whose values are rows of the database."""
    return _choice(_variable(name).datasource(POSTGRES).query(sql).definition(sql), several=False)


def _variable(name: str) -> dashboards.QueryVariable:
    return dashboards.QueryVariable(name).label(name.capitalize()).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)


def _choice(variable: dashboards.QueryVariable, *, several: bool) -> dashboards.QueryVariable:
    if several:
        return variable.sort(VariableSort.ALPHABETICAL_ASC).multi(True).include_all(True)
    return variable.sort(VariableSort.DISABLED)


def assembled(base: dashboards.Dashboard, sections: Sequence[tuple[str, Sequence[Panel]]]) -> Any:
    """The dashboard with one row per section; panels are numbered in order, so that their links stay the same."""
    number_of = 1
    for title, section in sections:
        base = base.with_row(dashboards.Row(title).id(number_of))
        number_of += 1
        for panel in section:
            base = base.with_panel(panel.id(number_of))
            number_of += 1
    return base.build()
