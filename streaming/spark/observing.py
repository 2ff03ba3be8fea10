"""Who is told how the job goes, and who keeps for the next job what this one knew."""

from collections.abc import Mapping
from typing import Protocol

from rebalance_monitor.streaming.polling.states import Watched
from .batch import BatchReport
from .channel import ReaderStatus


class Observer(Protocol):
    """Who wants to know how the job goes. Called from several threads; must not block for long."""

    def batch(self, report: BatchReport) -> None:
        """A batch was committed."""
        ...

    def reader(self, cluster: str, status: ReaderStatus) -> None:
        """What the reader sees of the cluster, about once a second."""
        ...

    def trouble(self, cluster: str, problem: str | None) -> None:
        """Why the query is not running now; None when it runs again."""
        ...

    def of(self, cluster: str) -> Watched:
        """Who wants to know how the parts of the job do that serve this cluster alone."""
        ...

    def watch(self, cluster: str) -> None:
        """The job watches this cluster from now on."""
        ...


class KnownEnds(Protocol):
    """What was known of partitions and not read, kept for the job after this one. Keys: texts of `SourcePartition`."""

    def stored(self, cluster_id: str) -> dict[str, tuple[int, int]]:
        """What the job before this one knew last: first offset and last known end of each partition."""
        ...

    def note(self, cluster_id: str, ends: Mapping[str, tuple[int, int]]) -> None:
        """What the reader says now; returns at once."""
        ...

    def start(self, cluster_id: str, epoch: int) -> None:
        """What is noted of this cluster is kept from now on, as long as the epoch is its latest."""
        ...
