"""A generation of a Streams group as its record shows it: processes with their threads, tasks by role, sub-topologies.

What the record does not show is which copies are warm-ups, and where a withheld task will go: the verdict's
recomputation adds both (`roles`).

Theory (streams.md 3.3, 3.4). During an upgrade an old leader may lead threads whose payload it cannot read but for the
version in front. It makes one process of all of them, under an id that it invents: no tags, no endpoint, no offset
sums. The id is random, and no record shows it. Of an id the high-availability assignor looks at nothing but its place
among the others in order:

    processes     1f, 88, c2
    places tried  before 1f, between 1f and 88, between 88 and c2, behind c2

The sticky assignors also look at hashes of ids: there, a place that gives the record's answer explains it, and none
that does proves nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId, TopicPartition, process_key, sorted_tasks
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.details import (
    Balance,
    StreamsDetail,
    StreamsProcess,
    StreamsProgress,
    SubtopologyTasks,
    ThreadTasks,
)
from .members import StreamsThread
from .replica_racks import NO_RACKS, KnownRacks
from .topology import Key, Seen, SubtopologySeen, key_of, tasks_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRecord:
    """One record of a group, read. `tasks`: every task that is known, with its partitions; `owner`: the member that
    says to own a partition; `racks`: what samples tell of the racks of replicas; `from_sources`: sub-topologies whose
    changelog may be a source topic."""

    group: str
    leader: str | None
    threads: tuple[StreamsThread, ...]
    seen: Seen
    tasks: Mapping[TaskId, tuple[TopicPartition, ...]]
    owner: Mapping[TopicPartition, str]
    racks: KnownRacks = NO_RACKS
    from_sources: frozenset[Key] = frozenset()

    def processes(self) -> dict[ProcessId, list[StreamsThread]]:
        """Threads by process, in the record's order."""
        found: dict[ProcessId, list[StreamsThread]] = {}
        for thread in self.threads:
            found.setdefault(thread.process_id, []).append(thread)
        return found

    def running(self) -> frozenset[TaskId]:
        """Tasks that somebody is to run."""
        return frozenset(task for thread in self.threads for task in thread.active)

    def placed(self) -> tuple[dict[TaskId, ProcessId], dict[TaskId, set[ProcessId]]]:
        """Who runs and who copies each task that somebody is to run."""
        active = {task: thread.process_id for thread in self.threads for task in thread.active}
        copies: dict[TaskId, set[ProcessId]] = {task: set() for task in active}
        for thread in self.threads:
            for task in thread.standby:
                if task in copies:
                    copies[task].add(thread.process_id)
        return active, copies

    def withheld(self) -> list[TaskId]:
        """Tasks that nobody is to run in this generation, one of whose partitions somebody still owns; none where the
        leader handed out an error."""
        if any(thread.told.error for thread in self.threads):
            return []
        running = self.running()
        return sorted_tasks(
            task
            for task, partitions in self.tasks.items()
            if task not in running and any(partition in self.owner for partition in partitions)
        )

    def unread(self) -> list[str]:
        """Topics of partitions that somebody owns, of which no record has shown yet which task reads them: all of their
        tasks may be withheld."""
        topics = {topic for part in self.seen for topic in part.topics}
        return sorted({topic for topic, _ in self.owner if topic not in topics})


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What a recomputed answer tells beyond the record, by member id."""

    warm_ups: Mapping[str, frozenset[TaskId]] = field(default_factory=dict)
    transient: Mapping[str, frozenset[TaskId]] = field(default_factory=dict)
    withheld: Mapping[str, frozenset[TaskId]] = field(default_factory=dict)


def observed(group: str, leader: str | None, threads: tuple[StreamsThread, ...], seen: Seen) -> ObservedRecord:
    """The record with what is known of the topology after it."""
    owner = {partition: thread.id for thread in threads for partition in thread.wanted.owned}
    return ObservedRecord(group=group, leader=leader, threads=threads, seen=seen, tasks=tasks_of(seen), owner=owner)


def existing(record: ObservedRecord, seen: Seen) -> ObservedRecord:
    """The record if this is all that there is: what members own of other partitions counts for nothing."""
    tasks = tasks_of(seen)
    there = {partition for partitions in tasks.values() for partition in partitions}
    owner = {partition: thread for partition, thread in record.owner.items() if partition in there}
    return replace(record, seen=seen, tasks=tasks, owner=owner)


def holds_of(record: ObservedRecord) -> dict[str, tuple[str, ...]]:
    """Each thread's tasks with their roles, for what changed since the record before."""
    return {
        thread.name: (*_named(thread.active, "active"), *_named(thread.standby, "standby")) for thread in record.threads
    }


def _named(tasks: Iterable[TaskId], role: str) -> tuple[str, ...]:
    return tuple(f"{task} {role}" for task in sorted_tasks(tasks))


