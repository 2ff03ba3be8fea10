"""Every way to answer a Streams round wrongly by one task, copy, deadline, host or error: a record's answer, changed.

Where a task goes to another process, its partitions go along in the host maps. So nothing but the placement is wrong.

    right            a: active 0_0 1_0       b: active 0_1, standby 1_0
    moved            a: active 0_0           b: active 0_1 1_0
    copy promoted    a: active 0_0           b: active 0_1 1_0        (its warm-up runs it before it has caught up)
    roles exchanged  a: active 0_0, standby 1_0     b: active 0_1 1_0
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId, TopicPartition, sorted_partitions
from rebalance_monitor.schemas.consumer_protocol import encode_assignment
from rebalance_monitor.schemas.streams_assignment import (
    FIRST_WITH_DICTIONARY,
    AssignmentInfo,
    HostEntry,
    encode_assignment_info,
)
from rebalance_monitor.schemas.streams_tasks import NO_REBALANCE_MS
from rebalance_monitor.streaming.calculator.streams_bytes import plain
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.streams.members import StreamsThread, UnreadableThread, threads_of

FIRST_WITH_NEXT = 7
FIRST_WITH_ERRORS = 4
DAY_MS = 86_400_000
Mutants = Iterator[tuple[str, GroupGeneration]]


@dataclass(slots=True)
class Given:
    """What one thread is given, to be changed."""

    process: ProcessId
    end_point: str
    active: dict[TaskId, tuple[TopicPartition, ...]]
    standby: dict[TaskId, tuple[TopicPartition, ...]]
    next_ms: int


Move = tuple[str, ProcessId | None, ProcessId | None, tuple[TopicPartition, ...]]
"""In which map of hosts, from which process to which, and what."""


@dataclass(slots=True)
class Answer:
    """A whole answer, to be changed."""

    threads: dict[str, Given]
    moved: list[Move] = field(default_factory=list)

    def run(self, thread: str, task: TaskId, partitions: tuple[TopicPartition, ...]) -> None:
        self.threads[thread].active[task] = partitions
        self.moved.append(("active", None, self.threads[thread].process, partitions))

    def stop(self, thread: str, task: TaskId) -> tuple[TopicPartition, ...]:
        partitions = self.threads[thread].active.pop(task)
        self.moved.append(("active", self.threads[thread].process, None, partitions))
        return partitions

    def copy(self, thread: str, task: TaskId, partitions: tuple[TopicPartition, ...]) -> None:
        self.threads[thread].standby[task] = partitions
        self.moved.append(("standby", None, self.threads[thread].process, partitions))

    def forget(self, thread: str, task: TaskId) -> tuple[TopicPartition, ...]:
        partitions = self.threads[thread].standby.pop(task)
        self.moved.append(("standby", self.threads[thread].process, None, partitions))
        return partitions


def mutants(body: GroupGeneration, dice: random.Random) -> Mutants:
    """One change at a time: its kind, and the record with it. One task that runs, one copy and every deadline."""
    threads = threads_of(body)
    assert not isinstance(threads, UnreadableThread)
    if any(thread.told.error for thread in threads):
        return
    names = {thread.id: thread for thread in threads}
    running = [(name, task) for name, thread in names.items() for task in sorted(thread.active)]
    copied = [(name, task) for name, thread in names.items() for task in sorted(thread.standby)]
    for name, task in dice.sample(running, min(1, len(running))):
        yield from _made(body, threads, _of_active(names, name, task, dice))
    for name, task in dice.sample(copied, min(1, len(copied))):
        yield from _made(body, threads, _of_copy(names, name, task, dice))
    yield from _made(body, threads, _of_deadline(names, dice))
    yield from _of_payloads(body, threads, dice)


Change = Callable[[Answer], object]
Changes = Iterator[tuple[str, Change]]


def _made(body: GroupGeneration, threads: Sequence[StreamsThread], changes: Changes) -> Mutants:
    for kind, change in changes:
        answer = Answer({thread.id: _given(thread) for thread in threads})
        change(answer)
        members = tuple(_row(thread, answer) for thread in threads)
        if members != body.members:
            yield kind, replace(body, members=members)


def _of_active(names: Mapping[str, StreamsThread], name: str, task: TaskId, dice: random.Random) -> Changes:
    """A task that runs."""
    mine = names[name].process_id
    yield "dropped", lambda answer: answer.stop(name, task)
    yield "copy beside its active task", lambda answer: answer.copy(name, task, answer.threads[name].active[task])
    mates = [other for other, thread in names.items() if thread.process_id == mine and other != name]
    if mates:
        mate = dice.choice(mates)
        yield "moved in its process", lambda answer: answer.run(mate, task, answer.stop(name, task))
    holders = [other for other, thread in names.items() if thread.process_id != mine and task in thread.standby]
    others = [other for other, thread in names.items() if thread.process_id != mine and task not in thread.standby]
    if others:
        other = dice.choice(others)
        yield "moved", lambda answer: answer.run(other, task, answer.stop(name, task))
        yield "doubled", lambda answer: answer.run(other, task, answer.threads[name].active[task])
        yield "copy too many", lambda answer: answer.copy(other, task, answer.threads[name].active[task])
        yield "active task as a copy", lambda answer: answer.copy(name, task, answer.stop(name, task))
        theirs = sorted(names[other].active)
        if theirs:
            back = dice.choice(theirs)

            def swap(answer: Answer) -> None:
                ours, others_own = answer.stop(name, task), answer.stop(other, back)
                answer.run(other, task, ours)
                answer.run(name, back, others_own)

            yield "swapped", swap
    if holders:
        holder = dice.choice(holders)

        def promote(answer: Answer) -> None:
            answer.forget(holder, task)
            answer.run(holder, task, answer.stop(name, task))

        def exchange(answer: Answer) -> None:
            partitions = answer.forget(holder, task)
            answer.run(holder, task, answer.stop(name, task))
            answer.copy(name, task, partitions)

        yield "copy promoted", promote
        yield "roles exchanged", exchange


def _of_copy(names: Mapping[str, StreamsThread], name: str, task: TaskId, dice: random.Random) -> Changes:
    yield "copy dropped", lambda answer: answer.forget(name, task)
    mine = names[name].process_id
    taken = {one.process_id for one in names.values() if task in one.active or task in one.standby}
    mates = [other for other, thread in names.items() if thread.process_id == mine and other != name]
    if mates:
        mate = dice.choice(mates)
        yield "copy moved in its process", lambda answer: answer.copy(mate, task, answer.forget(name, task))
    others = [other for other, thread in names.items() if thread.process_id not in taken]
    if others:
        other = dice.choice(others)
        yield "copy moved", lambda answer: answer.copy(other, task, answer.forget(name, task))
        own = {t for thread in names.values() if thread.process_id == mine for t in (*thread.active, *thread.standby)}
        theirs = sorted(names[other].standby.keys() - own)
        if theirs:
            back = dice.choice(theirs)

            def swap(answer: Answer) -> None:
                ours, others_own = answer.forget(name, task), answer.forget(other, back)
                answer.copy(other, task, ours)
                answer.copy(name, back, others_own)

            yield "copies swapped", swap


def _of_deadline(names: Mapping[str, StreamsThread], dice: random.Random) -> Changes:
    """When threads are to join again."""
    if any(thread.told.version < FIRST_WITH_NEXT for thread in names.values()):
        return
    told = [name for name, thread in names.items() if thread.next_rebalance_ms is not None]
    silent = [name for name in names if name not in told]

    def setting(name: str, next_ms: int) -> Change:
        return lambda answer: setattr(answer.threads[name], "next_ms", next_ms)

    for name in told:
        now = names[name].told.next_rebalance_ms
        yield "deadline left out", setting(name, NO_REBALANCE_MS)
        if now:
            yield "probing at once", setting(name, 0)
            yield "deadline a day later", setting(name, now + DAY_MS)
            yield "deadline in 1970", setting(name, 1 + now % DAY_MS)
            yield "deadline negative", setting(name, -now)
        if silent:
            other = dice.choice(silent)

            def hand_on(answer: Answer, name: str = name, other: str = other, now: int = now) -> None:
                answer.threads[name].next_ms = NO_REBALANCE_MS
                answer.threads[other].next_ms = now

            yield "deadline of another thread", hand_on
    if silent:
        yield "follow-up invented", setting(dice.choice(silent), 0)


def _of_payloads(body: GroupGeneration, threads: Sequence[StreamsThread], dice: random.Random) -> Mutants:
    """What stands in payloads beside placement: partitions of copies, host maps, versions, errors."""

    def told_to_all(kind: str, change: Callable[[AssignmentInfo], AssignmentInfo]) -> tuple[str, GroupGeneration]:
        return kind, replace(body, members=tuple(_retold(thread, change(thread.told)) for thread in threads))

    def told_to_one(kind: str, at: int, told: AssignmentInfo) -> tuple[str, GroupGeneration]:
        members = [thread.row for thread in threads]
        members[at] = _retold(threads[at], told)
        return kind, replace(body, members=tuple(members))

    holders = [at for at, thread in enumerate(threads) if thread.told.standby]
    if holders:
        at = dice.choice(holders)
        told = threads[at].told
        number = dice.randrange(len(told.standby))
        task, parts = told.standby[number]
        others = {topic for one in threads for topic, _ in one.given.partitions} - {topic for topic, _ in parts}

        def copying(*changed: TopicPartition) -> AssignmentInfo:
            return replace(told, standby=(*told.standby[:number], (task, changed), *told.standby[number + 1 :]))

        yield told_to_one("copy of another number", at, copying(*((topic, part + 1) for topic, part in parts)))
        if others:
            topic = dice.choice(sorted(others))
            yield told_to_one("copy of another topic", at, copying((topic, parts[0][1]), *parts[1:]))
    first = threads[0].told
    if first.hosts:
        at = dice.randrange(len(first.hosts))
        host, _, served = first.hosts[at]
        yield told_to_all("host invented", lambda told: replace(told, hosts=(*told.hosts, ("nowhere", 1, ()))))
        yield told_to_all("host left out", lambda told: replace(told, hosts=told.hosts[:at] + told.hosts[at + 1 :]))
        moved = (host, 1, served)
        yield told_to_all("port changed", lambda told: replace(told, hosts=_put(told.hosts, at, moved)))
        if served:
            unserved = (*first.hosts[at][:2], served[2:])
            yield told_to_all(
                "host without a partition", lambda told: replace(told, hosts=_put(told.hosts, at, unserved))
            )
        if len(threads) > 1:
            yield told_to_one("hosts named to others alone", len(threads) - 1, replace(threads[-1].told, hosts=()))
    at = dice.randrange(len(threads))
    told = threads[at].told
    if told.version < FIRST_WITH_ERRORS:
        return
    yield told_to_one("other version supported", at, replace(told, commonly_supported=told.commonly_supported - 1))
    yield told_to_one("error beside tasks", at, replace(told, error=3))
    yield "shutdown nobody asked for", _failed(body, threads, 4)
    yield "error nobody knows", _failed(body, threads, 9)
    if len(threads) > 1:
        yield told_to_one("shutdown of one member", at, replace(told, error=4))


def _put(hosts: tuple[HostEntry, ...], at: int, entry: HostEntry) -> tuple[HostEntry, ...]:
    return (*hosts[:at], entry, *hosts[at + 1 :])


def _failed(body: GroupGeneration, threads: Sequence[StreamsThread], code: int) -> GroupGeneration:
    """Everybody is given this error and nothing else."""
    members = []
    for thread in threads:
        told = replace(
            thread.told,
            active=(),
            standby=(),
            topics=(),
            hosts=(),
            standby_hosts=(),
            error=code,
            next_rebalance_ms=NO_REBALANCE_MS,
        )
        given = replace(thread.given, partitions=(), user_data=encode_assignment_info(told))
        members.append(replace(thread.row, assignment=given, assignment_bytes=encode_assignment(given)))
    return replace(body, members=tuple(members))


def _retold(thread: StreamsThread, told: AssignmentInfo) -> MemberRow:
    changed = replace(thread.given, user_data=encode_assignment_info(told))
    return replace(thread.row, assignment=changed, assignment_bytes=encode_assignment(changed))


def _given(thread: StreamsThread) -> Given:
    active: dict[TaskId, tuple[TopicPartition, ...]] = {}
    for partition, task in thread.pairs:
        active[task] = (*active.get(task, ()), partition)
    return Given(
        process=thread.process_id,
        end_point=thread.said.end_point,
        active=active,
        standby=dict(thread.standby),
        next_ms=thread.told.next_rebalance_ms,
    )


def _row(thread: StreamsThread, answer: Answer) -> MemberRow:
    given = answer.threads[thread.id]
    tasks = {partition: task for task, partitions in given.active.items() for partition in partitions}
    partitions = tuple(sorted_partitions(tasks))
    ends = {one.process: one.end_point for one in answer.threads.values()}
    hosts = _hosts(thread.told.partitions_by_host(), answer, ends, "active")
    standby_hosts = _hosts(thread.told.standby_partitions_by_host(), answer, ends, "standby")
    every = (part for of in (hosts, standby_hosts) for found in of.values() for part in found)
    numbers = {topic: at for at, topic in enumerate(sorted({topic for topic, _ in every}))}
    told = replace(
        thread.told,
        active=tuple(plain(tasks[partition]) for partition in partitions),
        standby=tuple((plain(task), parts) for task, parts in given.standby.items()),
        topics=tuple((number, topic) for topic, number in numbers.items()),
        hosts=_entries(hosts, numbers, thread.told.version),
        standby_hosts=_entries(standby_hosts, numbers, thread.told.version),
        next_rebalance_ms=given.next_ms,
    )
    changed = replace(thread.given, partitions=partitions, user_data=encode_assignment_info(told))
    return replace(thread.row, assignment=changed, assignment_bytes=encode_assignment(changed))


def _hosts(
    told: Mapping[tuple[str, int], Sequence[tuple[str | None, int]]],
    answer: Answer,
    ends: Mapping[ProcessId, str],
    which: str,
) -> dict[tuple[str, int], set[TopicPartition]]:
    """A host map with what changed hands."""
    found = {host: {(topic or "", number) for topic, number in parts} for host, parts in told.items()}
    for kind, source, target, partitions in answer.moved if found else ():
        for process, change in ((source, set.difference_update), (target, set.update)):
            host = None if process is None else _host(ends[process])
            if kind == which and host in found:
                change(found[host], partitions)
    return found


def _host(end_point: str) -> tuple[str, int] | None:
    host, _, port = end_point.rpartition(":")
    return (host, int(port)) if host and port.isdecimal() else None


def _entries(
    hosts: Mapping[tuple[str, int], set[TopicPartition]], numbers: Mapping[str, int], version: int
) -> tuple[HostEntry, ...]:
    if version < FIRST_WITH_DICTIONARY:
        return tuple((host, port, tuple(sorted(parts))) for (host, port), parts in hosts.items())
    return tuple(
        (host, port, tuple(n for topic, number in sorted(parts) for n in (numbers[topic], number)))
        for (host, port), parts in hosts.items()
    )
