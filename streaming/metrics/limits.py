"""The bounds of /metrics, as the configuration gives them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from rebalance_monitor.streaming.store.labels import as_it_is


def nobodys(_cluster: str, _group: str) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLimits:
    """Patterns of groups that are only counted, how many groups and tasks have series, how workers are called, and
    whose a group is.
    """

    ignored_groups: tuple[str, ...] = ()
    max_groups: int = 2_000
    max_tasks: int = 1_000
    worker: Callable[[str], str] = field(default=as_it_is)
    team: Callable[[str, str], str] = field(default=nobodys)

    def ignores(self, group: str) -> bool:
        """Whether this group is only counted."""
        return any(fnmatchcase(group, pattern) for pattern in self.ignored_groups)
