"""Lag of all groups: who is behind and falls further behind, what rebalances held up, who never committed."""

from typing import Any

from rebalance_monitor.streaming.core import lag_metrics as lags
from rebalance_monitor.streaming.core import metrics
from . import queries, tables
from .frames import assembled, frame, several_clusters
from .panels import Panel, graph, number, rows
from .places import LAG as HERE
from .places import group_address
from .queries import FLEET, line

_OF = ("cluster", "group")
_NAMES = "{{cluster}} {{group}}"
_TRENDS = (("falls behind", 1), ("steady", 0), ("catches up", -1))


def lag_of_groups() -> Any:
    base = frame(HERE, "How far all groups are behind, and what their rebalances held up.", marks=tables.FLEET_SQL)
    base = several_clusters(base, lags.LAG_SAMPLED)
    return assembled(
        base, [("Now", _now()), ("Over time", _over_time()), ("Rebalances", _rebalances()), ("Samples", _samples())]
    )


def _of_groups(metric: metrics.Metric) -> str:
    return queries.aggregated(metric, _OF, FLEET, how="max")


def _worst(metric: metrics.Metric) -> list[tuple[str, str]]:
    return [(f"topk(10, {_of_groups(metric)} > 0)", _NAMES)]


def _without_members() -> str:
    """Lag of groups that the coordinator has no members of, or that never had any."""
    return f"{_of_groups(lags.LAG_RECORDS)} > 0 unless on (cluster, group) ({_of_groups(metrics.GROUP_MEMBERS)} > 0)"


def _now() -> list[Panel]:
    return [
        number(
            "Groups that fall behind",
            f"count({_of_groups(lags.LAG_TREND)} == 1) or vector(0)",
            unit="none",
            description="Groups whose lag grew, by their last ten samples.",
            bad_from=1,
            span=6,
        ),
        number(
            "Largest lag in time",
            f"max({_of_groups(lags.LAG_SECONDS)})",
            unit="s",
            description="How long ago the first record was written that a group has not read yet.",
            span=6,
        ),
        number(
            "Groups without members, with lag",
            f"count({_without_members()}) or vector(0)",
            unit="none",
            description="Nobody reads what is written for them. A group that nobody needs any more: delete it.",
            bad_from=1,
            span=6,
        ),
        number(
            "Partitions held, never committed",
            f"sum({_of_groups(lags.NEVER_COMMITTED)}) or vector(0)",
            unit="none",
            description="Partitions that members hold and of which brokers tell no committed offset: their group has "
            "never committed, its commits have expired, or the monitor may not describe the topic.",
            bad_from=1,
            span=6,
        ),
    ]


def _over_time() -> list[Panel]:
    return [
        graph(
            "Lag, ten largest",
            _worst(lags.LAG_RECORDS),
            unit="none",
            description="Records between committed offsets and end offsets.",
        ),
        graph(
            "Lag in time, ten largest",
            _worst(lags.LAG_SECONDS),
            unit="s",
            description="How long ago the first record was written that is not read yet.",
        ),
        graph(
            "Groups by trend",
            [(f"count({_of_groups(lags.LAG_TREND)} == {value}) or vector(0)", name) for name, value in _TRENDS],
            unit="none",
            description="What the lag of groups did, by their last ten samples.",
            stacked=True,
        ),
        graph(
            "Lag of groups without members",
            [(f"topk(10, {_without_members()})", _NAMES)],
            unit="none",
            description="Records that nobody reads, in the ten groups with the most of them.",
        ),
        graph(
            "Never committed",
            _worst(lags.NEVER_COMMITTED),
            unit="none",
            description="Partitions that members hold and of which brokers tell no committed offset.",
        ),
        graph(
            "Lag not known",
            _worst(lags.LAG_UNKNOWN),
            unit="none",
            description="Partitions without a committed offset, without an end offset, or with one before the other.",
        ),
    ]


def _rebalances() -> list[Panel]:
    return [
        graph(
            "Records held up, ten groups with the most",
            [(f"topk(10, {queries.per_minute(lags.HELD_UP_RECORDS, _OF, FLEET)} > 0)", _NAMES)],
            unit="none",
            description="By how many records rebalances made lag grow, per minute.",
        ),
        graph(
            "Time until groups had caught up",
            [(f"topk(10, {queries.rate(lags.HELD_UP_SECONDS, _OF, FLEET)} > 0)", _NAMES)],
            unit="percentunit",
            description="Share of time in which groups worked off the lag of a rebalance. It is counted when they "
            "have caught up, so it can be above 1 for a moment.",
        ),
        graph(
            "Rebalances by what became of their lag",
            [line("{{outcome}}", queries.per_minute, lags.REBALANCES_MEASURED, FLEET)],
            unit="none",
            description="Per minute: caught_up; not_caught_up, before the next rebalance or within an hour; not_known.",
            span=24,
            stacked=True,
        ),
        rows(
            "Rebalances that held up most",
            tables.HELD_UP_SQL,
            description="Records by which a rebalance made the lag of its group grow. A click on the group opens its "
            "history.",
            moments=("at",),
            links={"group": group_address()},
        ),
    ]


def _samples() -> list[Panel]:
    return [
        graph(
            "Since the last sample, ten oldest",
            [(f"topk(10, {queries.age(lags.LAG_SAMPLED, _OF, FLEET)})", _NAMES)],
            unit="s",
            description="Of when the lag is. A line that rises: brokers do not answer for the group's offsets.",
        ),
        graph(
            "Since the last commit, ten oldest",
            [(f"topk(10, {queries.age(lags.COMMIT_CHANGED, _OF, FLEET)})", _NAMES)],
            unit="s",
            description="Since a sample showed another committed offset. It rises, too, where nothing is written.",
        ),
        graph(
            "Topics and partitions without series",
            [line("{{cluster}}", queries.aggregated, lags.HIDDEN_LAGS, FLEET)],
            unit="none",
            description="What metrics.lag asks for and metrics.max_lags leaves no room for.",
            span=24,
        ),
    ]
