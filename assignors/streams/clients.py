"""Clients as the leader sees them: previous tasks and lags, derived from what the threads report.

A task that a thread owns partitions of was active there; of the others it reports an offset sum, -2 saying "active and
running". The lag of a task is the sum of its changelogs' end offsets minus the reported sum. Every client has a lag for
every stateful task, the full end offset sum where it has no state.
"""

from collections.abc import Iterable, Mapping, Sequence

from rebalance_monitor.assignors.java_order import sorted_names
from .application import RUNNING, UNKNOWN_SUM, StreamsClient, StreamsTask
from .eras import Era
from .failures import illegal_state
from .tasks import HashOrders, ProcessId, TaskId, TopicPartition, sorted_partitions, sorted_tasks


class Client:
    """One process in a computation: what it had, what it lags, and what it is given (`active`, `standby`).

    `reported` are the tasks of each thread, `consumers` the threads' ids, sorted. `known_lags` has the stateful tasks
    of which the client reported something; the lag of any other one is its end offset sum (`ends`).
    """

    __slots__ = (
        "_hides_running",
        "_sums",
        "active",
        "capacity",
        "consumers",
        "ends",
        "followup_deadline_ms",
        "host_info",
        "known_lags",
        "owners",
        "previous_active",
        "previous_standby",
        "process_id",
        "rack_id",
        "reported",
        "standby",
        "tags",
        "warm_ups",
    )

    def __init__(self, given: StreamsClient, tasks: "Topology", era: Era, hash_orders: HashOrders) -> None:
        self.process_id: ProcessId = given.process_id
        self.consumers = sorted_names(consumer.id for consumer in given.consumers)
        self.capacity = len(given.consumers)
        self.tags = dict(given.tags)
        self.host_info = given.host_info
        self.rack_id = given.consumers[0].rack or None if given.consumers else None
        self.reported = {consumer.id: tuple(consumer.offset_sums) for consumer in given.consumers}
        self.owners = {partition: consumer.id for consumer in given.consumers for partition in consumer.owned}
        if tasks.has_names:
            # Partitions of a topology that was taken away are no longer this application's.
            self.owners = {part: owner for part, owner in self.owners.items() if part in tasks.task_of}
        sums: dict[TaskId, int] = {}
        for consumer in given.consumers:
            sums.update(consumer.offset_sums)
        if era.standbys_of_all:
            self.previous_active, self.previous_standby = _reported(given, hash_orders)
        else:
            self.previous_active, self.previous_standby = _previous(self.owners, sums, tasks.task_of)
        self._sums = sums
        self._hides_running = era.running_counts_as_unknown
        self.set_ends(tasks.end_offset_sums)
        self.active: list[TaskId] = []
        self.standby: list[TaskId] = []
        self.warm_ups: list[TaskId] = []
        self.followup_deadline_ms: int | None = None

    def set_ends(self, ends: Mapping[TaskId, int]) -> None:
        """Take these for the end offset sums of the stateful tasks."""
        self.ends: Mapping[TaskId, int] = ends
        self.known_lags = {task: self._lag(total, ends[task]) for task, total in self._sums.items() if task in ends}

    def _lag(self, total: int, end: int) -> int:
        """The lag that a reported sum means."""
        if self._hides_running and end == UNKNOWN_SUM:
            return UNKNOWN_SUM
        if total in (RUNNING, UNKNOWN_SUM):
            return total
        # More than exists counts as nothing: the state is damaged, or belongs to a changelog that was deleted.
        return end if end < total else _int64(end - total)

    def lag(self, task: TaskId) -> int:
        """The lag of a stateful task; -2 if the client runs it, -3 if nobody can tell. Raises LeaderFailed for another
        task."""
        lag = self.known_lags.get(task)
        if lag is None:
            lag = self.ends.get(task)
            if lag is None:
                raise illegal_state(f"no lag is known of task {task}")
        return lag

    def previous_by_lag(self, consumer: str, *, unknown_fails: bool) -> list[TaskId]:
        """The tasks the thread reported, least lag first; those that no longer exist are left out, or make the leader
        fail."""
        reported = self.reported[consumer]
        known = [task for task in reported if task in self.known_lags]
        if unknown_fails and len(known) < len(reported):
            raise illegal_state(f"{consumer} reports a task that has no lag")
        return sorted(sorted_tasks(known), key=self.known_lags.__getitem__)


class Topology:
    """The tasks of an application: which are stateful, to which task a partition belongs."""

    __slots__ = ("end_offset_sums", "has_names", "ids", "stateful", "task_of", "tasks")

    def __init__(self, tasks: Sequence[StreamsTask], stateful: Sequence[TaskId] | None = None) -> None:
        """`tasks` and `stateful` in the order in which the leader put them into its map and its set."""
        self.tasks: Mapping[TaskId, StreamsTask] = {task.id: task for task in tasks}
        self.ids = list(self.tasks)
        self.stateful = list(stateful or (task.id for task in tasks if task.stateful))
        self.has_names = any(task.id.topology for task in tasks)
        self.end_offset_sums = {task.id: task.end_offset_sum for task in tasks if task.stateful}
        self.task_of: Mapping[TopicPartition, TaskId] = {
            partition: task.id for task in tasks for partition in task.sources
        }


def clients_of(given: Iterable[StreamsClient], tasks: Topology, era: Era, hash_orders: HashOrders) -> list[Client]:
    """One `Client` for each given one, in the same order. Raises LeaderFailed where Kafka's class throws."""
    return [Client(client, tasks, era, hash_orders) for client in given]


def _previous(
    owners: Mapping[TopicPartition, str], sums: Mapping[TaskId, int], task_of: Mapping[TopicPartition, TaskId]
) -> tuple[list[TaskId], list[TaskId]]:
    """Previous active and standby tasks, both sorted."""
    active = {task_of[partition] for partition in owners if partition in task_of}
    if owners and not active:
        raise illegal_state(f"no task is known for the owned partitions {sorted_partitions(owners)}")
    owned = frozenset(active)
    active.update(task for task, total in sums.items() if total == RUNNING)
    return sorted_tasks(active), sorted_tasks(
        task for task, total in sums.items() if total != RUNNING and task not in owned
    )


def _reported(given: StreamsClient, hash_orders: HashOrders) -> tuple[list[TaskId], list[TaskId]]:
    """Previous active and standby tasks up to 2.5: what the threads report, in the order of hash sets that were filled
    from the hash set of each thread."""
    active, standby = (
        [
            task
            for consumer in given.consumers
            for task in hash_orders.tasks(
                task for task, total in consumer.offset_sums.items() if (total == RUNNING) is was_active
            )
        ]
        for was_active in (True, False)
    )
    return hash_orders.tasks(active), hash_orders.tasks(standby)


def _int64(number: int) -> int:
    """The number as Java's `long` holds it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
