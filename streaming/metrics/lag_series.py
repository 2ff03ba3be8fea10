"""Series of lag: of each group that has series, and as far as the configuration wants them of topics or partitions.

Topics and partitions have a budget. A group that has its place in it keeps it until it goes: all of its topics or
partitions have series, or none. What has no place is counted.
"""

from collections.abc import Iterator, Mapping

from rebalance_monitor.streaming.core import lag_metrics as lags
from rebalance_monitor.streaming.core.metric import Metric
from rebalance_monitor.streaming.core.model.results import GroupProgress, HeldUp, PartitionLag, RebalanceCost, TopicLag
from .families import Families, GroupLabels, Labels
from .group_series import Groups
from .known_group import key_of
from .limits import BY_PARTITION, BY_TOPIC, NO_LAG, SeriesLimits

Value = float | None
SeriesPlace = tuple[Metric, Labels]
LEAST_BOUND_MS = 60_000
OUTCOMES = ("not_known", "not_caught_up", "caught_up")
TRENDS = {"falling_behind": 1, "steady": 0, "catching_up": -1}


class LagSeries:
    """The last sample of each group. Not thread-safe."""

    def __init__(self, families: Families, groups: Groups, limits: SeriesLimits) -> None:
        self._families, self._groups, self._limits = families, groups, limits
        self._last: dict[GroupLabels, GroupProgress] = {}
        self._shown: dict[GroupLabels, tuple[int, set[SeriesPlace]]] = {}
        self._places: dict[GroupLabels, int] = {}
        self._taken = 0
        self._clusters: set[str] = set()

    def progress(self, told: GroupProgress) -> None:
        """What brokers said of a group; shown at the next scrape."""
        if self._limits.lag != NO_LAG:
            self._last[key_of(told.cluster, told.group)] = told
        if told.held_up is not None and not told.held_up.final:
            self._counted_from_0(told.cluster, self._groups.label(told.cluster, told.group))

    def _counted_from_0(self, *key: str) -> None:
        """A counter that begins with what is settled first would show no growth: `rate` needs a sample before."""
        for metric in (lags.HELD_UP_RECORDS, lags.HELD_UP_SECONDS):
            self._families.counter(metric, *key)
        for outcome in OUTCOMES:
            self._families.counter(lags.REBALANCES_MEASURED, *key, outcome)

    def cost(self, told: RebalanceCost) -> None:
        """What a rebalance held up is settled."""
        group, held = self._groups.label(told.cluster, told.group), told.held_up
        key = told.cluster, group
        self._families.counter(lags.REBALANCES_MEASURED, *key, outcome_of(held)).inc(held.rebalances)
        if held.followed is None:  # else they are in those of the one that followed
            self._families.counter(lags.HELD_UP_RECORDS, *key).inc(held.records or 0)
        took_ms = held.caught_up_ms - held.since_ms if held.caught_up_ms is not None and held.records else 0
        self._families.counter(lags.HELD_UP_SECONDS, *key).inc(max(took_ms, 0) / 1000)
        if group and held.caught_up_ms is not None:
            self._families.gauge(lags.CAUGHT_UP, *key).set(held.caught_up_ms / 1000)
        elif group:
            self._families.remove(lags.CAUGHT_UP, *key)

    def sweep(self) -> None:
        """Shows what was told since the last scrape, of groups that have series now."""
        for key in [key for key in self._last if not self._groups.knows(key)]:
            del self._last[key]
        gone = [key for key in self._shown if key not in self._last or not self._groups.shows(key)]
        for key in gone:
            del self._shown[key]
            self._give_up(key)
        hidden = dict.fromkeys(self._clusters, 0)
        for key, told in self._last.items():
            if not self._groups.shows(key):
                continue
            self._clusters.add(key[0])
            hidden[key[0]] = hidden.get(key[0], 0) + self._place(key, told)
            before = self._shown.get(key)
            if before is None or before[0] != told.answered_ms:
                self._show(key, told, set() if before is None else before[1])
        for cluster, count in hidden.items():
            self._families.gauge(lags.HIDDEN_LAGS, cluster).set(count)

    def _place(self, key: GroupLabels, told: GroupProgress) -> int:
        """Gives the group its place, if there is one; returns how many of its topics or partitions have none."""
        level = self._limits.lag
        if level not in (BY_TOPIC, BY_PARTITION) or not self._limits.shows_lag_in(key[1]):
            return 0
        wanted = len(told.topics) if level == BY_TOPIC else len(told.partitions)
        more = 0 if level == BY_TOPIC else told.more_partitions
        self._give_up(key)
        if self._taken + wanted > self._limits.max_lags:
            return wanted + more
        self._places[key] = wanted
        self._taken += wanted
        return more

    def _give_up(self, key: GroupLabels) -> None:
        self._taken -= self._places.pop(key, 0)

    def _show(self, key: GroupLabels, told: GroupProgress, before: set[SeriesPlace]) -> None:
        values = dict(_of_group(key, told))
        if key in self._places:
            values.update((place, value) for topic in told.topics for place, value in _of_topic(key, topic))
            if self._limits.lag == BY_PARTITION:
                values.update((place, value) for one in told.partitions for place, value in _of_partition(key, one))
        known = {place: value for place, value in values.items() if value is not None}
        for metric, labels in before - known.keys():
            self._families.remove(metric, *labels)
        for (metric, labels), value in known.items():
            self._families.gauge(metric, *labels).set(value)
        self._shown[key] = told.answered_ms, set(known)


def outcome_of(held: HeldUp) -> str:
    """What became of the lag that a rebalance added."""
    if held.records is None:
        return "not_known"
    return "not_caught_up" if held.caught_up_ms is None else "caught_up"


def _of_group(key: GroupLabels, told: GroupProgress) -> Iterator[tuple[SeriesPlace, Value]]:
    values: Mapping[Metric, Value] = {
        lags.LAG_RECORDS: told.lag,
        lags.LAG_SECONDS: _lag_s(told.lag_ms, told.at_least),
        lags.LAG_TREND: TRENDS.get(told.trend or ""),
        lags.LAG_UNKNOWN: told.unknown,
        lags.NEVER_COMMITTED: told.never_committed,
        lags.COMMIT_CHANGED: _seconds(told.changed_ms),
        lags.LAG_SAMPLED: told.answered_ms / 1000,
    }
    yield from (((metric, key), value) for metric, value in values.items())


def _of_topic(key: GroupLabels, one: TopicLag) -> Iterator[tuple[SeriesPlace, Value]]:
    labels = (*key, one.topic)
    yield (lags.TOPIC_LAG_RECORDS, labels), one.lag if one.unknown < one.partitions else None
    yield (lags.TOPIC_LAG_SECONDS, labels), _lag_s(one.lag_ms, one.at_least)


def _of_partition(key: GroupLabels, one: PartitionLag) -> Iterator[tuple[SeriesPlace, Value]]:
    topic, _, number = one.partition.rpartition("-")
    labels = (*key, topic, number)
    yield (lags.PARTITION_LAG_RECORDS, labels), one.lag
    yield (lags.PARTITION_LAG_SECONDS, labels), _lag_s(one.lag_ms, one.at_least)
    yield (lags.PARTITION_COMMITTED, labels), one.committed
    yield (lags.PARTITION_END, labels), one.end


def _lag_s(lag_ms: int | None, at_least: bool) -> float | None:
    """None for a lower bound that says next to nothing: just after a start it would look like a group that is caught
    up."""
    return None if lag_ms is None or (at_least and lag_ms < LEAST_BOUND_MS) else lag_ms / 1000


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
