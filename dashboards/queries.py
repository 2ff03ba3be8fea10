"""PromQL, made from the metric declarations: no panel and no rule spells a series name itself."""

import re
from collections.abc import Callable, Sequence

from rebalance_monitor.streaming.core.metrics import CLUSTER, GROUP_INFO, HEARTBEAT, INCIDENT, Metric
from rebalance_monitor.streaming.core.model.findings import AlertSeverity

_LABEL = re.compile(r"{{(\w+)}}")
# The dashboards' variables; `fleet` lets several clusters be chosen, `group` one of each.
FLEET = 'cluster=~"$cluster"'
ONE_GROUP = 'cluster="$cluster", group="$group"'

SEVERITIES = tuple(severity.value for severity in AlertSeverity)
"""How loudly people are told, loudest first: the label `severity` of incidents."""


def series(metric: Metric, scope: str = "") -> str:
    """The metric's series within a scope (label matchers, comma-separated)."""
    return f"{metric.name}{{{scope}}}" if scope else metric.name


def aggregated(metric: Metric, by: Sequence[str] = (), scope: str = "", how: str = "sum") -> str:
    """Current values, aggregated by labels that the metric declares."""
    return f"{how}{_by(metric, by)} ({series(metric, scope)})"


def rate(metric: Metric, by: Sequence[str] = (), scope: str = "", window: str = "$__rate_interval") -> str:
    """Per-second rate of a counter."""
    return f"sum{_by(metric, by)} (rate({series(metric, scope)}[{window}]))"


def per_minute(metric: Metric, by: Sequence[str] = (), scope: str = "") -> str:
    return f"60 * {rate(metric, by, scope)}"


def by_team(of_groups: str, scope: str = "") -> str:
    """Values of groups (by cluster and group), summed by the team that owns each."""
    return f"sum by (team) ({of_groups} * on (cluster, group) group_left (team) {series(GROUP_INFO, scope)})"


def increase(metric: Metric, by: Sequence[str] = (), scope: str = "", window: str = "$__range") -> str:
    """What a counter grew by within a window."""
    return f"sum{_by(metric, by)} (increase({series(metric, scope)}[{window}]))"


def line(legend: str, ask: Callable[..., str], metric: Metric, scope: str, **how: str) -> tuple[str, str]:
    """A query and its legend: one line for each value of the labels that the legend names."""
    return ask(metric, _LABEL.findall(legend), scope, **how), legend


def quantile(metric: Metric, of: float, by: Sequence[str] = (), scope: str = "") -> str:
    """What this share of a histogram's observations stayed below, in the metric's unit."""
    _by(metric, by)
    buckets = f"{metric.name}_bucket{{{scope}}}" if scope else f"{metric.name}_bucket"
    return f"histogram_quantile({of}, sum by ({', '.join((*by, 'le'))}) (rate({buckets}[$__rate_interval])))"


def process(name: str) -> str:
    """A series about the process, which has no label of ours: of the targets that are monitors, by cluster."""
    return f"sum by ({CLUSTER}) ({name} * on (instance, job) group_left ({CLUSTER}) {series(HEARTBEAT, FLEET)} ^ 0)"


def grew(metric: Metric, by: Sequence[str], scope: str = "", window: str = "15m") -> str:
    """True (above 0) when a counter grew within a window, its very first value included.

    `increase` alone is blind to the sample that creates a series, and such counters are created by their first event.
    A counter that was not scraped at the window's beginning and has the value it had before is no new one: the monitor
    hung, or Prometheus did not reach it.
    """
    sums, selected = f"sum{_by(metric, by)}", series(metric, scope)
    before = f"{sums} (last_over_time({selected}[{REMEMBERED}] offset {window}))"
    appeared = (
        f"({sums} ({selected}) unless {sums} ({selected} offset {window})) unless ({sums} ({selected}) == {before})"
    )
    return f"({increase(metric, by, scope, window)} > 0) or (({appeared}) > 0)"


def age(metric: Metric, by: Sequence[str] = (), scope: str = "") -> str:
    """Seconds since a moment that the metric exports; nothing while it is 0, which stands for "never yet"."""
    return f"time() - max{_by(metric, by)} ({series(metric, scope)} > 0)"


def oldest(metric: Metric, scope: str = "") -> str:
    """Seconds since a moment that the metric exports, of the monitor where it lies back furthest."""
    return f"max({age(metric, (CLUSTER,), scope)})"


RETIRED = "rebalance_monitor:retired"
"""A series that the monitor does not export: a recording rule of the user names clusters that are watched no more."""


def gone() -> str:
    """The monitors, by cluster, that were scraped within a day and have no heartbeat now; the value is the last one.

    A monitor that was started and has committed nothing yet has the heartbeat 0, which is none.
    """
    # A monitor from before this label was declared has none.
    scraped = series(HEARTBEAT, f'{CLUSTER}!=""')
    known = f"max by ({CLUSTER}) (last_over_time({scraped}[{REMEMBERED}]))"
    beating = f"max by ({CLUSTER}) ({series(HEARTBEAT)} > 0)"
    return f"(({known} unless on ({CLUSTER}) {beating}) unless on ({CLUSTER}) {RETIRED})"


REMEMBERED = "1d"


def kept(expression: str, alert: str, by: Sequence[str]) -> str:
    """The expression, and what fires of this alert already, as long as the monitor that said so is gone.

    `by` are the labels of the expression, the cluster's among them. Prometheus itself writes ALERTS.
    """
    return f"({expression}) or on ({', '.join(by)}) ({_firing(alert, by)} and on ({CLUSTER}) {gone()})"


def not_begun_while(expression: str, said: str, alert: str, by: Sequence[str]) -> str:
    """The expression; while `said` holds of a cluster, only where this alert fires already, so that it does not end."""
    labels = ", ".join(by)
    goes_on = f"({expression} and on ({labels}) {_firing(alert, by)})"
    return f"({expression} unless on ({CLUSTER}) {said}) or on ({labels}) {goes_on}"


def _firing(alert: str, by: Sequence[str]) -> str:
    return f'max by ({", ".join(by)}) (ALERTS{{alertname="{alert}", alertstate="firing"}})'


def remaining(metric: Metric, by: Sequence[str] = (), scope: str = "") -> str:
    """Seconds until a moment that the metric exports, never below zero."""
    return f"clamp_min({aggregated(metric, by, scope, how='max')} - time(), 0)"


def open_incidents(by: Sequence[str] = (), scope: str = "") -> str:
    """Number of open incidents; 0 instead of nothing when no incident was ever seen."""
    counted = f"count{_by(INCIDENT, by)} ({series(INCIDENT, scope)} == 1)"
    return counted if by else f"{counted} or vector(0)"


def _by(metric: Metric, labels: Sequence[str]) -> str:
    unknown = set(labels) - set(metric.labels)
    if unknown:
        raise ValueError(f"{metric.name} has no label {', '.join(sorted(unknown))}")
    return f" by ({', '.join(labels)})" if labels else ""
