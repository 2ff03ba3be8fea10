"""A Streams application whose leader is Kafka's flow over a hidden truth: end offsets, settings, who has which state.

    truth = Truth(parts=(Part(0, "in", 4), Part(1, "re", 4, stateful=True)), standbys=1)
    life = Life(random.Random(1), truth, "g", log)
    life.join("a", threads=2)
    life.round()            # a record of the group, as the coordinator writes it
    life.advance()          # changelogs grow, copies catch up
    life.leave("a"); ...

Threads behave as Kafka's do: they own what they were given, report -2 for a task that they run and an offset sum for a
copy or a directory on disk, adapt their version when the leader tells them to, and come back with what is on disk.
"""

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import UUID

from lab.streams.truth import Replicas, Truth
from rebalance_monitor.assignors.streams.application import AssignmentConfigs
from rebalance_monitor.assignors.streams.eras import release_of
from rebalance_monitor.assignors.streams.leader import LeaderAnswer, LeaderRound, lead
from rebalance_monitor.assignors.streams.members import GroupMember, host_info_of, newest_version
from rebalance_monitor.assignors.streams.subtopologies import Subtopology
from rebalance_monitor.assignors.streams.task_assignor import MemberAssignment
from rebalance_monitor.assignors.streams.tasks import TaskId, TopicPartition
from rebalance_monitor.assignors.streams.topics import ClusterView
from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.schemas.group_metadata import GroupMember as RecordMember
from rebalance_monitor.schemas.group_metadata import GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.schemas.streams_subscription import SubscriptionInfo, encode_subscription_info
from rebalance_monitor.streaming.calculator.streams_bytes import assignment_bytes

RUNNING = -2
FIRST_WITH_SUMS = 7
UNKNOWN_TO_ALL = 12
"""A version of subscriptions that nobody can read yet."""


@dataclass(slots=True, kw_only=True)
class SimulatedThread:
    """One member of the group."""

    id: str
    owned: tuple[TopicPartition, ...] = ()
    active: frozenset[TaskId] = frozenset()
    standby: frozenset[TaskId] = frozenset()
    version: int = 11
    generation: int = -1
    unique: int = 0


@dataclass(slots=True, kw_only=True)
class Process:
    """One `KafkaStreams` instance with its state directory."""

    id: UUID
    release: str
    threads: list[SimulatedThread]
    on_disk: dict[TaskId, int] = field(default_factory=dict)
    rack: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    end_point: str = ""
    speaks_future: bool = False


class Log(Protocol):
    """Where the group's records go. `now_ms`: the time, which only `Life.round` moves; `generation`: the newest."""

    now_ms: int
    generation: int

    def offsets_row(self, value: bytes) -> None:
        """The value of the group's next record."""


def _right(answer: LeaderAnswer) -> LeaderAnswer:
    return answer


