"""The bounds of /metrics, as the configuration gives them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from rebalance_monitor.streaming.store.labels import as_it_is

NO_LAG, BY_GROUP, BY_TOPIC, BY_PARTITION = "off", "group", "topic", "partition"
"""For what lag has series: `metrics.lag`."""


def nobodys(_cluster: str, _group: str) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLimits:
    """Patterns of groups that are only counted, how many groups and tasks have series, how workers are called, and
    whose a group is. `lag`: for what lag has series; of groups that fit `lag_groups`, `max_lags` topics or partitions.
    """

    ignored_groups: tuple[str, ...] = ()
    max_groups: int = 2_000
    max_tasks: int = 1_000
    lag: str = BY_GROUP
    lag_groups: tuple[str, ...] = ("*",)
    max_lags: int = 10_000
    worker: Callable[[str], str] = field(default=as_it_is)
    team: Callable[[str, str], str] = field(default=nobodys)

    def ignores(self, group: str) -> bool:
        """Whether this group is only counted."""
        return any(fnmatchcase(group, pattern) for pattern in self.ignored_groups)

    def shows_lag_in(self, group: str) -> bool:
        """Whether topics or partitions of this group may have series of their lag."""
        return any(fnmatchcase(group, pattern) for pattern in self.lag_groups)
