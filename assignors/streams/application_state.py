"""What a task assignor is given (KIP-924): the application's tasks, clients and configuration.

All mappings are walked in the order of Kafka's hash maps, so that an assignor that was ported from Java decides alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.assignors.java_order import sorted_names
from .application import AssignmentConfigs
from .failures import LeaderFailed, illegal_state
from .tasks import ProcessId, TaskId, TopicPartition, sorted_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTopicPartition:
    """One partition of a task; a source topic that serves as changelog is both. `racks` are those of its replicas."""

    topic_partition: TopicPartition
    is_source: bool
    is_changelog: bool
    racks: frozenset[str] | None = None

    def rack_ids(self) -> frozenset[str] | None:
        """The racks of the partition's replicas; None if nothing could be found about the partition."""
        return self.racks


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInfo:
    """One task. `is_stateful` means that its subtopology has a state store, with changelog or without."""

    id: TaskId
    is_stateful: bool
    state_store_names: frozenset[str] = frozenset()
    topic_partitions: tuple[TaskTopicPartition, ...] = ()

    @property
    def has_changelog(self) -> bool:
        """Whether one of its partitions is a changelog's; only then standbys make sense."""
        return any(partition.is_changelog for partition in self.topic_partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaStreamsState:
    """One client. `lags` has every stateful task of the application; None if lags were not asked for.

    `reported` gives per thread (by member id) the tasks it has state of.
    """

    process_id: ProcessId
    num_processing_threads: int
    previous_active_tasks: Sequence[TaskId] = ()
    previous_standby_tasks: Sequence[TaskId] = ()
    reported: Mapping[str, Sequence[TaskId]] = field(default_factory=dict)
    lags: Mapping[TaskId, int] | None = None
    host_info: tuple[str, int] | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    rack_id: str | None = None

    @property
    def consumer_client_ids(self) -> Sequence[str]:
        """The member ids of the threads, sorted; Kafka calls them client ids."""
        return sorted_names(self.reported)

    def lag_for(self, task: TaskId) -> int:
        """The lag in records; -2 for a task that the client runs. Raises LeaderFailed for a task without lag."""
        lag = self._asked_for().get(task)
        if lag is None:
            raise illegal_state(f"no lag is known of task {task}")
        return lag

    def prev_tasks_by_lag(self, consumer_client_id: str) -> Sequence[TaskId]:
        """The tasks that the thread reported, least lag first; tasks without lag are left out."""
        lags = self._asked_for()
        known = [task for task in self.reported.get(consumer_client_id, ()) if task in lags]
        return sorted(sorted_tasks(known), key=lags.__getitem__)

    def stateful_tasks_to_lag_sums(self) -> Mapping[TaskId, int]:
        return dict(self._asked_for())

    def _asked_for(self) -> Mapping[TaskId, int]:
        if self.lags is None:
            raise LeaderFailed(
                "UnsupportedOperationException", f"lags were not asked for when the state of {self.process_id} was read"
            )
        return self.lags


class ApplicationState:
    """Everything a task assignor may look at."""

    def __init__(
        self,
        assignment_configs: AssignmentConfigs,
        all_tasks: Mapping[TaskId, TaskInfo],
        states: Mapping[ProcessId, KafkaStreamsState],
    ) -> None:
        """`states` with lags."""
        self.assignment_configs = assignment_configs
        self.all_tasks = all_tasks
        self._states = states

    def kafka_streams_states(self, compute_task_lags: bool) -> Mapping[ProcessId, KafkaStreamsState]:
        """The clients, with their lags or without. Where end offsets could not be read all lags are -3, or -2 for a
        task that the client runs."""
        if compute_task_lags:
            return dict(self._states)
        return {
            process_id: KafkaStreamsState(
                process_id=process_id,
                num_processing_threads=state.num_processing_threads,
                previous_active_tasks=state.previous_active_tasks,
                previous_standby_tasks=state.previous_standby_tasks,
                reported=state.reported,
                host_info=state.host_info,
                client_tags=state.client_tags,
                rack_id=state.rack_id,
            )
            for process_id, state in self._states.items()
        }
