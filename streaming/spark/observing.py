"""Who is told how the job goes, and who keeps for the next job what this one knew."""

from collections.abc import Mapping
from typing import Protocol

from rebalance_monitor.streaming.polling.pollers import PollsObserved
from .batch import BatchReport
from .channel import ReaderStatus


class Observer(Protocol):
    """Who wants to know how the job goes. Called from several threads; must not block for long."""

    def batch(self, report: BatchReport) -> None:
        """A batch was committed."""

    def reader(self, cluster: str, status: ReaderStatus) -> None:
        """What the reader sees of the cluster, about once a second."""

    def trouble(self, cluster: str, problem: str | None) -> None:
        """Why the query is not running now; None when it runs again."""

    def stands_by(self, cluster: str, holder: str | None) -> None:
        """Another job, whose name this is, judges the cluster while this one waits; None: this one does."""

    def of(self, cluster: str) -> PollsObserved:
        """Who wants to know how the parts of the job do that serve this cluster alone."""

    def watch(self, cluster: str) -> None:
        """The job watches this cluster from now on."""


class Leases(Protocol):
    """Which clusters this job judges, and which one another job does (`store.lease`)."""

    def want(self, cluster: str) -> None:
        """This job is to judge this cluster, too."""

    def epoch(self, cluster: str) -> int | None:
        """The writer's epoch; None while another job holds the lease. Deposed once another job has taken it."""

    def holders(self, cluster: str) -> str | None:
        """Who holds what this job waits for; None before the first look."""

    def give_up(self, *clusters: str) -> None:
        """Whoever waits for these clusters may take them at once; without a name: for all. The job writes no more."""


class KnownEnds(Protocol):
    """What was known of partitions and not read, kept for the job after this one. Keys: texts of `SourcePartition`."""

    def stored(self, cluster_id: str) -> dict[str, tuple[int, int]]:
        """What the job before this one knew last: first offset and last known end of each partition."""

    def note(self, cluster_id: str, ends: Mapping[str, tuple[int, int]]) -> None:
        """What the reader says now; returns at once."""

    def start(self, cluster_id: str, epoch: int) -> None:
        """What is noted of this cluster is kept from now on, as long as the epoch is its latest."""
