"""KIP-924 in Python: what a plug-in is shown, what it may do, and what is wrong with its answer."""

from uuid import UUID

import pytest

from rebalance_monitor.assignors.streams.application import (
    RUNNING,
    AssignmentConfigs,
    StreamsApplication,
    StreamsClient,
    StreamsConsumer,
    StreamsTask,
)
from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    AssignmentError,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.plug_in import state_of_application
from rebalance_monitor.assignors.streams.task_assignment_utils import (
    default_standby_task_assignment,
    identity_assignment,
    validate_task_assignment,
)
from rebalance_monitor.assignors.streams.task_assignor import TaskAssignor
from rebalance_monitor.assignors.streams.tasks import HashOrders, TaskId

A, B, STRANGER = (UUID(int=number) for number in (1, 2, 3))
STATEFUL, STATELESS = [TaskId(0, 0), TaskId(0, 1)], TaskId(1, 0)
ACTIVE, STANDBY = TaskType.ACTIVE, TaskType.STANDBY


@pytest.fixture
def state() -> ApplicationState:
    """A runs both stateful tasks with one thread, B two threads of which one has a copy of the first."""
    application = StreamsApplication(
        release=(4, 3, 1),
        tasks=(
            *(
                StreamsTask(
                    id=task,
                    sources=(("in", task.partition),),
                    changelogs=(("log", task.partition),),
                    stateful=True,
                    end_offset_sum=100,
                )
                for task in STATEFUL
            ),
            StreamsTask(id=STATELESS, sources=(("other", 0),)),
        ),
        clients=(
            StreamsClient(
                process_id=A,
                consumers=(StreamsConsumer(id="a-1", rack="r", offset_sums=dict.fromkeys(STATEFUL, RUNNING)),),
                tags={"zone": "x"},
                host_info=("a", 1),
            ),
            StreamsClient(
                process_id=B,
                consumers=(
                    StreamsConsumer(id="b-2", offset_sums={STATEFUL[0]: 40, TaskId(7, 7): 1}),
                    StreamsConsumer(id="b-1"),
                ),
            ),
        ),
        configs=AssignmentConfigs(num_standby_replicas=1),
    )
    return state_of_application(application, HashOrders((4, 3, 1)))


def given(*of_clients: tuple[UUID, list[tuple[TaskId, TaskType]]]) -> TaskAssignment:
    return TaskAssignment(
        tuple(
            KafkaStreamsAssignment.of(process_id, [AssignedTask(task, role) for task, role in tasks])
            for process_id, tasks in of_clients
        )
    )


def test_a_plug_in_sees_clients_and_tasks(state: ApplicationState) -> None:
    clients = state.kafka_streams_states(True)
    a, b = clients[A], clients[B]
    assert a.previous_active_tasks == STATEFUL
    assert (a.num_processing_threads, b.num_processing_threads) == (1, 2)
    assert b.previous_standby_tasks == [STATEFUL[0], TaskId(7, 7)]
    assert b.consumer_client_ids == ["b-1", "b-2"]
    assert (a.rack_id, b.rack_id, a.host_info, b.host_info) == ("r", None, ("a", 1), None)
    assert a.client_tags == {"zone": "x"}
    assert [a.lag_for(task) for task in STATEFUL] == [RUNNING, RUNNING]
    assert b.stateful_tasks_to_lag_sums() == {STATEFUL[0]: 60, STATEFUL[1]: 100}
    assert b.prev_tasks_by_lag("b-2") == [STATEFUL[0]]
    assert b.prev_tasks_by_lag("nobody") == []
    assert state.all_tasks[STATEFUL[0]].is_stateful
    assert not state.all_tasks[STATELESS].is_stateful
    parts = state.all_tasks[STATEFUL[1]].topic_partitions
    assert [(one.topic_partition, one.is_source, one.is_changelog) for one in parts] == [
        (("in", 1), True, False),
        (("log", 1), False, True),
    ]


def test_lags_must_be_asked_for(state: ApplicationState) -> None:
    without = state.kafka_streams_states(False)[A]
    for ask in (lambda: without.lag_for(STATEFUL[0]), without.stateful_tasks_to_lag_sums):
        with pytest.raises(LeaderFailed, match="were not asked for"):
            ask()
    with pytest.raises(LeaderFailed, match="no lag is known of task 1_0"):
        state.kafka_streams_states(True)[A].lag_for(STATELESS)


GOOD = (
    (A, [(STATEFUL[0], ACTIVE), (STATELESS, ACTIVE)]),
    (B, [(STATEFUL[1], ACTIVE), (STATEFUL[0], STANDBY)]),
)


def test_a_good_assignment(state: ApplicationState) -> None:
    assert validate_task_assignment(state, given(*GOOD)) is AssignmentError.NONE


def test_nobody_minds_a_task_without_host(state: ApplicationState) -> None:
    assert validate_task_assignment(state, given((A, []), (B, []))) is AssignmentError.NONE


