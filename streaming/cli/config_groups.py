"""What `config check` says of `groups` beside mistakes: entries that never count, and what nobody can tell."""

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from rebalance_monitor.streaming.config.clusters import POLL
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.model.settings import NOTHING_EXPECTED, WILDCARDS, ClusterSettings


def notes_of(settings: Settings) -> Iterator[str]:
    """One sentence each, by the configuration alone."""
    entries = settings.groups
    for index, one in enumerate(entries):
        name = f"groups[{index}] ({one.match})"
        for before, earlier in enumerate(entries[:index]):
            if _covers(earlier.match, one.match) and _covers(earlier.cluster, one.cluster):
                yield f"{name} never counts: groups[{before}] ({earlier.match}) comes first and fits all its groups"
                break
        clusters = [cluster for cluster in settings.clusters if fnmatchcase(cluster.name, one.cluster)]
        if not clusters:
            yield f"{name} never counts: no cluster of this configuration is called {one.cluster}"
        polling = settings.polling
        if one.lag_s is not None and not polling.progress:
            yield f"{name}: lag_s is not judged, because polling.progress is false and no lag is known"
        elif one.lag_s is not None and not any(_covers(wide, one.match) for wide in polling.progress_groups):
            yield f"{name}: lag_s is judged only of groups that polling.progress_groups names"
        for cluster in clusters:
            if one.rebalances_per_hour is not None and cluster.source == POLL:
                yield f"{name}: rebalances_per_hour is not judged in cluster {cluster.name}, whose groups are polled"


def found_by(cluster: ClusterSettings, groups: Collection[str]) -> Iterator[tuple[str, int]]:
    """Each pattern of the cluster of whose groups something is expected, and for how many of these groups it counts."""
    for owner in cluster.owners:
        if owner.expects != NOTHING_EXPECTED:
            yield owner.groups, sum(cluster.owner_of(group) is owner for group in groups)


def _covers(wide: str, narrow: str) -> bool:
    """Whether one pattern surely fits all that another one fits. Where `wide` has no wildcard but *, each of its
    letters fits a letter of `narrow`, so it is enough that it fits the pattern as a text."""
    if wide == narrow:
        return True
    surely = not (WILDCARDS & set(wide)) - {"*"} or not WILDCARDS & set(narrow)
    return surely and fnmatchcase(narrow, wide)
