"""The kinds of panel that the dashboards use. Unit and description have no default, so that no panel lacks them."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.builders import prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog import builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

PROMETHEUS = common.DataSourceRef(type_val="prometheus", uid="${prometheus}")
POSTGRES = common.DataSourceRef(type_val="grafana-postgresql-datasource", uid="${postgres}")

Panel: TypeAlias = stat.Panel | timeseries.Panel | table.Panel


class SqlQuery(Dataquery, builder.Builder["SqlQuery"]):
    """A query of the PostgreSQL data source, for which the SDK has no model."""

    def __init__(self, sql: str, ref_id: str = "A") -> None:
        self._sql = sql
        self._ref_id = ref_id

    def build(self) -> "SqlQuery":
        return self

    def to_json(self) -> dict[str, object]:
        return {
            "datasource": POSTGRES.to_json(),
            "editorMode": "code",
            "format": "table",
            "rawQuery": True,
            "rawSql": self._sql,
            "refId": self._ref_id,
        }


def number(
    title: str,
    expr: str,
    *,
    unit: str,
    description: str,
    bad_from: float | None = None,
    bad_below: float | None = None,
    span: int = 4,
) -> stat.Panel:
    """One number, red from `bad_from` on or below `bad_below`."""
    query = prometheus.Dataquery().expr(expr).instant().ref_id("A").datasource(PROMETHEUS)
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(PROMETHEUS)
        .unit(unit)
        .span(span)
        .height(4)
        .color_mode(common.BigValueColorMode.VALUE)
        .graph_mode(common.BigValueGraphMode.NONE)
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .thresholds(_thresholds(bad_from, bad_below))
        .no_value("no data")
        .with_target(query)
    )


def graph(
    title: str,
    queries: Sequence[tuple[str, str]],
    *,
    unit: str,
    description: str,
    span: int = 12,
    stacked: bool = False,
) -> timeseries.Panel:
    """Lines over time; `queries` = (expression, legend)."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(PROMETHEUS)
        .unit(unit)
        .span(span)
        .height(8)
        .min(0)
        .fill_opacity(10)
        .show_points(common.VisibilityMode.NEVER)
        .legend(
            common_builders.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs([])
        )
    )
    if stacked:
        panel = panel.stacking(common_builders.StackingConfig().mode(common.StackingMode.NORMAL))
    for at, (expr, legend) in enumerate(queries):
        query = prometheus.Dataquery().expr(expr).range().legend_format(legend).ref_id(chr(ord("A") + at))
        panel = panel.with_target(query.format(PromQueryFormat.TIME_SERIES).datasource(PROMETHEUS))
    return panel


def rows(
    title: str,
    sql: str,
    *,
    description: str,
    units: dict[str, str] | None = None,
    links: dict[str, str] | None = None,
    span: int = 24,
) -> table.Panel:
    """Rows of the database. `units` and `links` (addresses) are given by column."""
    panel = (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(POSTGRES)
        .unit("none")
        .span(span)
        .height(9)
        .with_target(SqlQuery(sql))
    )
    for column, unit in sorted((units or {}).items()):
        panel = panel.override_by_name(column, [dashboard.DynamicConfigValue(id_val="unit", value=unit)])
    for column, address in sorted((links or {}).items()):
        link = [{"title": "show the group", "url": address, "targetBlank": False}]
        panel = panel.override_by_name(column, [dashboard.DynamicConfigValue(id_val="links", value=link)])
    return panel


def data_sources() -> list[dashboards.DatasourceVariable]:
    """The two data sources, chosen by whoever looks: no panel names one."""
    return [
        dashboards.DatasourceVariable("prometheus").label("Prometheus").type("prometheus"),
        dashboards.DatasourceVariable("postgres").label("PostgreSQL").type("grafana-postgresql-datasource"),
    ]


def labels_variable(name: str, query: str, *, label: str, several: bool) -> dashboards.QueryVariable:
    """A variable whose values are label values of a series."""
    variable = (
        dashboards.QueryVariable(name)
        .label(label)
        .datasource(PROMETHEUS)
        .query({"query": query, "refId": name, "qryType": 1})
        .definition(query)
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
    )
    return variable.multi(True).include_all(True).current(_ALL) if several else variable


_ALL = dashboard.VariableOption(selected=True, text="All", value="$__all")


def _thresholds(bad_from: float | None, bad_below: float | None) -> dashboards.ThresholdsConfig:
    steps = [dashboard.Threshold(value=None, color="green" if bad_below is None else "red")]
    if bad_below is not None:
        steps.append(dashboard.Threshold(value=bad_below, color="green"))
    if bad_from is not None:
        steps.append(dashboard.Threshold(value=bad_from, color="red"))
    return dashboards.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps)


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
