"""The whole work of a Streams group's leader: from the members' subscriptions to the assignment of each.

Members become clients (`members`), topics become tasks (`topics`), an assignor gives tasks to clients, clients spread
them over threads (`threads`), and what somebody else still owns is withheld (`handover`). Errors become error codes in
everybody's assignment, or end the leader's thread (`LeaderFailed`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from . import built_in
from .application import AssignmentConfigs, ClientShare, StreamsApplication
from .assignment import AssignmentError
from .built_in import BuiltIn
from .clients import Client, Topology, clients_of
from .failures import LeaderFailed, illegal_state
from .handover import Handover, Versions
from .members import SHUTDOWN_REQUESTED, GroupMember, group_of, newest_version
from .plug_in import application_state_of, apply
from .subtopologies import Subtopology
from .task_assignment_utils import validate_task_assignment
from .task_assignor import (
    GroupAssignment,
    GroupSubscription,
    MemberAssignment,
    MemberSubscription,
    TaskAssignmentException,
    TaskAssignor,
)
from .tasks import HashOrders, ProcessId, Release, TaskId, TopicPartition
from .topics import ClusterView, MissingSourceTopics, NoAssignment, TopicPlan, TopicPlanner

MakeAssignor: TypeAlias = Callable[[], TaskAssignor]
Hosts: TypeAlias = Mapping[tuple[str, int], tuple[TopicPartition, ...]]

INCOMPLETE_SOURCE_TOPICS = 1
ASSIGNMENT_ERROR = 3
_FIRST_WITH_HOSTS = 2
_FIRST_WITH_STANDBY_HOSTS = 6
_FIRST_PROBEABLE = 3
_VERSIONS_CHECKED_LATE_SINCE: Release = (3, 8)
_TOPIC_ERRORS_APART_SINCE: Release = (2, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderRound:
    """Everything one execution of the leader reads. `members` in JoinGroup order; `assignor` is one of Kafka's, or
    makes one of KIP-924. `subscriptions` are handed to the latter's callback."""

    release: Release
    now_ms: int
    leader_process_id: ProcessId
    future_process_id: ProcessId
    members: tuple[GroupMember, ...]
    subtopologies: tuple[Subtopology, ...]
    cluster: ClusterView
    configs: AssignmentConfigs = field(default_factory=AssignmentConfigs)
    assignor: BuiltIn | MakeAssignor = BuiltIn.HIGH_AVAILABILITY
    plug_in_configs: Mapping[str, object] = field(default_factory=dict)
    subscriptions: Mapping[str, MemberSubscription] = field(default_factory=dict)
    copartitions: tuple[frozenset[str], ...] = ()
    java_version: int = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAnswer:
    """What the leader tells every member, and what it found on the way.

    `shares` is the target: it contains tasks that are withheld now, and no transient standbys. Hosts and their
    partitions stand in the order in which the leader's maps were filled; they are empty where the version of the group
    does not carry them. `stable`: no further rebalance is due. Up to 2.5 nobody has described how threads share the
    tasks of their client: there are `shares` and no `assignments`, unless the answer is an error.
    """

    assignments: Mapping[str, MemberAssignment]
    partitions_by_host: Hosts = field(default_factory=dict)
    standby_partitions_by_host: Hosts = field(default_factory=dict)
    shares: Mapping[ProcessId, ClientShare] = field(default_factory=dict)
    created_topics: Mapping[str, int] = field(default_factory=dict)
    stable: bool = False
    order_unsure: bool = False


