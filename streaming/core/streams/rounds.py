"""One run of a Streams leader, made from a record: what it was told, under one hypothesis about what no record holds.

The leader's flow wants topics, changelogs and end offsets. Source topics come from the record; each sub-topology with
state gets one changelog of an invented name, whose end offsets are those of the hypothesis; where racks count, its own
changelogs instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from rebalance_monitor.assignors.streams.application import AssignmentConfigs
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.eras import era_of
from rebalance_monitor.assignors.streams.leader import LeaderAnswer, LeaderRound, MakeAssignor, lead, prepare
from rebalance_monitor.assignors.streams.members import GroupMember, host_info_of
from rebalance_monitor.assignors.streams.other_ends import OtherEnds
from rebalance_monitor.assignors.streams.subtopologies import Subtopology
from rebalance_monitor.assignors.streams.task_assignor import MemberSubscription
from rebalance_monitor.assignors.streams.tasks import ProcessId, Release, TaskId, TopicPartition
from rebalance_monitor.assignors.streams.topics import ClusterView, ReplicaRacks
from rebalance_monitor.schemas.streams_tasks import NEWEST_VERSION
from rebalance_monitor.streaming.core.model.settings import PlugIn
from .members import StreamsThread
from .observed import ObservedRecord
from .plug_ins import PlugInRun
from .replica_racks import RackView
from .topology import Key, key_of

_STORE = "store of {}/{}"
_CHANGELOG = "changelog of {}/{}"
_NOBODY = UUID(int=0)
FIRST_WITH_NEXT = 7
"""The version of assignments that says first when to rebalance again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """What no record holds, assumed: the leader's release, assignor and configuration, which sub-topologies have state,
    and the sum of the end offsets of each such task's changelogs (`ends`). `blind`: the leader could not read end
    offsets. `racks`: what it knew of replicas, None where it does not matter."""

    release: Release
    assignor: BuiltIn | PlugIn = BuiltIn.HIGH_AVAILABILITY
    configs: AssignmentConfigs = field(default_factory=AssignmentConfigs)
    stateful: frozenset[Key] = frozenset()
    ends: Mapping[TaskId, int] = field(default_factory=dict)
    blind: bool = False
    java_version: int = 17
    racks: RackView | None = None

    @property
    def copies_unsure(self) -> bool:
        """Whether nobody can tell who is given copies: the public sticky assignor places them by memory address."""
        return self.assignor is BuiltIn.PUBLIC_STICKY and self.configs.num_standby_replicas > 0 and bool(self.stateful)

    @property
    def exact(self) -> bool:
        """Whether every detail of the answer is known."""
        return era_of(self.release).high_availability and not self.copies_unsure