UNKNOWN_TASK = (A, [(TaskId(9, 9), ACTIVE)])
TWICE = (B, [(STATEFUL[0], ACTIVE)])
STATELESS_COPY = (B, [(STATELESS, STANDBY)])


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([UNKNOWN_TASK, STATELESS_COPY, (STRANGER, [])], AssignmentError.UNKNOWN_TASK_ID),
        ([GOOD[0], TWICE, UNKNOWN_TASK], AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES),
        ([GOOD[0], TWICE, STATELESS_COPY], AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES),
        ([STATELESS_COPY, (STRANGER, [])], AssignmentError.INVALID_STANDBY_TASK),
        ([GOOD[0], (STRANGER, [])], AssignmentError.MISSING_PROCESS_ID),
        ([*GOOD, (STRANGER, [])], AssignmentError.UNKNOWN_PROCESS_ID),
    ],
)
def test_the_first_error_counts(
    state: ApplicationState, parts: list[tuple[UUID, list[tuple[TaskId, TaskType]]]], verdict: AssignmentError
) -> None:
    assert validate_task_assignment(state, given(*parts)) is verdict


def test_the_identity_may_be_invalid(state: ApplicationState) -> None:
    kept = identity_assignment(state)
    assert kept[B].of_type(STANDBY) == [STATEFUL[0], TaskId(7, 7)]
    assert validate_task_assignment(state, TaskAssignment(tuple(kept.values()))) is AssignmentError.UNKNOWN_TASK_ID


def test_default_standbys_fill_missing_clients(state: ApplicationState) -> None:
    made = {A: KafkaStreamsAssignment.of(A, [AssignedTask(task, ACTIVE) for task in STATEFUL])}
    default_standby_task_assignment(state, made)
    assert sorted(made[B].of_type(STANDBY)) == STATEFUL


def test_an_assignment_is_changed_in_place_until_it_has_a_deadline() -> None:
    first = KafkaStreamsAssignment.of(A, [AssignedTask(STATEFUL[0], ACTIVE)])
    first.assign_task(AssignedTask(STATEFUL[0], STANDBY))
    assert first.tasks == {STATEFUL[0]: AssignedTask(STATEFUL[0], STANDBY)}
    later = first.with_followup_rebalance(5)
    first.assign_task(AssignedTask(STATEFUL[1], ACTIVE))
    assert later.tasks == first.tasks
    assert (first.followup_rebalance_deadline_ms, later.followup_rebalance_deadline_ms) == (None, 5)
    with pytest.raises(LeaderFailed, match="cannot be changed"):
        later.remove_task(AssignedTask(STATEFUL[0], STANDBY))


def test_a_task_in_two_roles_is_refused() -> None:
    with pytest.raises(LeaderFailed, match="as active and as standby"):
        KafkaStreamsAssignment.of(A, [AssignedTask(STATEFUL[0], ACTIVE), AssignedTask(STATEFUL[0], STANDBY)])


def test_a_plug_in_needs_only_assign(state: ApplicationState) -> None:
    class Identity(TaskAssignor):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            return TaskAssignment(tuple(identity_assignment(application_state).values()))

    assert {one.process_id for one in Identity().assign(state).assignment} == {A, B}


def test_process_ids_compare_as_java_compares_them() -> None:
    """Both halves are signed numbers; an assignor that breaks ties by `min` or `sorted` decides as in Java."""
    texts = (
        "80000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-0000-000000000000",
        "00000000-0000-0000-8000-000000000000",
        "00000000-0000-0000-0000-000000000001",
        "7fffffff-ffff-ffff-ffff-ffffffffffff",
        "7fffffff-ffff-ffff-7fff-ffffffffffff",
    )
    clients = tuple(StreamsClient(process_id=UUID(text), consumers=(StreamsConsumer(id=text),)) for text in texts)
    application = StreamsApplication(release=(4, 3, 1), tasks=(StreamsTask(id=STATELESS),), clients=clients)
    states = state_of_application(application, HashOrders((4, 3, 1))).kafka_streams_states(False)
    assert [str(one) for one in sorted(states)] == list(texts)
    assert str(min((0, one.process_id) for one in states.values())[1]) == texts[0]
    first, last = min(states), max(states)
    assert first < UUID(texts[-1]) <= last
    assert last > UUID(texts[0]) >= first
    assert set(states) == set(map(UUID, texts))


def test_tasks_and_clients_come_in_the_order_of_javas_maps() -> None:
    tasks = tuple(StreamsTask(id=TaskId(s, p)) for s in range(2) for p in range(7))
    application = StreamsApplication(release=(4, 0), tasks=tasks, clients=())
    walked = "1_0 0_6 0_5 1_6 0_4 1_5 0_3 1_4 0_2 1_3 0_1 1_2 0_0 1_1"
    made = state_of_application(application, HashOrders((4, 0)))
    assert " ".join(map(str, made.all_tasks)) == walked
