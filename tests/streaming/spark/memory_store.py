"""A store in memory that keeps the port's promises: epoch and positions are checked, all or nothing is written."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from rebalance_monitor.streaming.core.model.results import Incident, Result, Standing
from rebalance_monitor.streaming.core.ports import (
    AlreadyThere,
    Commit,
    Deposed,
    GroupKey,
    OutOfStep,
    Overtaken,
    PartitionKey,
    Position,
    RefusedRow,
    Store,
    StoredState,
    already_there,
)

FIRST, AT_ONCE = 2, 300
"""Rows of waiting records that come with a state, and those that are read at once later."""


class OwnStore(Store, Protocol):
    """A store whose writer anyone becomes who asks."""

    def claim(self) -> int:
        """The writer's next epoch."""


class MemoryStore:
    def __init__(self) -> None:
        self.epoch = 0
        self.stored: dict[PartitionKey, Position] = {}
        self.states: dict[GroupKey, StoredState] = {}
        self.waiting_rows: dict[GroupKey, dict[int, bytes]] = {}
        self.commits: list[Commit] = []
        self.topics: dict[tuple[str, str], str] = {}

    def claim(self) -> int:
        self.epoch += 1
        return self.epoch

    def positions(self) -> Mapping[PartitionKey, int]:
        return {key: one.next_offset for key, one in self.stored.items()}

    def at(self, keys: Collection[PartitionKey]) -> Mapping[PartitionKey, Position]:
        return {key: self.stored[key] for key in keys if key in self.stored}

    def load(self, keys: Collection[GroupKey]) -> Mapping[GroupKey, StoredState]:
        return {key: self._loaded(key) for key in keys if key in self.states}

    def load_waiting(self, key: GroupKey, position: int) -> Mapping[int, bytes]:
        later = [one for one in self.waiting_rows.get(key, {}).items() if one[0] >= position]
        return dict(sorted(later)[:AT_ONCE])

    def at_home(self, cluster: str, home: str) -> Sequence[GroupKey]:
        return sorted(key for key, one in self.states.items() if key.cluster == cluster and one.home in (home, None))

    def with_topics(self, cluster: str) -> Mapping[str, str | None]:
        return {key.group: one.home for key, one in self.states.items() if key.cluster == cluster and one.has_topics}

    def topic_samples(self, cluster_id: str) -> Mapping[str, str]:
        return {topic: text for (of, topic), text in self.topics.items() if of == cluster_id}

    def waiting(self, cluster: str) -> Sequence[GroupKey]:
        return sorted(key for key, rows in self.waiting_rows.items() if key.cluster == cluster and rows)

    def present_groups(self, cluster: str) -> Sequence[str]:
        stands: dict[str, str] = {}
        for published in self._published():
            if isinstance(published, Standing) and published.cluster == cluster:
                stands[published.group] = published.state
        return sorted(group for group, state in stands.items() if state != "Dead")

    def troubled_groups(self, cluster: str) -> Sequence[tuple[str, str]]:
        latest = {one.incident_id: one for one in self._published() if isinstance(one, Incident)}
        incidents = (one for one in latest.values() if one.cluster == cluster and one.resolved_at_ms is None)
        return sorted((one.group, one.incident_id) for one in incidents)

    def _published(self) -> Iterator[Result]:
        return (result for commit in self.commits for result in commit.results)

    def due(self, cluster: str, now_ms: int) -> Sequence[GroupKey]:
        return [
            key
            for key, stored in self.states.items()
            if key.cluster == cluster and stored.due_ms is not None and stored.due_ms <= now_ms
        ]

    def earliest_due_ms(self, cluster: str) -> int | None:
        timers = (s.due_ms for key, s in self.states.items() if key.cluster == cluster and s.due_ms is not None)
        return min(timers, default=None)

    def commit(self, commit: Commit) -> Sequence[RefusedRow]:
        if commit.writer_epoch != self.epoch:
            raise Deposed
        stored = {key: at.next_offset for key, at in self.at(commit.ranges).items()}
        if already_there(commit.ranges, stored):
            raise AlreadyThere
        for key, covered in commit.ranges.items():
            if covered.start != stored.get(key, covered.start):
                raise OutOfStep(key, stored[key], covered.start)
        for group, saved in commit.states.items():
            if saved.revision != (self.states[group].revision if group in self.states else 0):
                raise Overtaken
        self.stored |= {key: Position(one.end, one.hole, one.markers) for key, one in commit.ranges.items()}
        for group, saved in commit.states.items():
            self.states[group] = replace(saved, waiting={}, waits=None, revision=saved.revision + 1)
            if saved.waits is not None:
                first, end = saved.waits
                kept = {at: row for at, row in self.waiting_rows.get(group, {}).items() if first <= at < end}
                self.waiting_rows[group] = kept | dict(saved.waiting)
        if commit.topics is not None:
            self.topics |= {(commit.topics.cluster_id, topic): text for topic, text in commit.topics.rows.items()}
            for topic in commit.topics.gone:
                self.topics.pop((commit.topics.cluster_id, topic), None)
        self.commits.append(commit)
        return ()

    def last_batch(self) -> Commit:
        """All that the commits of the newest batch made true."""
        newest = self.commits[-1].batch_id
        commits = [one for one in self.commits if one.batch_id == newest]
        return replace(
            commits[-1],
            ranges={key: covered for one in commits for key, covered in one.ranges.items()},
            states={key: state for one in commits for key, state in one.states.items()},
            results=tuple(result for one in commits for result in one.results),
            blobs={digest: blob for one in commits for digest, blob in one.blobs.items()},
            kept=[state for one in commits for state in one.kept],
            other_groups={key: count for one in commits for key, count in one.other_groups.items()},
            topics=next((one.topics for one in commits if one.topics is not None), None),
        )

    def _loaded(self, key: GroupKey) -> StoredState:
        first = sorted(self.waiting_rows.get(key, {}).items())[:FIRST]
        return replace(self.states[key], waiting=dict(first))