@dataclass(frozen=True)
class RoundMaker:
    """Rounds of one record; `plugged` runs the plug-in of hypotheses that have one. Raises LeaderFailed where a
    member's endpoint cannot be read."""

    record: ObservedRecord
    at_ms: int
    plugged: PlugInRun | None = None
    _answers: dict[object, list[tuple[Hypothesis, LeaderAnswer]]] = field(default_factory=dict)

    @cached_property
    def members(self) -> tuple[GroupMember, ...]:
        return tuple(_member(thread) for thread in self.record.threads)

    @cached_property
    def pool(self) -> ProcessId:
        """The process of members whose version the leader does not know."""
        leader = next((thread for thread in self.record.threads if thread.id == self.record.leader), None)
        newest = NEWEST_VERSION if leader is None else leader.said.latest_supported
        return next((one.process_id for one in self.record.threads if one.said.version > newest), _NOBODY)

    @cached_property
    def leader(self) -> ProcessId:
        """The leader's process; of a leader that is no member, nobody's."""
        found = (member.process_id for member in self.members if member.id == self.record.leader)
        return next(found, _NOBODY)

    @cached_property
    def subscriptions(self) -> Mapping[str, MemberSubscription]:
        """The members' subscriptions, for a plug-in's callback."""
        return {thread.id: _subscription(thread) for thread in self.record.threads}

    def _stores(self, key: Key, hypothesis: Hypothesis) -> frozenset[str]:
        """What only plug-ins are told: stores without a changelog are known from the topology's text alone."""
        if self.plugged is None:
            return frozenset()
        names = self.plugged.stores.get(key, frozenset())
        return names or (frozenset({_STORE.format(*key)}) if key in hypothesis.stateful else frozenset())

    def _assignor(self, hypothesis: Hypothesis, *, performs: bool) -> BuiltIn | MakeAssignor:
        if isinstance(hypothesis.assignor, BuiltIn):
            return hypothesis.assignor
        assert self.plugged is not None  # only frames of an application with a plug-in name one
        return self.plugged.performance if performs else self.plugged.rehearsal

    def round(self, hypothesis: Hypothesis, *, performs: bool = False) -> LeaderRound:
        """What the leader read, if the hypothesis is true. `performs`: a plug-in's callback is called, too."""
        topics: dict[str, Sequence[ReplicaRacks | None]] = {}
        # Kafka's own assignors take a replica without a rack for one whose rack is not known; a plug-in need not.
        unknown: ReplicaRacks | None = (None,) if self.plugged is None else None
        subtopologies = []
        # A task's end offsets are known as one sum, which stands at the first of its changelogs.
        summed: dict[Key, str] = {}
        for part in self.record.seen:
            topics.update({topic: [unknown] * count for topic, count in part.topics.items()})
            changelogs: tuple[str, ...] = ()
            if part.key in hypothesis.stateful:
                sampled = hypothesis.racks.changelogs.get(part.key, {}) if hypothesis.racks is not None else {}
                invented = {_CHANGELOG.format(*part.key): [unknown] * max(part.topics.values(), default=0)}
                topics.update(sampled or invented)
                changelogs = tuple(sampled or invented)
                summed[part.key] = changelogs[0]
            subtopologies.append(
                Subtopology(
                    number=part.number,
                    topology=part.name,
                    sources=tuple(sorted(part.topics)),
                    changelogs=changelogs,
                    stores=self._stores(part.key, hypothesis),
                )
            )
        if hypothesis.racks is not None:
            topics.update(hypothesis.racks.sources)
        ends: dict[TopicPartition, int] = {
            (summed[key_of(task)], task.partition): end
            for task, end in hypothesis.ends.items()
            if key_of(task) in summed
        }
        return LeaderRound(
            release=hypothesis.release,
            now_ms=self.at_ms,
            leader_process_id=self.leader,
            future_process_id=self.pool,
            members=self.members,
            subtopologies=tuple(subtopologies),
            cluster=ClusterView(topics=topics, end_offsets=ends, offsets_fail=hypothesis.blind),
            configs=hypothesis.configs,
            assignor=self._assignor(hypothesis, performs=performs),
            subscriptions=self.subscriptions if performs else {},
            java_version=hypothesis.java_version,
        )

    def answer(self, hypothesis: Hypothesis) -> LeaderAnswer:
        """What the leader answers, if the hypothesis is true. A search asks for a fifth of its answers again; a plug-in
        is run again. Raises LeaderFailed where the leader's thread ends."""
        if self.plugged is not None:
            return lead(self.round(hypothesis))
        alike = self._answers.setdefault((hypothesis.release, frozenset(hypothesis.ends.items())), [])
        found = next((answer for tried, answer in alike if tried == hypothesis), None)
        if found is None:
            found = lead(self.round(hypothesis))
            alike.append((hypothesis, found))
        return found

    def other_ends(self, hypothesis: Hypothesis) -> OtherEnds | None:
        """The round, whatever its end offsets; None where the answer is an error. Raises LeaderFailed where the
        leader fails."""
        round_ = self.round(hypothesis)
        ready = prepare(round_)
        return None if ready is None else OtherEnds(round_, ready)


def _subscription(thread: StreamsThread) -> MemberSubscription:
    wanted = thread.wanted
    return MemberSubscription(
        topics=tuple(wanted.topics),
        owned=tuple(wanted.owned),
        generation=wanted.generation,
        rack=wanted.rack,
        user_data=wanted.user_data or b"",
    )


def _member(thread: StreamsThread) -> GroupMember:
    said = thread.said
    return GroupMember(
        id=thread.id,
        version=said.version,
        latest_supported=said.latest_supported,
        process_id=thread.process_id,
        owned=thread.wanted.owned,
        offset_sums=thread.offset_sums,
        host_info=host_info_of(said.end_point),
        tags=dict(said.client_tags),
        rack=thread.wanted.rack,
        error=said.error,
    )
