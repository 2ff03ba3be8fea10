"""What the records of a Streams group say of its topology: sub-topologies, their topics, tasks, and who has state.

No record names a topology. But every assigned partition stands beside its task, so a record shows which topics a
sub-topology reads, and the partitions show how many tasks it has (streams.md 2.5, 3.12). A sub-topology has state if a
member reported an offset sum for one of its tasks, or keeps a copy of one. If a member that owned a task of it reported
nothing, it most likely has none: a running task with a changelog is always reported.

    in-0 -> 0_0, in-1 -> 0_1            sub-topology 0 reads `in`: 2 tasks
    store-repartition-0 -> 1_0, sum 71  sub-topology 1 reads `store-repartition`, has state

Another topology may number its sub-topologies otherwise. Members that still run the one before, and directories that
are left of it, report tasks by the numbers of that one:

    in-0 -> 1_0                         the numbers are others now: what was known of state is of no use
    owns in-0, reports 0_0: -2          of the topology before: it does not own a partition of what is 0_0 now
    owns pre-0, reports nothing of 0    so what others have on disk of 0_0 is of the topology before

What state directories say of tasks may be of another topology, too. An application that was stopped as a whole may come
back with another topology, or with changelogs that were made anew. Its directories are still there: a process reports
what is in a directory, though the task is another one now, or the offsets are of a changelog that is gone. It does so
until it opens the directory for a task with state: then it runs the task (-2), or its sum changes; or until the cleaner
removes it (`state.cleanup.delay.ms`, ten minutes by default).

    before    1_0 counts words, with state         p reports 1_0: -2
    stopped   the topology gets a new sub-topology 0 in front: 1_0 only filters now
    after     nobody runs anything                 p reports 1_0: 51,200      of the directory: proves no state of 1_0

The same holds where processes get another topology one after another: from the record on in which the numbers of
sub-topologies are others (`renumbered`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId, TopicPartition
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.streams_tasks import NEWEST_VERSION
from .members import StreamsThread

Leftovers = Mapping[str, Mapping[str, int]]
"""By task and process, the offset sum that was left."""


def restarted(threads: Iterable[StreamsThread]) -> bool:
    """Whether the application comes back as a whole: nobody owns a partition or runs a task, and directories are
    there."""
    members = tuple(threads)
    sums = [total for thread in members for total in thread.offset_sums.values()]
    return bool(sums) and RUNNING not in sums and not any(thread.wanted.owned for thread in members)


def leftovers(before: Leftovers, threads: Iterable[StreamsThread], *, anew: bool) -> dict[str, dict[str, int]]:
    """What is known to be left after this record; `before`: the same after the record before. `anew`: whatever is
    reported now may be left. A process that does not report a directory may run a task without state beside it."""
    members = tuple(threads)
    said = {(str(task), str(one.process_id)): total for one in members for task, total in one.offset_sums.items()}
    there = {str(thread.process_id) for thread in members}
    copied = {(str(task), str(thread.process_id)) for thread in members for task in thread.standby}
    if anew:
        left = {place: total for place, total in said.items() if total >= 0}
    else:
        known = {(task, process): total for task, of in before.items() for process, total in of.items()}
        left = {place: total for place, total in known.items() if said.get(place, total) == total}
    found: dict[str, dict[str, int]] = {}
    for (task, process), total in left.items():
        if process in there and (anew or (task, process) not in copied):
            found.setdefault(task, {})[process] = total
    return found


def reported(left: Leftovers, threads: Iterable[StreamsThread]) -> dict[str, dict[str, int]]:
    """Those that the members of this record report."""
    found: dict[str, dict[str, int]] = {}
    for thread in threads:
        for task in thread.offset_sums:
            if is_left(left, task, thread.process_id):
                found.setdefault(str(task), {})[str(thread.process_id)] = left[str(task)][str(thread.process_id)]
    return found


def is_left(left: Leftovers, task: TaskId, process: ProcessId) -> bool:
    """Whether what the process reports of this task is what was left of it."""
    return str(process) in left.get(str(task), {})


Key: TypeAlias = tuple[int, str]
"""A sub-topology: its number, and the name of its topology, which is nearly always empty."""
MOST_PARTITIONS = 10_000
"""A number above this is no partition of a topic: then nothing is made of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtopologySeen:
    """One sub-topology. `topics`: partitions of each of its source topics, as far as any number was seen. `stateful`: a
    sum or a copy shows that it has state. `silent`: records in which a member owned a task of it and reported no sum,
    up to `SILENT`."""

    number: int
    name: str = ""
    topics: Mapping[str, int] = field(default_factory=dict)
    stateful: bool = False
    silent: int = 0

    @property
    def key(self) -> Key:
        """What tells it from the others."""
        return self.number, self.name

    @property
    def state_known(self) -> bool | None:
        """Whether it has state; None where nothing tells."""
        return True if self.stateful else False if self.silent == SILENT else None

    def tasks(self) -> dict[TaskId, tuple[TopicPartition, ...]]:
        return {
            TaskId(self.number, at, self.name): tuple(
                (topic, at) for topic, count in sorted(self.topics.items()) if at < count
            )
            for at in range(max(self.topics.values(), default=0))
        }