class Life:
    """The group from its first member on. `spoil` changes the leader's answers before they are sent."""

    spoil: Callable[[LeaderAnswer], LeaderAnswer] = staticmethod(_right)

    def __init__(self, dice: random.Random, truth: Truth, group: str, log: Log) -> None:
        self.dice, self.truth, self.group, self.log = dice, truth, group, log
        self.processes: dict[str, Process] = {}
        self.ends: dict[TaskId, int] = dict.fromkeys(self.tasks(stateful=True), 0)
        self.future_id = self.uuid()
        self.answers: list[LeaderAnswer] = []
        self._leader: str | None = None
        self._members = 0

    def uuid(self) -> UUID:
        return UUID(int=self.dice.getrandbits(128))

    def tasks(self, *, stateful: bool | None = None) -> list[TaskId]:
        return [
            TaskId(part.number, at)
            for part in self.truth.parts
            for at in range(part.tasks)
            if stateful in (None, part.stateful)
        ]

    # -- who is there --------------------------------------------------------------------------------------------

    def join(
        self,
        name: str,
        *,
        threads: int = 1,
        release: str | None = None,
        rack: str | None = None,
        tags: dict[str, str] | None = None,
        end_point: str = "",
        speaks_future: bool = False,
    ) -> Process:
        """A new process with an empty directory."""
        process = Process(
            id=self.uuid(),
            release=release or self.truth.release,
            threads=[],
            rack=rack,
            tags=tags or {},
            end_point=end_point,
            speaks_future=speaks_future,
        )
        self.processes[name] = process
        self._start(name, threads)
        return process

    def _start(self, name: str, threads: int) -> None:
        process = self.processes[name]
        version = self._latest(process)
        process.threads = [SimulatedThread(id=self._member_id(name), version=version) for _ in range(threads)]

    def leave(self, name: str) -> Process:
        return self.processes.pop(name)

    def restart(self, name: str, *, release: str | None = None, speaks_future: bool | None = None) -> None:
        """New threads of the process: its id and its directory are on disk. It may be another release now."""
        process = self.processes[name]
        process.release = release or process.release
        process.speaks_future = process.speaks_future if speaks_future is None else speaks_future
        self._start(name, len(process.threads))

    def _member_id(self, name: str) -> str:
        self._members += 1
        return f"{self.group}-{name}-{self._members}-{self.dice.getrandbits(64):016x}"

    def advance(self, *, grow: int = 50, catch_up: float = 0.5) -> None:
        """Changelogs grow by so much at most; running tasks have everything; a copy gets to the end by this chance."""
        for task in self.ends:
            self.ends[task] += self.dice.randint(0, grow)
        for process in self.processes.values():
            for thread in process.threads:
                for task in thread.active & self.ends.keys():
                    process.on_disk[task] = self.ends[task]
                for task in thread.standby & self.ends.keys():
                    here = process.on_disk.get(task, 0)
                    done = self.dice.random() < catch_up
                    process.on_disk[task] = (
                        self.ends[task] if done or here > self.ends[task] else self.dice.randint(here, self.ends[task])
                    )

    # -- one generation ------------------------------------------------------------------------------------------

    def round(self, *, after_ms: int = 5_000) -> LeaderAnswer:
        """Everybody joins, the leader answers, the coordinator writes the record, the threads take what they got."""
        self.log.now_ms += after_ms
        self.log.generation += 1
        threads = [(process, thread) for process in self.processes.values() for thread in process.threads]
        ids = [thread.id for _, thread in threads]
        self._leader = self._leader if self._leader in ids else ids[0]
        leading = next(process for process, thread in threads if thread.id == self._leader)
        answer = lead(self._asked(leading, threads))
        release = release_of(leading.release)
        if not answer.assignments:
            answer = self._dealt(answer, threads)
        answer = self.spoil(answer)
        told = {
            one: assignment_bytes(
                release,
                version=given.version,
                commonly_supported=given.commonly_supported,
                active=given.active,
                standby=given.standby,
                by_host={} if given.error else answer.partitions_by_host,
                standby_by_host={} if given.error else answer.standby_partitions_by_host,
                error=given.error,
                next_rebalance_ms=given.next_rebalance_ms,
            )
            for one, given in answer.assignments.items()
        }
        self._record([self._member(*one, answer.assignments[one[1].id], told[one[1].id]) for one in threads])
        for process, thread in threads:
            self._take(process, thread, answer.assignments[thread.id])
        self.answers.append(answer)
        return answer

    def _dealt(self, answer: LeaderAnswer, threads: Sequence[tuple[Process, SimulatedThread]]) -> LeaderAnswer:
        """Up to 2.5: the tasks of a process dealt to its threads, which have given up everything before."""
        told = {}
        version = min(thread.version for _, thread in threads)
        for process in self.processes.values():
            share = answer.shares[process.id]
            for at, thread in enumerate(process.threads):
                active = share.active[at :: len(process.threads)]
                told[thread.id] = MemberAssignment(
                    partitions=tuple(self._partition(task) for task in active),
                    active=active,
                    standby={task: (self._partition(task),) for task in share.standby[at :: len(process.threads)]},
                    version=version,
                    commonly_supported=version,
                )
        return replace(answer, assignments=told)

    def _partition(self, task: TaskId) -> TopicPartition:
        return next(part.topic for part in self.truth.parts if part.number == task.subtopology), task.partition

    def settle(self, *, most: int = 6, after_ms: int = 1_000) -> None:
        """Follow-up generations, until nothing is withheld."""
        for _ in range(most):
            if not any(given.next_rebalance_ms == 0 for given in self.round(after_ms=after_ms).assignments.values()):
                return

    def _sums(self, process: Process, thread: SimulatedThread) -> dict[TaskId, int]:
        sums = {task: RUNNING for task in thread.active & self.ends.keys()}
        sums.update({task: process.on_disk.get(task, 0) for task in thread.standby & self.ends.keys()})
        held = {task for one in process.threads for task in (*one.active, *one.standby)}
        if thread is process.threads[0]:
            sums.update({task: total for task, total in process.on_disk.items() if task not in held})
        return dict(sorted(sums.items()))

    def _asked(self, leading: Process, threads: Sequence[tuple[Process, SimulatedThread]]) -> LeaderRound:
        truth = self.truth
        topics: dict[str, tuple[Replicas, ...]] = {}
        for part in truth.parts:
            names = (part.topic, *part.logs)
            topics.update({name: truth.racks.get(name, ((None,),) * part.tasks) for name in names})
        return LeaderRound(
            release=release_of(leading.release),
            now_ms=self.log.now_ms,
            leader_process_id=leading.id,
            future_process_id=self.future_id,
            members=tuple(
                GroupMember(
                    id=thread.id,
                    version=thread.version,
                    latest_supported=self._latest(process),
                    process_id=process.id,
                    owned=self._owned(process, thread),
                    offset_sums=self._sums(process, thread),
                    host_info=host_info_of(process.end_point),
                    tags=process.tags,
                    rack=process.rack,
                )
                for process, thread in threads
            ),
            subtopologies=tuple(
                Subtopology(number=part.number, sources=(part.topic,), changelogs=part.logs, stores=part.stores)
                for part in truth.parts
            ),
            cluster=ClusterView(
                topics=topics,
                end_offsets={
                    (part.changelog, task.partition): end
                    for task, end in self.ends.items()
                    for part in truth.parts
                    if part.number == task.subtopology
                },
            ),
            configs=AssignmentConfigs(
                acceptable_recovery_lag=truth.acceptable_lag,
                max_warmup_replicas=truth.warm_ups,
                num_standby_replicas=truth.standbys,
                probing_rebalance_interval_ms=60_000,
                rack_aware_assignment_tags=truth.tags,
                rack_aware_assignment_strategy=truth.strategy,
                rack_aware_traffic_cost=truth.known().rack_traffic_cost,
                rack_aware_non_overlap_cost=truth.known().rack_non_overlap_cost,
            ),
            assignor=truth.assignor,
        )

    def _owned(self, process: Process, thread: SimulatedThread) -> tuple[TopicPartition, ...]:
        """Up to 2.5 these threads are eager: they give everything up before they join."""
        return thread.owned if release_of(process.release) >= (2, 6) else ()

    def _latest(self, process: Process) -> int:
        return UNKNOWN_TO_ALL if process.speaks_future else newest_version(release_of(process.release))

    def _member(self, process: Process, thread: SimulatedThread, given: MemberAssignment, told: bytes) -> RecordMember:
        wanted = ConsumerSubscription(
            version=3 if release_of(process.release) >= (3, 4) else 1,
            topics=tuple(sorted(part.topic for part in self.truth.parts)),
            user_data=self._user_data(process, thread),
            owned=self._owned(process, thread),
            generation=thread.generation if release_of(process.release) >= (3, 4) else -1,
            rack=process.rack if release_of(process.release) >= (3, 4) else None,
        )
        answer = ConsumerAssignment(version=wanted.version, partitions=given.partitions, user_data=told)
        return RecordMember(
            member_id=thread.id,
            instance_id=None,
            client_id=thread.id.rpartition("-")[0],
            client_host="/10.0.0.1",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            subscription=encode_subscription(wanted),
            assignment=encode_assignment(answer),
        )

    def _user_data(self, process: Process, thread: SimulatedThread) -> bytes:
        if thread.version == UNKNOWN_TO_ALL:
            return struct.pack(">ii", UNKNOWN_TO_ALL, UNKNOWN_TO_ALL) + process.id.bytes
        thread.unique += 1
        sums = self._sums(process, thread)
        info = SubscriptionInfo(
            version=thread.version,
            latest_supported=self._latest(process) if thread.version > 2 else -1,
            process_id=process.id.bytes,
            previous_tasks=tuple(task[:2] for task, total in sums.items() if total == RUNNING)
            if thread.version < FIRST_WITH_SUMS
            else (),
            standby_tasks=tuple(task[:2] for task, total in sums.items() if total != RUNNING)
            if thread.version < FIRST_WITH_SUMS
            else (),
            end_point=process.end_point,
            offset_sums=tuple((*task[:2], total) for task, total in sums.items())
            if thread.version >= FIRST_WITH_SUMS
            else (),
            unique=thread.unique % 128 if thread.version >= 8 else 0,
            client_tags=tuple(process.tags.items()) if thread.version >= 11 else (),
        )
        return encode_subscription_info(info)

    def _record(self, members: Sequence[RecordMember]) -> None:
        value = GroupMetadata(
            version=3,
            protocol_type="consumer",
            generation=self.log.generation,
            protocol="stream",
            leader=self._leader,
            state_ms=self.log.now_ms - 20,
            members=tuple(members),
        )
        self.log.offsets_row(encode_group_metadata(value))

    def _take(self, process: Process, thread: SimulatedThread, given: MemberAssignment) -> None:
        thread.generation = self.log.generation
        if given.error:
            return
        thread.owned, thread.active = given.partitions, frozenset(given.active)
        thread.standby = frozenset(given.standby)
        for task in thread.active & self.ends.keys():
            process.on_disk[task] = self.ends[task]
        if given.version >= 3 and given.commonly_supported > 0:
            thread.version = min(given.commonly_supported, self._latest(process))
