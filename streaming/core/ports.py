"""What the shell must provide: the store that owns all progress. Adapters implement these, and hold no rules."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from rebalance_monitor.streaming.core.cluster.stored import StoredTopics
from rebalance_monitor.streaming.core.model.results import Result, Source


class GroupKey(NamedTuple):
    """One fold: a group of a cluster."""

    cluster: str
    group: str


class PartitionKey(NamedTuple):
    """One partition of one incarnation of a topic (a re-created topic has another id)."""

    cluster_id: str
    topic_id: str
    topic: str
    partition: int


class Range(NamedTuple):
    """Offsets of one partition that a bundle covers: start inclusive, end exclusive. `hole`: the offset behind the
    newest hole up to the end; `markers`: the partition has markers of transactions."""

    start: int
    end: int
    hole: int | None = None
    markers: bool = False


class Position(NamedTuple):
    """What is stored of a partition: the next offset to read, and `hole` and `markers` as `Range` has them."""

    next_offset: int
    hole: int | None = None
    markers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """A group's state after a bundle: bytes of one version, and when its next timer is due (None: never). `home`: the
    partition of the group's records, `topic-number`; `has_topics`: it has topics beside the coordinator's log.

    `revision` counts how often the state was written. Committed: the one that was loaded, 0 where there was none.

    Rows of waiting records are stored by position. Loaded: the first ones. Committed: those to be written; `waits` is
    the range of positions that are to be there then (start, end), None where there were none and are none.
    """

    version: int
    state: bytes
    due_ms: int | None
    home: str | None = None
    has_topics: bool = False
    revision: int = 0
    waiting: Mapping[int, bytes] = field(default_factory=dict)
    waits: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class FoldError:
    """A fold that failed. `fingerprint`: the error's type and a hash of its place in the code, no values; `record`: the
    record it failed at, None when it was none; `trace`: frames without the error's text."""

    fingerprint: str
    record: Source | None = None
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState:
    """A state put aside because a fold from it failed, and the records of that fold as text, both cut to a bound."""

    cluster: str
    group: str
    fingerprint: str
    record: str
    version: int
    state: bytes
    rows: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Everything one bundle wants to make true, in one transaction."""

    batch_id: int
    writer_epoch: int
    ranges: Mapping[PartitionKey, Range]
    states: Mapping[GroupKey, StoredState]
    results: Sequence[Result] = field(default_factory=tuple)
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    kept: Sequence[KeptState] = field(default_factory=tuple)
    # Records of groups that are only counted, by (cluster, group, kind).
    other_groups: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    # Samples that no batch before has used.
    topics: StoredTopics | None = None


class RefusedRow(NamedTuple):
    """A row that the store refused: its table, the values of its key, and the kind of the error."""

    table: str
    key: tuple[str, ...]
    why: str


class OutOfStep(Exception):
    """The batch starts above the stored position: it must be read again from `expected`."""

    def __init__(self, partition: PartitionKey, expected: int, got: int, why: str = "") -> None:
        """`why`: what the cluster answered instead of the records; "" where the batch is just out of step."""
        super().__init__(partition, expected, got, why)
        self.partition, self.expected, self.got, self.why = partition, expected, got, why

    def __str__(self) -> str:
        place = f"{self.partition.topic}-{self.partition.partition}"
        if self.why:
            return f"{place} can't be read ({self.why})"
        return f"{place}: batch starts at {self.got}, stored position is {self.expected}"


class AlreadyThere(Exception):
    """All that the bundle covers is stored: an attempt before this one has committed it."""

    def __str__(self) -> str:
        return "a bundle is stored already: an attempt before this one has committed it"


class Overtaken(Exception):
    """Another bundle has written the state of one of these groups, or one of these partitions, meanwhile."""

    def __str__(self) -> str:
        return "another bundle has written the same group or partition meanwhile"


def already_there(ranges: Mapping[PartitionKey, Range], stored: Mapping[PartitionKey, int]) -> bool:
    """Whether the stored positions are the ends of these ranges, and were moved there: not all of them are empty."""
    return all(stored.get(key) == covered.end for key, covered in ranges.items()) and any(
        covered.start < covered.end for covered in ranges.values()
    )


class Deposed(Exception):
    """Another writer has taken over: this process must stop writing."""


class Store(Protocol):
    """The only authority on progress."""

    def positions(self) -> Mapping[PartitionKey, int]:
        """Next offset to read, for each partition ever committed; those that moved last come last."""

    def at(self, keys: Collection[PartitionKey]) -> Mapping[PartitionKey, Position]:
        """What is stored of these partitions, where something is."""

    def load(self, keys: Collection[GroupKey]) -> Mapping[GroupKey, StoredState]:
        """States of these groups, where stored, each with the first two rows of waiting records."""

    def load_waiting(self, key: GroupKey, position: int) -> Mapping[int, bytes]:
        """The next rows of waiting records of a group, from this position on: a bounded number, at least one if there
        is one."""

    def at_home(self, cluster: str, home: str) -> Sequence[GroupKey]:
        """Groups whose records lie in this partition (`topic-number`), and those of which nobody knows where."""

    def with_topics(self, cluster: str) -> Mapping[str, str | None]:
        """Groups of a cluster that have topics of their own, each with its home, where that is known."""

    def topic_samples(self, cluster_id: str) -> Mapping[str, str]:
        """What batches committed of a cluster's topics (`cluster.stored`), by topic."""

    def waiting(self, cluster: str) -> Sequence[GroupKey]:
        """Groups of a cluster that have waiting records."""

    def present_groups(self, cluster: str) -> Sequence[str]:
        """Groups of a cluster that were not deleted."""

    def troubled_groups(self, cluster: str) -> Sequence[tuple[str, str]]:
        """Each open incident of a cluster: its group and its id."""

    def due(self, cluster: str, now_ms: int) -> Sequence[GroupKey]:
        """Groups of a cluster whose timer is due at `now_ms`."""

    def earliest_due_ms(self, cluster: str) -> int | None:
        """When the next timer of the cluster is due."""

    def commit(self, commit: Commit) -> Sequence[RefusedRow]:
        """Check epoch, positions and revisions, write everything, advance the positions; what could not be written.
        Raises OutOfStep, AlreadyThere, Overtaken or Deposed."""