FIRST_WITH_SUMS = 7
SILENT = 3
"""A task that was only just created is not reported yet; one that is not reported so often has no state."""
NOTHING_LEFT: Leftovers = {}
Seen: TypeAlias = tuple[SubtopologySeen, ...]


def learnt(before: Seen, threads: Iterable[StreamsThread], left: Leftovers = NOTHING_LEFT) -> Seen:
    """What is known after this record. Counts grow; a topic that another sub-topology reads now belongs to that one,
    and a topic that no thread is given or owns is not read any more. Where nobody owns a partition, nothing is
    withheld: the record names every task, and counts begin anew. What was left on disks (`left`) proves no state."""
    members = tuple(threads)
    anew = not any(member.wanted.owned for member in members) and any(member.given.partitions for member in members)
    topics: dict[Key, dict[str, int]] = {one.key: {} if anew else dict(one.topics) for one in before}
    stateful = {one.key for one in before if one.stateful}
    silent = {one.key: one.silent for one in before}
    silent_now: set[Key] = set()
    shown = dict(_shown(members))
    for (topic, number), task in shown.items():
        key = key_of(task)
        if number != task.partition or not 0 <= number < MOST_PARTITIONS:
            continue
        for other, counts in topics.items():
            if other != key:
                counts.pop(topic, None)
        counts = topics.setdefault(key, {})
        counts[topic] = max(number + 1, counts.get(topic, 0))
    reader = {topic: key for key, counts in topics.items() for topic in counts}
    claimed: set[Key] = set()
    for member in members:
        proofs = _proofs_of(member, reader, left)
        stateful |= proofs.sure
        claimed |= proofs.claimed
        for topic, number in member.wanted.owned:
            owner = reader.get(topic)
            if owner is None or not 0 <= number < MOST_PARTITIONS:
                continue
            topics[owner][topic] = max(number + 1, topics[owner][topic])
            if owner in proofs.silent:
                silent_now.add(owner)
    stateful.update(key for key in claimed if key not in silent_now and not silent.get(key))
    read = {topic for member in members for topic, _ in (*member.given.partitions, *member.wanted.owned)}
    if read:
        topics = {
            key: {topic: count for topic, count in counts.items() if topic in read} for key, counts in topics.items()
        }
    return tuple(
        SubtopologySeen(
            number=key[0],
            name=key[1],
            topics=counts,
            stateful=key in stateful,
            silent=0 if key in stateful else min(silent.get(key, 0) + (key in silent_now), SILENT),
        )
        for key, counts in sorted(topics.items(), key=lambda one: (one[0][1], one[0][0]))
        if counts
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proofs:
    """What one member says of state. `sure`: sub-topologies of which it has a copy, or runs a task; `claimed`: those of
    which there is something on its disk; `silent`: those of which it owns a partition and reports nothing."""

    sure: frozenset[Key]
    claimed: frozenset[Key] = frozenset()
    silent: frozenset[Key] = frozenset()


def _proofs_of(member: StreamsThread, reader: Mapping[str, Key], left: Leftovers) -> _Proofs:
    copied = frozenset(map(key_of, member.standby))
    # Up to version 6 members list all tasks that they ran, with state or without.
    # What a newer version than all known ones reports, nobody can read.
    if not FIRST_WITH_SUMS <= member.said.version <= NEWEST_VERSION:
        return _Proofs(sure=copied)
    own = {(reader[topic], number) for topic, number in member.wanted.owned if topic in reader}
    runs = {task for task, total in member.offset_sums.items() if total == RUNNING}
    # An eager member has given up what it owned.
    running = {key_of(task) for task in runs if not own or (key_of(task), task.partition) in own}
    on_disk = (task for task in member.offset_sums.keys() - runs if not is_left(left, task, member.process_id))
    return _Proofs(
        sure=copied | running,
        claimed=frozenset(map(key_of, on_disk)),
        silent=frozenset(key for key, _ in own) - frozenset(map(key_of, member.offset_sums)),
    )


def renumbered(before: Seen, threads: Iterable[StreamsThread]) -> bool:
    """Whether a topic is read by another sub-topology than before, or a sub-topology reads other topics alone. A topic
    that two of them read in this record is none of another topology: the record is wrong."""
    reader = {topic: one.key for one in before for topic in one.topics}
    readers: dict[str, set[Key]] = {}
    for (topic, _), task in _shown(threads):
        readers.setdefault(topic, set()).add(key_of(task))
    now = {topic: key for topic, (key, *others) in readers.items() if not others}
    if any(key != reader.get(topic, key) for topic, key in now.items()):
        return True
    read = {key: {topic for topic, keys in readers.items() if key in keys} for key in now.values()}
    return any(one.key in read and read[one.key].isdisjoint(one.topics) for one in before)


def shrunk(before: Seen, now: Seen) -> dict[str, tuple[int, int]]:
    """Topics of which this record shows fewer partitions than records before: how many then, and now."""
    counts = {topic: count for one in now for topic, count in one.topics.items()}
    return {
        topic: (count, counts[topic])
        for one in before
        for topic, count in one.topics.items()
        if topic in counts and counts[topic] < count
    }


def cut(seen: Seen, threads: Iterable[StreamsThread], counts: Mapping[str, int]) -> Seen:
    """The same if topics have no more partitions than these counts say, and no fewer than a thread is given."""
    given: dict[str, int] = {}
    for thread in threads:
        for topic, number in thread.given.partitions:
            given[topic] = max(number + 1, given.get(topic, 0))
    parts = (replace(one, topics=_cut(one.topics, given, counts)) for one in seen)
    return tuple(one for one in parts if one.topics)


def _cut(topics: Mapping[str, int], given: Mapping[str, int], counts: Mapping[str, int]) -> dict[str, int]:
    found = {topic: min(of, max(counts.get(topic, of), given.get(topic, 0))) for topic, of in topics.items()}
    return {topic: count for topic, count in found.items() if count}


def without_state(seen: Seen) -> Seen:
    """The same where nobody knows any more which sub-topologies have state."""
    return tuple(replace(one, stateful=False, silent=0) for one in seen)


def key_of(task: TaskId) -> Key:
    return task.subtopology, task.topology


def tasks_of(seen: Seen) -> dict[TaskId, tuple[TopicPartition, ...]]:
    return {task: partitions for one in seen for task, partitions in one.tasks().items()}


def _shown(members: Iterable[StreamsThread]) -> Iterable[tuple[TopicPartition, TaskId]]:
    """Partitions whose task a record names. Copies tell only of tasks that nobody runs."""
    threads = tuple(members)
    running = {task for member in threads for task in member.active}
    given = {partition for member in threads for partition in member.given.partitions}
    for member in threads:
        yield from member.pairs
        for task, partitions in member.standby.items():
            if task not in running:
                yield from ((partition, task) for partition in partitions if partition not in given)
