"""How far a record is from an answer that is only partly known: what is certain of it is compared, and no more.

Theory (streams.md 0.3, 0.4 N1, 5.1, 5.3). Kafka's public sticky assignor places copies in the order of memory addresses
of one JVM. It places all active tasks before:

    certain       each process's active tasks; of each thread, those with state, and all if its process has no other
                  thread; how many copies a task has
    not certain   who has the copies; which thread of a process runs a task without state: threads fill up behind copies

Of leaders up to 2.5 it is not described how threads share the tasks of their process:

    certain       each process's tasks and copies, of tasks that nobody has to give up first
    not certain   which thread has them
"""

from rebalance_monitor.assignors.streams.leader import LeaderAnswer
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.streaming.core.streams.members import StreamsThread
from rebalance_monitor.streaming.core.streams.observed import ObservedRecord
from rebalance_monitor.streaming.core.streams.rounds import Difference, Hypothesis, head_differs, hosts_of
from rebalance_monitor.streaming.core.streams.topology import key_of


def difference_but_copies(record: ObservedRecord, answer: LeaderAnswer, hypothesis: Hypothesis) -> Difference:
    """Like `rounds.difference`, for an answer whose copies are one of several possible ones."""
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
    count(_copies(record, stateful, hypothesis.configs.num_standby_replicas), "tasks have other numbers of copies")
    if record.threads and record.threads[0].told.error == 0:
        told = hosts_of(record.threads[0].told.partitions_by_host())
        count(told != hosts_of(answer.partitions_by_host), "the host maps differ from the computed ones")
    return Difference(size, first)


def difference_by_process(record: ObservedRecord, answer: LeaderAnswer) -> Difference:
    """Like `rounds.difference`, for an answer that does not tell what threads are given."""
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


def _copies(record: ObservedRecord, stateful: frozenset[TaskId], copies: int) -> int:
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
