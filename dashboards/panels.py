"""The kinds of panel that the dashboards use. Unit and description have no default, so that no panel lacks them."""

from collections.abc import Sequence
from typing import TypeAlias

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.cog import builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

PROMETHEUS = common.DataSourceRef(type_val="prometheus", uid="${prometheus}")
POSTGRES = common.DataSourceRef(type_val="grafana-postgresql-datasource", uid="${postgres}")

MOMENT = "dateTimeAsIso"
"""Unit of a point in time."""

Panel: TypeAlias = stat.Panel | timeseries.Panel | table.Panel | statetimeline.Panel


class SqlQuery(Dataquery, builder.Builder["SqlQuery"]):
    """A query of the PostgreSQL data source, for which the SDK has no model."""

    def __init__(self, sql: str, ref_id: str = "A", frame: str = "table") -> None:
        self._sql = sql
        self._ref_id = ref_id
        self._frame = frame

    def build(self) -> "SqlQuery":
        return self

    def to_json(self) -> dict[str, object]:
        return {
            "datasource": POSTGRES.to_json(),
            "editorMode": "code",
            "format": self._frame,
            "rawQuery": True,
            "rawSql": self._sql,
            "refId": self._ref_id,
        }


WIDE = 12
"""Half of a dashboard's width."""


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
    span: int = WIDE,
    stacked: bool = False,
) -> timeseries.Panel:
    """Lines over time; `queries` = (expression, legend)."""
    panel = _lines(title, unit=unit, description=description, span=span).datasource(PROMETHEUS)
    if stacked:
        panel = panel.stacking(common_builders.StackingConfig().mode(common.StackingMode.NORMAL))
    for at, (expr, legend) in enumerate(queries):
        query = prometheus.Dataquery().expr(expr).range().legend_format(legend).ref_id(chr(ord("A") + at))
        panel = panel.with_target(query.format(PromQueryFormat.TIME_SERIES).datasource(PROMETHEUS))
    return panel


def _lines(title: str, *, unit: str, description: str, span: int) -> timeseries.Panel:
    return (
        timeseries.Panel()
        .title(title)
        .description(description)
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


def states(title: str, expr: str, legend: str, *, description: str) -> statetimeline.Panel:
    """A line for each series, filled while it is there: what was the case, and for how long."""
    query = prometheus.Dataquery().expr(expr).range().legend_format(legend).ref_id("A")
    shown = {"1": dashboard.ValueMappingResult(color="blue", text="yes")}
    return (
        statetimeline.Panel()
        .title(title)
        .description(description)
        .datasource(PROMETHEUS)
        .unit("none")
        .span(WIDE)
        .height(8)
        .merge_values(True)
        .show_value(common.VisibilityMode.NEVER)
        .mappings([dashboard.ValueMap(options=shown)])
        .with_target(query.format(PromQueryFormat.TIME_SERIES).datasource(PROMETHEUS))
    )


def sql_graph(title: str, sql: str, *, unit: str, description: str, bars: bool = False) -> timeseries.Panel:
    """Lines or bars over time from the database: a column `time`, every other column a line."""
    return (
        _lines(title, unit=unit, description=description, span=WIDE)
        .datasource(POSTGRES)
        .draw_style(common.GraphDrawStyle.BARS if bars else common.GraphDrawStyle.LINE)
        .line_interpolation(common.LineInterpolation.STEP_AFTER)
        .with_target(SqlQuery(sql, frame="time_series"))
    )


def matrix(
    title: str, sql: str, *, row: str, column: str, cell: str, colors: dict[str, str], description: str
) -> table.Panel:
    """A table of one column's values against another's, coloured by what is in the cell."""
    pivot = {"rowField": row, "columnField": column, "valueField": cell, "emptyValue": "empty"}
    found = {text: dashboard.ValueMappingResult(color=color, text=text) for text, color in colors.items()}
    return (
        rows(title, sql, description=description)
        .height(14)
        .cell_options(common.TableColoredBackgroundCellOptions(mode=common.TableCellBackgroundDisplayMode.BASIC))
        .mappings([dashboard.ValueMap(options=found)])
        .with_transformation(dashboard.DataTransformerConfig(id_val="groupingToMatrix", options=pivot))
    )


def rows(
    title: str,
    sql: str,
    *,
    description: str,
    moments: Sequence[str] = (),
    units: dict[str, str] | None = None,
    links: dict[str, str] | None = None,
    span: int = 24,
    hidden: Sequence[str] = (),
) -> table.Panel:
    """Rows of the database. `units` and `links` (addresses) are given by column, `moments` are columns with times;
    `hidden` ones serve links only.
    """
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
    for column, unit in sorted({**dict.fromkeys(moments, MOMENT), **(units or {})}.items()):
        panel = panel.override_by_name(column, [dashboard.DynamicConfigValue(id_val="unit", value=unit)])
    for column, address in sorted((links or {}).items()):
        link = [{"title": "show it", "url": address, "targetBlank": False}]
        panel = panel.override_by_name(column, [dashboard.DynamicConfigValue(id_val="links", value=link)])
    for column in hidden:
        panel = panel.override_by_name(column, [dashboard.DynamicConfigValue(id_val="custom.hidden", value=True)])
    return panel


def _thresholds(bad_from: float | None, bad_below: float | None) -> dashboards.ThresholdsConfig:
    steps = [dashboard.Threshold(value=None, color="green" if bad_below is None else "red")]
    if bad_below is not None:
        steps.append(dashboard.Threshold(value=bad_below, color="green"))
    if bad_from is not None:
        steps.append(dashboard.Threshold(value=bad_from, color="red"))
    return dashboards.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps)
