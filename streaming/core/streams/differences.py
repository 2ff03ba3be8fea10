"""How far a record is from a leader's answer, and what the answer tells beyond the record.

Of an answer that is only partly known, what is certain is compared, and no more.

Theory (streams.md 0.3, 0.4 N1, 5.1, 5.3). Kafka's public sticky assignor places copies in the order of memory addresses
of one JVM. It places all active tasks before:

    certain       each process's active tasks; of each thread, those with state, and all if its process has no other
                  thread; how many copies a task has
    not certain   who has the copies; which thread of a process runs a task without state: threads fill up behind copies

Of leaders up to 2.5 it is not described how threads share the tasks of their process:

    certain       each process's tasks and copies, of tasks that nobody has to give up first
    not certain   which thread has them
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.streams.leader import LeaderAnswer
from rebalance_monitor.assignors.streams.task_assignor import MemberAssignment
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId, TopicPartition
from .members import StreamsThread
from .observed import ObservedRecord, Roles
from .rounds import FIRST_WITH_NEXT, Hypothesis
from .topology import Key, key_of


@dataclass(frozen=True, slots=True)
class Difference:
    """How far an answer is from the record: tasks of single threads that differ, and where first."""

    size: int = 0
    first: str = ""


def difference(record: ObservedRecord, answer: LeaderAnswer) -> Difference:
    """Between the record and an answer, thread by thread: partitions with their tasks, copies with theirs, the kind of
    the next rebalance, version, error; and the host maps, which are the same for all threads."""
    size, first = 0, ""
    for thread in record.threads:
        given = answer.assignments.get(thread.id)
        if given is None:
            return Difference(1, f"{thread.id} is no member")
        differs = thread_difference(thread, given)
        size, first = size + differs.size, first or differs.first
    hosts = hosts_of(answer.partitions_by_host), hosts_of(answer.standby_partitions_by_host)
    for thread in record.threads[:1]:
        told = hosts_of(thread.told.partitions_by_host()), hosts_of(thread.told.standby_partitions_by_host())
        if thread.told.error == 0 and told != hosts:
            size, first = size + 1, first or "the host maps differ from the computed ones"
    return Difference(size, first)


def thread_difference(thread: StreamsThread, given: MemberAssignment) -> Difference:
    """Between what a thread was given and what it is given by an answer."""
    tasks = frozenset(zip(given.partitions, given.active, strict=True)) ^ frozenset(thread.pairs)
    copies = _copies(given.standby) ^ _copies(thread.standby)
    other_time = thread.told.version >= FIRST_WITH_NEXT and (
        _kind(given.next_rebalance_ms) != _kind(thread.told.next_rebalance_ms)
    )
    what = "other tasks" if tasks else "other standby tasks" if copies else "another time or version"
    size = len(tasks) + len(copies) + other_time + head_differs(given, thread)
    return Difference(size, f"{thread.id} was given {what} than any leader's computation gives it" if size else "")


def _copies(standby: Mapping[TaskId, Sequence[TopicPartition]]) -> set[tuple[TaskId, frozenset[TopicPartition]]]:
    return {(task, frozenset(partitions)) for task, partitions in standby.items()}


def head_differs(given: MemberAssignment, thread: StreamsThread) -> int:
    """How much of the versions and the error code in front of a thread's assignment differs."""
    told = thread.told
    versions = (given.version, given.commonly_supported) != (told.version, told.commonly_supported)
    return versions + (given.error != told.error)


def hosts_of(shown: Mapping[tuple[str, int], tuple[tuple[str | None, int], ...]]) -> dict[tuple[str, int], object]:
    return {host: frozenset(partitions) for host, partitions in shown.items()}


def _kind(next_ms: int) -> int:
    """At once, at some time, never."""
    return 0 if next_ms == 0 else 2 if next_ms == (1 << 63) - 1 else 1


def roles_of(record: ObservedRecord, answer: LeaderAnswer) -> Roles:
    """What an answer that equals the record tells beyond it."""
    warm_ups, transient, withheld = {}, {}, {}
    shares = {name: share for client in answer.shares.values() for name, share in client.threads.items()}
    warm = {name: frozenset(client.warm_ups) for client in answer.shares.values() for name in client.threads}
    for thread in record.threads:
        share = shares.get(thread.id)
        if share is not None:
            copies = frozenset(share.standby)
            warm_ups[thread.id] = warm[thread.id] & copies
            transient[thread.id] = frozenset(thread.standby) - copies
            withheld[thread.id] = frozenset(share.active) - thread.active
    return Roles(warm_ups=warm_ups, transient=transient, withheld=withheld)