def detail_of(
    record: ObservedRecord,
    roles: Roles | None,
    *,
    wanted: int | None,
    balance: Balance,
    progress: StreamsProgress | None,
    ends: Callable[[TaskId], int | None],
) -> StreamsDetail:
    """What is published of the record; `roles` where a recomputed answer equals it. `wanted`: how many copies a task
    with state has at least; `ends`: where a task's changelogs end, as far as brokers said it."""
    parts = tuple(_subtopology(record, part, wanted) for part in record.seen)
    leader = next((thread.process_id for thread in record.threads if thread.id == record.leader), None)
    times = [thread.next_rebalance_ms for thread in record.threads if thread.next_rebalance_ms is not None]
    readers = _readers(record)
    return StreamsDetail(
        version=max((thread.told.version for thread in record.threads), default=0),
        processes=tuple(
            _process(readers, process_id, threads, roles, ends, leads=process_id == leader)
            for process_id, threads in record.processes().items()
        ),
        subtopologies=parts,
        withheld=_texts(record.withheld()),
        next_rebalance_ms=min(times, default=None),
        roles_known=roles is not None,
        balance=balance,
        missing_standbys=None if wanted is None else sum(part.missing_standbys or 0 for part in parts),
        progress=progress,
    )


ReadingTasks = Mapping[TopicPartition, Sequence[TaskId]]
"""Which tasks read a partition."""


def _readers(record: ObservedRecord) -> ReadingTasks:
    found: dict[TopicPartition, list[TaskId]] = {}
    for task, partitions in record.tasks.items():
        for partition in partitions:
            found.setdefault(partition, []).append(task)
    return found


def _process(
    readers: ReadingTasks,
    process_id: ProcessId,
    threads: Sequence[StreamsThread],
    roles: Roles | None,
    ends: Callable[[TaskId], int | None],
    *,
    leads: bool,
) -> StreamsProcess:
    first = threads[0]
    sums: dict[TaskId, int] = {}
    for thread in threads:
        sums.update(thread.offset_sums)
    behind = {task: ends(task) for task, total in sums.items() if total >= 0}
    return StreamsProcess(
        process_id=str(process_id),
        host=first.row.client_host.lstrip("/"),
        threads=tuple(_thread(readers, thread, roles) for thread in threads),
        end_point=first.said.end_point,
        rack=first.wanted.rack,
        tags=dict(first.said.client_tags),
        offset_sums={str(task): sums[task] for task in sorted_tasks(sums)},
        lags={
            str(task): max(end - sums[task], 0) for task in sorted_tasks(behind) if (end := behind[task]) is not None
        },
        leads=leads,
    )


def _thread(readers: ReadingTasks, thread: StreamsThread, roles: Roles | None) -> ThreadTasks:
    lost = {task for partition in thread.wanted.owned for task in readers.get(partition, ())}.difference(thread.active)
    plain = ThreadTasks(
        member_id=thread.id,
        active=_texts(thread.active),
        standby=_texts(thread.standby),
        revoked=_texts(lost),
        next_rebalance_ms=thread.next_rebalance_ms,
    )
    if roles is None:
        return plain
    return replace(
        plain,
        warm_up=_texts(roles.warm_ups.get(thread.id, ())),
        transient=_texts(roles.transient.get(thread.id, ())),
        withheld=_texts(roles.withheld.get(thread.id, ())),
    )


def _subtopology(record: ObservedRecord, part: SubtopologySeen, wanted: int | None) -> SubtopologyTasks:
    tasks = part.tasks()
    running = record.running()
    shares = [
        sum(key_of(task) == part.key for thread in threads for task in thread.active)
        for threads in record.processes().values()
    ]
    copies = Counter(task for thread in record.threads for task in thread.standby)
    missing = None
    if wanted is not None:
        missing = sum(max(wanted - copies[task], 0) for task in tasks if task in running) if part.stateful else 0
    return SubtopologyTasks(
        name=f"{part.name}__{part.number}" if part.name else str(part.number),
        topics=dict(part.topics),
        tasks=len(tasks),
        stateful=part.state_known,
        least=min(shares, default=0),
        most=max(shares, default=0),
        waiting=_texts(task for task in tasks if task not in running),
        missing_standbys=missing,
    )


def _texts(tasks: Iterable[TaskId]) -> tuple[str, ...]:
    return tuple(map(str, sorted_tasks(tasks)))


POOL: ProcessId = UUID(int=0)
"""Stands for the id that the leader invented."""
_LARGEST = (1 << 128) - 1


def pooled(threads: Sequence[StreamsThread], newest: int) -> tuple[StreamsThread, ...]:
    """The threads as a leader understands them that knows versions up to `newest`."""
    return tuple(_under(thread, POOL) if thread.said.version > newest else thread for thread in threads)


def in_pool(record: ObservedRecord) -> bool:
    return any(thread.process_id == POOL for thread in record.threads)


def with_pool(record: ObservedRecord, process_id: ProcessId) -> ObservedRecord:
    threads = tuple(_under(thread, process_id) if thread.process_id == POOL else thread for thread in record.threads)
    return replace(record, threads=threads)


def pool_places(processes: Iterable[ProcessId]) -> list[ProcessId]:
    """One possible id of the pool for each place among the other processes."""
    keys = sorted(process_key(one) for one in processes if one != POOL)
    if not keys:
        return [_process_of(1)]
    found = [keys[0] - 1, *(key + 1 for key in keys)]
    return [_process_of(key) for key in found if 0 <= key <= _LARGEST and key not in keys]


def _process_of(key: int) -> ProcessId:
    """The id whose sort key this is: both halves have their sign turned, once more turned back."""
    return UUID(int=process_key(UUID(int=key)))


def _under(thread: StreamsThread, process_id: ProcessId) -> StreamsThread:
    said = replace(
        thread.said,
        process_id=process_id.bytes,
        previous_tasks=(),
        standby_tasks=(),
        offset_sums=(),
        end_point="",
        client_tags=(),
    )
    return replace(thread, said=said)
