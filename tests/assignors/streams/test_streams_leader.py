"""The leader's flow where no golden case goes: plug-ins and their callbacks, errors, versions, topics, transients."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import pytest

from rebalance_monitor.assignors.streams.application import RUNNING, AssignmentConfigs
from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    AssignmentError,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.handover import NEVER_MS
from rebalance_monitor.assignors.streams.leader import LeaderRound, lead
from rebalance_monitor.assignors.streams.members import GroupMember, host_info_of
from rebalance_monitor.assignors.streams.subtopologies import Subtopology
from rebalance_monitor.assignors.streams.task_assignment_utils import identity_assignment
from rebalance_monitor.assignors.streams.task_assignor import (
    GroupAssignment,
    GroupSubscription,
    MemberSubscription,
    TaskAssignmentException,
    TaskAssignor,
)
from rebalance_monitor.assignors.streams.tasks import TaskId, TopicPartition
from rebalance_monitor.assignors.streams.topics import ClusterView

A, B, FUTURE = (UUID(int=number) for number in (1, 2, 99))
T0, T1 = TaskId(0, 0), TaskId(0, 1)
COUNT = Subtopology(number=0, sources=("in",), changelogs=("log",), stores=frozenset({"store"}))


def member(
    name: str,
    process_id: UUID,
    *,
    owned: tuple[TopicPartition, ...] = (),
    sums: Mapping[TaskId, int] | None = None,
    version: int = 11,
    error: int = 0,
) -> GroupMember:
    return GroupMember(
        id=name,
        version=version,
        latest_supported=version,
        process_id=process_id,
        owned=owned,
        offset_sums=sums or {},
        error=error,
        host_info=(name, 1),
    )


def round_of(*members: GroupMember, **changes: object) -> LeaderRound:
    made = LeaderRound(
        release=(4, 3, 1),
        now_ms=1000,
        leader_process_id=A,
        future_process_id=FUTURE,
        members=members,
        subtopologies=(COUNT,),
        cluster=ClusterView(
            topics={"in": [(None,), (None,)], "log": [(None,), (None,)]}, end_offsets={("log", 0): 50, ("log", 1): 50}
        ),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def codes(round_: LeaderRound) -> set[int]:
    return {told.error for told in lead(round_).assignments.values()}


# A runs both tasks, B has a copy of the second and joins in.
A_RUNS = member("a", A, owned=(("in", 0), ("in", 1)), sums={T0: RUNNING, T1: RUNNING})
B_COPIES = member("b", B, sums={T1: 50})


def test_a_task_is_withheld_until_its_owner_gives_it_up() -> None:
    first = lead(round_of(A_RUNS, B_COPIES))
    assert first.shares[B].active == (T1,)
    assert first.assignments["a"].active == (T0,)
    assert first.assignments["b"].partitions == ()
    assert first.assignments["b"].standby == {T1: (("in", 1),)}
    assert first.assignments["b"].next_rebalance_ms == 0
    assert not first.stable
    assert first.partitions_by_host == {("a", 1): (("in", 0),), ("b", 1): (("in", 1),)}
    second = lead(round_of(replace(A_RUNS, owned=(("in", 0),), offset_sums={T0: RUNNING}), B_COPIES))
    assert second.assignments["b"].active == (T1,)
    assert second.stable


@pytest.mark.parametrize(("release", "open_"), [((3, 5, 1), {T1: (("in", 1),)}), ((3, 5, 2), {})])
def test_a_transient_standby_needs_history_since_3_5_2(
    release: tuple[int, ...], open_: dict[TaskId, tuple[TopicPartition, ...]]
) -> None:
    new = member("b", B)
    configs = AssignmentConfigs(acceptable_recovery_lag=50)
    assert lead(round_of(A_RUNS, new, release=release, configs=configs)).assignments["b"].standby == open_


def test_a_probing_rebalance_is_told_to_the_leaders_first_thread() -> None:
    configs = AssignmentConfigs(acceptable_recovery_lag=0, probing_rebalance_interval_ms=60_000)
    first = member("a", A, owned=(("in", 0),), sums={T0: RUNNING})
    second = member("a2", A, owned=(("in", 1),), sums={T1: RUNNING})
    answer = lead(round_of(first, second, member("b", B), configs=configs))
    assert answer.assignments["a"].next_rebalance_ms == 61_000
    assert answer.assignments["a2"].next_rebalance_ms == NEVER_MS
    assert answer.shares[B].warm_ups == (T1,)


def test_without_end_offsets_everybody_keeps_what_it_had() -> None:
    blind = replace(round_of(A_RUNS, B_COPIES).cluster, offsets_fail=True)
    answer = lead(round_of(A_RUNS, B_COPIES, cluster=blind))
    assert answer.shares[A].active == (T0, T1)
    assert answer.assignments["a"].next_rebalance_ms == 601_000


def test_error_codes() -> None:
    assert codes(round_of(A_RUNS, replace(B_COPIES, error=4))) == {4}
    assert codes(round_of(A_RUNS, cluster=ClusterView(topics={}))) == {1}
    old, future = member("a", A, version=2), member("b", B, version=12)
    assert codes(round_of(old, future)) == {3}
    answer = lead(round_of(replace(A_RUNS, error=4)))
    assert (answer.assignments["a"].version, answer.stable, answer.partitions_by_host) == (11, False, {})


@pytest.mark.parametrize(("release", "code"), [((3, 7, 2), 3), ((3, 8), 4)])
def test_versions_were_checked_before_the_wish_to_shut_down(release: tuple[int, ...], code: int) -> None:
    old, future = member("a", A, version=2, error=4), member("b", B, version=12)
    assert codes(round_of(old, future, release=release)) == {code}


def test_future_members_share_a_client() -> None:
    members = (A_RUNS, member("f1", UUID(int=0), version=12), member("f2", UUID(int=0), version=99))
    answer = lead(round_of(*members))
    assert set(answer.shares[FUTURE].threads) == {"f1", "f2"}
    assert {told.version for told in answer.assignments.values()} == {11}
    assert not answer.stable


def test_repartition_topics_are_as_wide_as_what_writes_to_them() -> None:
    parts = (
        Subtopology(number=0, sources=("in", "narrow"), sinks=frozenset({"app-r-repartition"})),
        Subtopology(
            number=1,
            sources=("app-r-repartition",),
            repartition_sources={"app-r-repartition": None},
            changelogs=("app-s-changelog",),
        ),
    )
    cluster = ClusterView(topics={"in": [(None,)] * 3, "narrow": [(None,)]})
    answer = lead(round_of(member("a", A), subtopologies=parts, cluster=cluster))
    assert answer.created_topics == {"app-r-repartition": 3, "app-s-changelog": 3}
    assert len(answer.shares[A].active) == 6


def test_joined_topics_must_agree() -> None:
    part = Subtopology(number=0, sources=("in", "r"), repartition_sources={"r": 5})
    with pytest.raises(LeaderFailed, match="not co-partitioned: in, r"):
        lead(round_of(A_RUNS, subtopologies=(part,), copartitions=(frozenset({"in", "r"}),)))


def test_an_existing_internal_topic_of_another_width_ends_the_leader() -> None:
    cluster = ClusterView(topics={"in": [(None,), (None,)], "log": [(None,)]})
    with pytest.raises(LeaderFailed, match="log has 1 partitions, 2 are needed"):
        lead(round_of(A_RUNS, cluster=cluster))


def test_reports_of_tasks_that_are_gone_fail_old_leaders() -> None:
    runs = replace(A_RUNS, version=10)
    stale = replace(B_COPIES, version=10, offset_sums={T1: 50, TaskId(8, 8): 1})
    assert lead(round_of(runs, stale, release=(3, 1, 2))).shares[B].active == (T1,)
    with pytest.raises(LeaderFailed, match="IllegalStateException: b reports a task that has no lag"):
        lead(round_of(runs, stale, release=(3, 0, 2)))


def test_partitions_of_unknown_topics_end_the_leader() -> None:
    with pytest.raises(LeaderFailed, match="no task is known for the owned partitions"):
        lead(round_of(member("a", A, owned=(("gone", 0),))))


@pytest.mark.parametrize(
    ("text", "host"),
    [("", None), (" ", None), ("h:9", ("h", 9)), ("http://h.x:80", ("h.x", 80)), ("[::1]:7", ("::1", 7))],
)
def test_end_points(text: str, host: tuple[str, int] | None) -> None:
    assert host_info_of(text) == host


def test_an_end_point_without_port_is_refused() -> None:
    with pytest.raises(LeaderFailed, match="no host and port: h"):
        host_info_of("h")


class Recording(TaskAssignor):
    """Gives all to the first client; remembers its calls."""

    def __init__(self, *roles: TaskType) -> None:
        self.roles = roles
        self.calls: list[tuple[str, object, object]] = []

    def configure(self, configs: Mapping[str, object]) -> None:
        self.calls.append(("configure", dict(configs), None))

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        if not self.roles:
            raise TaskAssignmentException("no idea")
        made = [KafkaStreamsAssignment(one) for one in application_state.kafka_streams_states(False)]
        for assignment, role in zip(made, self.roles, strict=False):
            for task in application_state.all_tasks:
                assignment.assign_task(AssignedTask(task, role))
        return TaskAssignment(tuple(made))

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        self.calls.append((error.value, set(assignment.group_assignment), subscription))


def test_a_plug_in_is_configured_asked_and_told() -> None:
    assignor = Recording(TaskType.ACTIVE)
    subscriptions = {"a": MemberSubscription(topics=("in",))}
    round_ = round_of(A_RUNS, assignor=lambda: assignor, plug_in_configs={"k": 1}, subscriptions=subscriptions)
    assert lead(round_).shares[A].active == (T0, T1)
    assert assignor.calls == [("configure", {"k": 1}, None), ("NONE", {"a"}, GroupSubscription(subscriptions))]


def test_a_plug_in_that_finds_nothing_gives_everybody_an_error() -> None:
    assert codes(round_of(A_RUNS, assignor=Recording)) == {3}


def test_a_wrong_answer_is_told_and_ends_the_leader() -> None:
    assignor = Recording(TaskType.ACTIVE, TaskType.ACTIVE)
    with pytest.raises(LeaderFailed, match="ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES"):
        lead(round_of(A_RUNS, B_COPIES, assignor=lambda: assignor))
    assert assignor.calls[-1][:2] == ("ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES", {"a", "b"})


@pytest.mark.parametrize("unknown", ["process", "task"])
def test_what_is_unknown_behind_another_error_ends_the_leader_untold(unknown: str) -> None:
    """Kafka looks at it while it builds the assignment, before the callback."""

    class Twice(Recording):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            first, second = super().assign(application_state).assignment
            if unknown == "process":
                return TaskAssignment((first, second, KafkaStreamsAssignment(UUID(int=77))))
            second.assign_task(AssignedTask(TaskId(8, 8), TaskType.ACTIVE))
            return TaskAssignment((first, second))

    assignor = Twice(TaskType.ACTIVE, TaskType.ACTIVE)
    with pytest.raises(LeaderFailed, match="NullPointerException: ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES"):
        lead(round_of(A_RUNS, B_COPIES, assignor=lambda: assignor))
    assert [call[0] for call in assignor.calls] == ["configure"]


def test_unknown_tasks_leave_the_callback_an_empty_assignment() -> None:
    class Stale(Recording):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            return TaskAssignment(tuple(identity_assignment(application_state).values()))

    assignor = Stale()
    stale = replace(B_COPIES, offset_sums={TaskId(8, 8): 1})
    with pytest.raises(LeaderFailed, match="UNKNOWN_TASK_ID"):
        lead(round_of(A_RUNS, stale, assignor=lambda: assignor))
    assert assignor.calls[-1][:2] == ("UNKNOWN_TASK_ID", set())


def test_a_plug_ins_deadline_is_told_to_its_client() -> None:
    class Soon(Recording):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            made = super().assign(application_state).assignment
            return TaskAssignment(tuple(one.with_followup_rebalance(77) for one in made))

    answer = lead(round_of(A_RUNS, assignor=lambda: Soon(TaskType.ACTIVE)))
    assert answer.assignments["a"].next_rebalance_ms == 77
    assert not answer.stable


def test_a_member_of_a_future_version_is_not_understood() -> None:
    """2.6.0 alone knows no version 8: it sees neither what such a member holds nor where it serves."""
    holds = replace(B_COPIES, version=8, offset_sums={T0: 50, T1: 50})
    answer = lead(round_of(replace(A_RUNS, version=7), holds, release=(2, 6, 0)))
    assert set(answer.shares) == {A, FUTURE}
    assert set(answer.partitions_by_host) == {("a", 1)}
    assert lead(round_of(replace(A_RUNS, version=7), holds, release=(2, 6, 1))).shares[B].active


def test_a_group_without_members_has_no_assignment() -> None:
    with pytest.raises(LeaderFailed, match="no client to assign tasks to"):
        lead(round_of())
