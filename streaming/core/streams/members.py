"""The threads of a Streams group: what each of them said when it joined, and what the leader told it.

One member of the group is one thread of a process. A process (Kafka's `KafkaStreams` instance) has an id of its own, by
which its threads are told from those of other processes.

    member    subscription   version, process id, offset sums of its tasks, owned partitions
              assignment     partitions, the task of each; standby tasks; when to rebalance again
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId, TopicPartition, sorted_partitions
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.schemas.streams_assignment import AssignmentInfo, decode_assignment_info
from rebalance_monitor.schemas.streams_subscription import SubscriptionInfo, decode_subscription_info
from rebalance_monitor.schemas.streams_tasks import NEWEST_VERSION, NO_REBALANCE_MS
from rebalance_monitor.schemas.streams_tasks import StreamsTaskId as RawTaskId
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration, MemberRow

_VERSION_BYTES = 4
_LATER = "Streams payload of version {}, which this release of the monitor does not know"


@dataclass(frozen=True, slots=True)
class UnreadableThread:
    """A member whose bytes, or the Streams payload inside them, cannot be read. `what`: subscription or assignment.
    `later`: the payload has a version of a later release, so that only its version is known."""

    member_id: str
    what: str
    reason: str
    later: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamsThread:
    """One member. `wanted` and `given` are the consumer protocol's, `said` and `told` the Streams payloads in them."""

    row: MemberRow
    wanted: ConsumerSubscription
    said: SubscriptionInfo
    given: ConsumerAssignment
    told: AssignmentInfo

    @property
    def id(self) -> str:
        return self.row.member_id

    @property
    def name(self) -> str:
        """What the thread is called from generation to generation."""
        return self.row.instance_id or self.row.member_id

    @cached_property
    def process_id(self) -> ProcessId:
        return UUID(bytes=self.said.process_id)

    @cached_property
    def offset_sums(self) -> Mapping[TaskId, int]:
        """What it reports: -2 for a task that it runs, else the offset up to which it has the task's state."""
        return {task_id(task): total for task, total in self.said.sums().items()}

    @cached_property
    def pairs(self) -> tuple[tuple[TopicPartition, TaskId], ...]:
        """The partitions it is given with their tasks; empty where the two lists differ in length, as the thread itself
        fails on them."""
        if not self.well_formed:
            return ()
        return tuple(
            (partition, task_id(task))
            for partition, task in zip(sorted_partitions(self.given.partitions), self.told.active, strict=True)
        )

    @property
    def well_formed(self) -> bool:
        """Whether every partition has a task."""
        return len(self.given.partitions) == len(self.told.active)

    @cached_property
    def active(self) -> frozenset[TaskId]:
        return frozenset(map(task_id, self.told.active))

    @cached_property
    def standby(self) -> Mapping[TaskId, tuple[TopicPartition, ...]]:
        """Tasks of which it is to keep a copy, with their source partitions. A warm-up looks the same."""
        return {
            task_id(task): tuple((topic or "", number) for topic, number in partitions)
            for task, partitions in self.told.standby_tasks().items()
        }

    @property
    def next_rebalance_ms(self) -> int | None:
        """When it joins again by the leader's word: 0 at once, None never."""
        return None if self.told.next_rebalance_ms == NO_REBALANCE_MS else self.told.next_rebalance_ms


def task_id(task: RawTaskId) -> TaskId:
    return TaskId(task[0], task[1], task[2] if len(task) > 2 else "")


def threads_of(body: GroupGeneration) -> tuple[StreamsThread, ...] | UnreadableThread:
    """All members of a record, in its order; the first of them that cannot be read instead."""
    found = []
    for row in body.members:
        thread = thread_of(row)
        if isinstance(thread, UnreadableThread):
            return thread
        found.append(thread)
    return tuple(found)


def thread_of(row: MemberRow) -> StreamsThread | UnreadableThread:
    wanted, given = row.subscription, row.assignment
    if not isinstance(wanted, ConsumerSubscription):
        return UnreadableThread(row.member_id, "subscription", _reason(wanted))
    if not isinstance(given, ConsumerAssignment):
        return UnreadableThread(row.member_id, "assignment", _reason(given))
    said = decode_subscription_info(wanted.user_data or b"")
    if not isinstance(said, Decoded):
        return _unread(row, "subscription", wanted.user_data or b"", said)
    told = decode_assignment_info(given.user_data or b"")
    if not isinstance(told, Decoded):
        return _unread(row, "assignment", given.user_data or b"", told)
    return StreamsThread(row=row, wanted=wanted, said=said.value, given=given, told=told.value)


def later_version(thread: StreamsThread) -> UnreadableThread | None:
    """What of a thread is not read because it uses a version of a later release: then its subscription tells only
    which."""
    if thread.said.version <= NEWEST_VERSION:
        return None
    return UnreadableThread(thread.id, "subscription", _LATER.format(thread.said.version), later=True)


def _unread(row: MemberRow, what: str, payload: bytes, unread: object) -> UnreadableThread:
    version = int.from_bytes(payload[:_VERSION_BYTES], "big", signed=True)
    if len(payload) >= _VERSION_BYTES and version > NEWEST_VERSION:
        return UnreadableThread(row.member_id, what, _LATER.format(version), later=True)
    detail = getattr(unread, "detail", "")
    reason = f"{_reason(unread)} ({detail})" if detail else _reason(unread)
    return UnreadableThread(row.member_id, what, f"Streams payload: {reason}")


def _reason(unread: object) -> str:
    match unread:
        case BadBlob(reason=reason):
            return reason
        case _:
            return str(getattr(unread, "reason", "of no known kind"))
