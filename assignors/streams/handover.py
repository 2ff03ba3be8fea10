"""From threads to members' assignments: what is withheld until its owner gives it up, and when to rebalance again.

A task is *withheld* from a thread while another thread still owns one of its partitions (cooperative rebalancing).
The thread is told to rebalance again at once, and meanwhile keeps the state it has of the task open as a *transient*
standby. A client's deadline for a follow-up rebalance is told to its first thread only, and to nobody once a thread
before it had to be told "at once".

Example: A owns in-0 and B shall run task 0_0. B gets nothing of it, but 0_0 as standby if it had been one, and
"at once"; A gives in-0 up and joins again; in the next generation B gets in-0.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .application import ThreadShare
from .clients import Client
from .eras import Era
from .task_assignor import MemberAssignment
from .tasks import TaskId, TopicPartition, partition_key, sorted_tasks

AT_ONCE_MS = 0
NEVER_MS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Versions:
    """What stands in front of every assignment: the least used and the least supported version of the group."""

    used: int
    supported: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """The rules of one generation: partitions of each task, stateful tasks, partitions that somebody owns."""

    partitions: Mapping[TaskId, Sequence[TopicPartition]]
    stateful: Collection[TaskId]
    owned: Collection[TopicPartition]
    versions: Versions
    era: Era

    def assignments(
        self, client: Client, threads: Mapping[str, ThreadShare]
    ) -> tuple[dict[str, MemberAssignment], bool]:
        """What each thread of the client is told, and whether anything was withheld."""
        deadline_ms = client.followup_deadline_ms
        told: dict[str, MemberAssignment] = {}
        any_withheld = False
        for consumer in client.consumers:
            share = threads[consumer]
            withheld = frozenset(task for task in share.active if self._is_owned_elsewhere(task, consumer, client))
            pairs = sorted(
                ((part, task) for task in share.active if task not in withheld for part in self.partitions[task]),
                key=lambda pair: partition_key(pair[0]),
            )
            standby = [*share.standby, *(task for task in sorted_tasks(withheld) if self._stays_open(task, client))]
            next_ms = NEVER_MS
            if withheld:
                any_withheld, next_ms, deadline_ms = True, AT_ONCE_MS, None
            elif deadline_ms is not None:
                next_ms, deadline_ms = deadline_ms, None
            told[consumer] = MemberAssignment(
                partitions=tuple(part for part, _ in pairs),
                active=tuple(task for _, task in pairs),
                standby={task: tuple(self.partitions[task]) for task in standby},
                version=self.versions.used,
                commonly_supported=self.versions.supported,
                next_rebalance_ms=next_ms,
            )
        return told, any_withheld

    def _is_owned_elsewhere(self, task: TaskId, consumer: str, client: Client) -> bool:
        return any(part in self.owned and client.owners.get(part) != consumer for part in self.partitions[task])

    def _stays_open(self, task: TaskId, client: Client) -> bool:
        """Whether a withheld task becomes a transient standby."""
        had = task in client.previous_standby or not self.era.transient_needs_history
        return had and task in self.stateful