def lead(round_: LeaderRound) -> LeaderAnswer:
    """Run one round. Raises LeaderFailed where the leader's thread would end."""
    return _Leader(round_).answer()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A round up to the point where an assignor runs. `met`: the clients in the order in which the leader met them,
    `clients`: in that of its map."""

    application: StreamsApplication
    topology: Topology
    plan: TopicPlan
    met: list[Client]
    clients: list[Client]
    handover: Handover
    orders: HashOrders


def prepare(round_: LeaderRound) -> Prepared | None:
    """The round before its assignor runs; None where the answer is an error. Raises LeaderFailed like `lead`."""
    return _Leader(round_).prepared()


class _Leader:
    """One round at work."""

    def __init__(self, round_: LeaderRound) -> None:
        self._round = round_
        self._orders = HashOrders(round_.release, round_.java_version)
        self._group = group_of(round_.members, round_.release, round_.future_process_id)
        self._topics = TopicPlanner(
            round_.subtopologies, round_.copartitions, round_.cluster, round_.release, round_.java_version
        )

    def answer(self) -> LeaderAnswer:
        """The assignments, or an error code for everybody."""
        try:
            ready = self._ready()
            if ready is None:
                return self._error(SHUTDOWN_REQUESTED)
            assignor = self._round.assignor
            if isinstance(assignor, BuiltIn):
                self._run_built_in(ready, _without_lags(assignor, ready.plan))
                return self._answer_of(ready)
            return self._run_plug_in(assignor(), ready)
        except MissingSourceTopics:
            return self._error(INCOMPLETE_SOURCE_TOPICS)
        except (NoAssignment, TaskAssignmentException):
            return self._error(ASSIGNMENT_ERROR)

    def prepared(self) -> Prepared | None:
        """What an assignor is given; None where none runs."""
        try:
            return self._ready()
        except (MissingSourceTopics, NoAssignment):
            return None

    def _ready(self) -> Prepared | None:
        """What an assignor is given; None where the application is to be shut down."""
        checked_late = self._round.release >= _VERSIONS_CHECKED_LATE_SINCE
        if not checked_late:
            self._check_versions()
        if self._group.shutdown_requested:
            return None
        self._prepare_topics()
        if checked_late:
            self._check_versions()
        plan = self._topics.plan(self._orders)
        topology = Topology(plan.tasks, plan.stateful)
        application = StreamsApplication(
            release=self._round.release,
            tasks=plan.tasks,
            clients=self._group.clients,
            configs=self._round.configs,
            racks=plan.racks,
            java_version=self._round.java_version,
        )
        met = clients_of(self._group.clients, topology, application.era, self._orders)
        by_id = {client.process_id: client for client in met}
        # The leader walks its map of clients, which it filled in the order in which it met them.
        clients = [by_id[one] for one in self._orders.processes(by_id)]
        handover = Handover(
            partitions={task.id: task.sources for task in topology.tasks.values()},
            stateful=frozenset(topology.stateful),
            owned=self._group.owned,
            versions=Versions(self._group.least_version, self._group.least_supported),
            era=application.era,
        )
        return Prepared(application, topology, plan, met, clients, handover, self._orders)

    def _check_versions(self) -> None:
        group = self._group
        if not group.has_future_member or group.least_version >= _FIRST_PROBEABLE:
            return
        reason = f"a member of a future version and one of version {group.least_version} are in one group"
        if self._round.release < _TOPIC_ERRORS_APART_SINCE:
            raise illegal_state(reason)
        raise NoAssignment(reason)

    def _prepare_topics(self) -> None:
        try:
            self._topics.prepare_repartition_topics()
        except NoAssignment as why:
            if self._round.release < _TOPIC_ERRORS_APART_SINCE:
                raise MissingSourceTopics(str(why)) from why
            raise

    def _run_built_in(self, ready: Prepared, assignor: BuiltIn) -> None:
        followup = built_in.run(ready.application, assignor, ready.clients, ready.topology, self._orders)
        for client in ready.clients:
            if followup and client.process_id == self._round.leader_process_id:
                interval_ms = self._round.configs.probing_rebalance_interval_ms
                client.followup_deadline_ms = self._round.now_ms + interval_ms

    def _run_plug_in(self, assignor: TaskAssignor, ready: Prepared) -> LeaderAnswer:
        """Let the plug-in assign, tell it what became of it, and end like Kafka if its answer is wrong."""
        application, topology, clients = ready.application, ready.topology, ready.clients
        assignor.configure(self._round.plug_in_configs)
        tasks = [topology.tasks[task] for task in self._orders.tasks(topology.ids)]
        state = application_state_of(tasks, ready.met, application.racks, application.configs, self._orders)
        assignment = assignor.assign(state)
        error = validate_task_assignment(state, assignment)
        subscription = GroupSubscription(self._round.subscriptions)
        if error in (AssignmentError.UNKNOWN_PROCESS_ID, AssignmentError.UNKNOWN_TASK_ID):
            assignor.on_assignment_computed(GroupAssignment({}), subscription, error)
            raise LeaderFailed("StreamsException", f"the task assignor's answer is wrong: {error.value}")
        by_id = {client.process_id: client for client in clients}
        if any(
            one.process_id not in by_id or not one.tasks.keys() <= topology.tasks.keys()
            for one in assignment.assignment
        ):
            # Something else was found first, and Kafka goes on until it stumbles over what it does not know.
            reason = f"{error.value}, and an unknown process or task stands there, too"
            raise LeaderFailed("NullPointerException", reason)
        apply(assignment, by_id, self._orders)
        answer = self._answer_of(ready)
        assignor.on_assignment_computed(GroupAssignment(answer.assignments), subscription, error)
        if error is not AssignmentError.NONE:
            raise LeaderFailed("StreamsException", f"the task assignor's answer is wrong: {error.value}")
        return answer

    def _answer_of(self, ready: Prepared) -> LeaderAnswer:
        group, era, clients = self._group, ready.application.era, ready.clients
        handover = ready.handover
        assignments: dict[str, MemberAssignment] = {}
        shares: dict[ProcessId, ClientShare] = {}
        stable = not group.has_future_member
        for client in clients:
            share = built_in.share_of(client, era, self._orders)
            shares[client.process_id] = share
            if not era.high_availability:
                continue
            told, withheld = handover.assignments(client, share.threads)
            assignments.update(told)
            stable &= not withheld and client.followup_deadline_ms is None
        partitions_by_host, standby_partitions_by_host = hosts_of(ready)
        return LeaderAnswer(
            assignments=assignments,
            partitions_by_host=partitions_by_host,
            standby_partitions_by_host=standby_partitions_by_host,
            shares=shares,
            created_topics=self._topics.created,
            stable=stable and era.high_availability,
            order_unsure=self._orders.unsure,
        )

    def _error(self, code: int) -> LeaderAnswer:
        """Nothing but the code for everybody, in the leader's own newest version."""
        newest = newest_version(self._round.release)
        told = MemberAssignment(version=newest, commonly_supported=newest, error=code)
        return LeaderAnswer(
            assignments={member.id: told for member in self._round.members}, created_topics=self._topics.created
        )


