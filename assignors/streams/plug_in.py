"""Running a task assignor of KIP-924 on an application: its state built as Kafka builds it, its answer applied."""

from collections.abc import Iterator, Mapping, Sequence

from .application import AssignmentConfigs, StreamsApplication, StreamsTask
from .application_state import ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition
from .assignment import TaskAssignment, TaskType
from .clients import Client, Topology, clients_of
from .tasks import HashOrders, ProcessId, TaskId, TopicPartition, signed

Replicas = Mapping[TopicPartition, tuple[str | None, ...]]


def application_state_of(
    tasks: Sequence[StreamsTask],
    clients: Sequence[Client],
    racks: Replicas,
    configs: AssignmentConfigs,
    hash_orders: HashOrders,
) -> ApplicationState:
    """What Kafka shows of an application. `tasks` and `clients` in the order of the leader's own hash maps' filling."""
    infos = {task.id: _info(task, racks) for task in tasks}
    states: dict[ProcessId, KafkaStreamsState] = {signed(client.process_id): _state(client) for client in clients}
    # Kafka fills a second map of clients by walking the first one.
    walk = hash_orders.processes(hash_orders.processes(states))
    return ApplicationState(
        configs, {task: infos[task] for task in hash_orders.tasks(infos)}, {one: states[one] for one in walk}
    )


def apply(assignment: TaskAssignment, clients: Mapping[ProcessId, Client], hash_orders: HashOrders) -> None:
    """Give the clients what the assignor wants; of two entries for one client the later counts."""
    for given in assignment.assignment:
        client = clients[given.process_id]
        tasks = list(given.tasks.values())
        client.active, client.standby = (
            hash_orders.tasks(task.id for task in tasks if task.type is role) for role in TaskType
        )
        if given.followup_rebalance_deadline_ms is not None:
            client.followup_deadline_ms = given.followup_rebalance_deadline_ms


def state_of_application(application: StreamsApplication, hash_orders: HashOrders) -> ApplicationState:
    """The state of an application given by tasks, clients and threads. Raises LeaderFailed where Kafka throws."""
    topology = Topology(application.tasks)
    clients = clients_of(application.clients, topology, application.era, hash_orders)
    return application_state_of(application.tasks, clients, application.racks, application.configs, hash_orders)


class _Lags(Mapping[TaskId, int]):
    """A client's lags as a mapping of all stateful tasks."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getitem__(self, task: TaskId) -> int:
        if task not in self._client.ends:
            raise KeyError(task)
        return self._client.lag(task)

    def __iter__(self) -> Iterator[TaskId]:
        return iter(self._client.ends)

    def __len__(self) -> int:
        return len(self._client.ends)


def _state(client: Client) -> KafkaStreamsState:
    return KafkaStreamsState(
        process_id=signed(client.process_id),
        num_processing_threads=client.capacity,
        previous_active_tasks=client.previous_active,
        previous_standby_tasks=client.previous_standby,
        reported=client.reported,
        lags=_Lags(client),
        host_info=client.host_info,
        client_tags=client.tags,
        rack_id=client.rack_id,
    )


def _info(task: StreamsTask, racks: Replicas) -> TaskInfo:
    sources, changelogs = frozenset(task.sources), frozenset(task.changelogs)
    return TaskInfo(
        id=task.id,
        is_stateful=task.stateful if task.has_stores is None else task.has_stores,
        state_store_names=task.state_store_names,
        topic_partitions=tuple(
            TaskTopicPartition(
                topic_partition=partition,
                is_source=partition in sources,
                is_changelog=partition in changelogs,
                racks=_known(racks.get(partition)),
            )
            for partition in dict.fromkeys((*task.sources, *task.changelogs))
        ),
    )


def _known(replicas: tuple[str | None, ...] | None) -> frozenset[str] | None:
    """The racks of the replicas that have one; None for a partition nobody knows."""
    return None if replicas is None else frozenset(rack for rack in replicas if rack is not None)