def difference_but_copies(record: ObservedRecord, answer: LeaderAnswer, hypothesis: Hypothesis) -> Difference:
    """Like `difference`, for an answer whose copies are one of several possible ones."""
    size, first = 0, ""

    def count(differs: int, text: str) -> None:
        nonlocal size, first
        size, first = size + differs, first or (text if differs else "")

    running, stateful = (
        record.running(),
        frozenset(task for task in record.tasks if key_of(task) in hypothesis.stateful),
    )
    for process, threads in record.processes().items():
        share = answer.shares.get(process)
        wanted = frozenset(share.active) & running if share is not None else frozenset[TaskId]()
        given = frozenset(task for thread in threads for task in thread.active)
        count(len(wanted ^ given), f"{threads[0].id} was given other tasks than any leader's computation gives it")
        for thread in threads:
            count(*_thread(thread, answer, stateful))
        if share is not None and len(threads) == 1:
            count(_dropped(record, threads[0], frozenset(share.active) - running), f"{threads[0].id} lacks a task")
    count(
        _wrong_numbers(record, stateful, hypothesis.configs.num_standby_replicas), "tasks have other numbers of copies"
    )
    if record.threads and record.threads[0].told.error == 0:
        told = hosts_of(record.threads[0].told.partitions_by_host())
        count(told != hosts_of(answer.partitions_by_host), "the host maps differ from the computed ones")
    return Difference(size, first)


def difference_by_process(record: ObservedRecord, answer: LeaderAnswer) -> Difference:
    """Like `difference`, for an answer that does not tell what threads are given."""
    running, size, first = record.running(), 0, ""
    for process, threads in record.processes().items():
        share = answer.shares.get(process)
        if share is None:
            return Difference(1, f"{threads[0].id} is no member")
        active = frozenset(task for thread in threads for task in thread.active)
        copies = frozenset(task for thread in threads for task in thread.standby)
        differs = len((frozenset(share.active) & running) ^ active) + len((frozenset(share.standby) ^ copies) & running)
        if differs and not first:
            first = f"{threads[0].id} was given other tasks than any leader's computation gives its process"
        size += differs
    return Difference(size, first)


def _thread(thread: StreamsThread, answer: LeaderAnswer, stateful: frozenset[TaskId]) -> tuple[int, str]:
    given = answer.assignments.get(thread.id)
    if given is None:
        return 1, f"{thread.id} is no member"
    tasks = (frozenset(given.active) ^ thread.active) & stateful
    differs = len(tasks) + head_differs(given, thread)
    # This assignor sets no time. A thread joins again at once where a task is withheld from it.
    differs += thread.next_rebalance_ms not in (None, 0)
    return differs, f"{thread.id} was given other tasks, another time or version than any leader's computation gives it"


def _dropped(record: ObservedRecord, thread: StreamsThread, lacking: frozenset[TaskId]) -> int:
    """Tasks that nobody runs, though their process has this thread alone and no other owner has to give them up."""
    return sum(
        all(record.owner.get(partition, thread.id) == thread.id for partition in record.tasks.get(task, ()))
        for task in lacking
    )


def _wrong_numbers(record: ObservedRecord, stateful: frozenset[TaskId], copies: int) -> int:
    """Tasks with another number of copies than each of them has, or with one beside the active task."""
    runs = {task: thread.process_id for thread in record.threads for task in thread.active}
    held: dict[TaskId, list[ProcessId]] = {task: [] for task in runs}
    for thread in record.threads:
        for task in thread.standby:
            if task in held:  # a withheld task may have a transient copy
                held[task].append(thread.process_id)
    most = min(copies, len(record.processes()) - 1)
    return sum(
        len(held[task]) != (most if task in stateful else 0)
        or len(set(held[task])) != len(held[task])
        or process in held[task]
        for task, process in runs.items()
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Who runs a task, and who has copies of it."""

    active: ProcessId
    copies: frozenset[ProcessId]


def places_of(answer: LeaderAnswer, stateful: Container[Key]) -> dict[TaskId, Place]:
    """Where an answer's target has the tasks with state, those included that are withheld."""
    copies: dict[TaskId, set[ProcessId]] = {}
    for process, share in answer.shares.items():
        for task in share.standby:
            copies.setdefault(task, set()).add(process)
    return {
        task: Place(process, frozenset(copies.get(task, ())))
        for process, share in answer.shares.items()
        for task in share.active
        if key_of(task) in stateful
    }