def _without_lags(assignor: BuiltIn, plan: TopicPlan) -> BuiltIn:
    """The assignor that runs: one that needs lags is replaced if there are none."""
    needs_none = assignor in (BuiltIn.LEGACY_STICKY, BuiltIn.PUBLIC_STICKY)
    return assignor if plan.lags_known or needs_none else BuiltIn.FALLBACK_PRIOR


def hosts_of(ready: Prepared) -> tuple[Hosts, Hosts]:
    """The target's source partitions by endpoint, and those of its copies, as far as the group's version has them."""
    version, partitions = ready.handover.versions.used, ready.handover.partitions
    return (
        _by_host(ready.clients, partitions, standby=False) if version >= _FIRST_WITH_HOSTS else {},
        _by_host(ready.clients, partitions, standby=True) if version >= _FIRST_WITH_STANDBY_HOSTS else {},
    )


def _by_host(
    clients: Sequence[Client], partitions: Mapping[TaskId, Sequence[TopicPartition]], *, standby: bool
) -> Hosts:
    """Partitions by endpoint; of two clients with one endpoint the later counts."""
    return {
        client.host_info: tuple(
            dict.fromkeys(part for task in (client.standby if standby else client.active) for part in partitions[task])
        )
        for client in clients
        if client.host_info is not None
    }
