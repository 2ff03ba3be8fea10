"""A store in memory that keeps the port's promises: epoch and positions are checked, all or nothing is written."""

from collections.abc import Collection, Mapping, Sequence

from streaming.core.ports import Commit, Deposed, GroupKey, OutOfStep, PartitionKey, StoredState


class MemoryStore:
    def __init__(self) -> None:
        self.epoch = 0
        self.at: dict[PartitionKey, int] = {}
        self.states: dict[GroupKey, StoredState] = {}
        self.commits: list[Commit] = []

    def claim(self) -> int:
        self.epoch += 1
        return self.epoch

    def positions(self) -> Mapping[PartitionKey, int]:
        return dict(self.at)

    def load(self, keys: Collection[GroupKey]) -> Mapping[GroupKey, StoredState]:
        return {key: self.states[key] for key in keys if key in self.states}

    def due(self, cluster: str, now_ms: int) -> Sequence[GroupKey]:
        return [
            key
            for key, stored in self.states.items()
            if key.cluster == cluster and stored.due_ms is not None and stored.due_ms <= now_ms
        ]

    def earliest_due_ms(self, cluster: str) -> int | None:
        timers = (s.due_ms for key, s in self.states.items() if key.cluster == cluster and s.due_ms is not None)
        return min(timers, default=None)

    def commit(self, commit: Commit) -> None:
        if commit.writer_epoch != self.epoch:
            raise Deposed
        for key, covered in commit.ranges.items():
            if covered.start != self.at.get(key, covered.start):
                raise OutOfStep(key, self.at[key], covered.start)
        self.at |= {key: covered.end for key, covered in commit.ranges.items()}
        self.states |= commit.states
        self.commits.append(commit)
