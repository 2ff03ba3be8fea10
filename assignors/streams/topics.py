"""From topics to tasks: partition counts of repartition topics, the tasks, their changelogs, the sums of end offsets.

Order matters once more: the tasks are put into a hash map in the order in which another hash map walks the
subtopologies, and the sticky assignors walk what comes of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_monitor.assignors.java_order import java_hash
from rebalance_monitor.assignors.java_table import JavaTable, hash_map_order
from .application import UNKNOWN_SUM, StreamsTask
from .failures import LeaderFailed, illegal_state
from .subtopologies import Subtopology
from .tasks import HashOrders, Release, TaskId, TopicPartition, partition_hash

ReplicaRacks = tuple[str | None, ...]

_LARGEST_SUM = (1 << 63) - 1
_MASK = 0xFFFFFFFF
_SUBTOPOLOGY_KEYS_SINCE: Release = (3, 0)
_GROUPS_HASHED_SINCE: Release = (3, 1)
_EXACT_CAPACITY_SINCE = 19


class MissingSourceTopics(Exception):
    """A topic that the application reads does not exist: every member gets the error code 1."""


class NoAssignment(Exception):
    """Kafka's `TaskAssignmentException`: every member gets the error code 3, up to 2.6 code 1 if it is about topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What the leader finds in the cluster. `topics` gives per partition the racks of its replicas, None for a broker
    without one, and None in place of them where nothing is found; `end_offsets` those of changelogs, `committed` the
    group's offsets of sources that serve as changelogs.
    `offsets_fail`: the offsets cannot be read. New topics get replicas in `new_topic_racks`."""

    topics: Mapping[str, Sequence[ReplicaRacks | None]]
    end_offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    offsets_fail: bool = False
    new_topic_racks: ReplicaRacks = (None,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """The tasks in the order in which the leader put them into its hash map, the stateful ones in that of their set,
    the racks of all partitions, and whether the sums of end offsets could be computed."""

    tasks: tuple[StreamsTask, ...]
    stateful: tuple[TaskId, ...]
    racks: Mapping[TopicPartition, ReplicaRacks]
    lags_known: bool


class TopicPlanner:
    """One leader's work on topics. `created` collects the topics it asks the cluster to create."""

    def __init__(
        self,
        subtopologies: Sequence[Subtopology],
        copartitions: Iterable[frozenset[str]],
        cluster: ClusterView,
        release: Release,
        java_version: int,
    ) -> None:
        self.created: dict[str, int] = {}
        self._subtopologies = subtopologies
        self._copartitions = copartitions
        self._cluster = cluster
        self._release = release
        self._java_version = java_version
        self._counts: dict[str, int] = {topic: len(racks) for topic, racks in cluster.topics.items()}

    def prepare_repartition_topics(self) -> None:
        """Compute their partition counts and create them. Raises MissingSourceTopics, NoAssignment, LeaderFailed."""
        fixed = {topic: count for one in self._subtopologies for topic, count in one.repartition_sources.items()}
        missing = {
            topic
            for one in self._subtopologies
            for topic in one.sources
            if topic not in fixed and topic not in self._cluster.topics
        }
        if missing:
            raise MissingSourceTopics(f"missing source topics: {', '.join(sorted(missing))}")
        counts = self._repartition_counts(fixed)
        for group in self._copartitions:
            self._enforce(group, counts, fixed)
        for topic, count in counts.items():
            self._make_ready(topic, count)
        self._counts.update(counts)

    def _repartition_counts(self, fixed: Mapping[str, int | None]) -> dict[str, int]:
        """The largest count upstream, again and again until every topic has one."""
        counts = {topic: count for topic, count in fixed.items() if count is not None}
        while len(counts) < len(fixed):
            progress = False
            for topic in fixed:
                upstream = [
                    count
                    for one in self._subtopologies
                    if topic in one.sinks
                    for source in one.sources
                    if (count := counts.get(source) if source in fixed else self._counts[source]) is not None
                ]
                if topic not in counts and upstream:
                    counts[topic] = max(upstream)
                    progress = True
            if not progress:
                raise NoAssignment("the number of partitions of a repartition topic cannot be computed")
        return {topic: counts[topic] for topic in fixed}

    def _enforce(self, group: frozenset[str], counts: dict[str, int], fixed: Mapping[str, int | None]) -> None:
        """Give topics that are joined the same number of partitions."""
        internal = [topic for topic in sorted(group) if topic in counts]
        others = [topic for topic in sorted(group) if topic not in counts]
        if absent := [topic for topic in others if topic not in self._counts]:
            raise illegal_state(f"topic not found: {absent[0]}")
        enforced = {counts[topic] for topic in internal if fixed[topic] is not None}
        if others:
            wanted = {self._counts[topic] for topic in others}
        else:
            wanted = enforced or {max((counts[topic] for topic in internal), default=0)}
        if len(wanted) > 1 or enforced - wanted:
            raise LeaderFailed("TopologyException", f"topics are not co-partitioned: {', '.join(sorted(group))}")
        for topic in internal:
            counts[topic] = max(wanted)

    def _make_ready(self, topic: str, count: int) -> bool:
        """Create the topic or check its partitions; whether it is new."""
        existing = self._cluster.topics.get(topic)
        if existing is None:
            self.created[topic] = count
            return True
        if len(existing) != count:
            raise LeaderFailed(
                "StreamsException", f"internal topic {topic} has {len(existing)} partitions, {count} are needed"
            )
        return False

    def plan(self, hash_orders: HashOrders) -> TopicPlan:
        """The tasks; creates changelog topics. Raises LeaderFailed."""
        groups = self._walk(self._subtopologies, copied=True)
        listed: list[TaskId] = []
        sources: dict[TaskId, tuple[TopicPartition, ...]] = {}
        for subtopology in self._walk(groups, copied=False):
            for task, partitions in self._tasks(subtopology):
                listed.append(task)
                sources[task] = partitions
        stateful, changelogs, new = self._changelogs(groups, hash_orders.tasks(listed), hash_orders)
        names = {(one.number, one.topology): one for one in self._subtopologies}
        ends = self._end_offset_sums(changelogs, new)
        tasks = tuple(
            StreamsTask(
                id=task,
                sources=sources[task],
                changelogs=changelogs.get(task, ()),
                stateful=task in changelogs,
                end_offset_sum=ends.get(task, 0),
                has_stores=bool(names[task.subtopology, task.topology].stores),
                state_store_names=names[task.subtopology, task.topology].stores,
            )
            for task in listed
        )
        parts = {part for task in tasks for part in (*task.sources, *task.changelogs)}
        return TopicPlan(
            tasks=tasks,
            stateful=tuple(stateful),
            racks={part: racks for part in parts if (racks := self._racks(part)) is not None},
            lags_known=not (self._cluster.offsets_fail and stateful),
        )

    def _tasks(self, subtopology: Subtopology) -> list[tuple[TaskId, tuple[TopicPartition, ...]]]:
        topics = hash_map_order(subtopology.sources).keys()
        if empty := [topic for topic in topics if not self._counts[topic]]:
            raise LeaderFailed("RuntimeException", f"topic {empty[0]} has no partitions")
        made = []
        for partition in range(max(self._counts[topic] for topic in topics)):
            order: JavaTable[TopicPartition] = JavaTable(partition_hash, 1 << (len(topics) - 1).bit_length())
            for topic in topics:
                if partition < self._counts[topic]:
                    order.add((topic, partition))
            made.append((TaskId(subtopology.number, partition, subtopology.topology), tuple(order.keys())))
        return made

    def _changelogs(
        self, groups: Sequence[Subtopology], walk: Sequence[TaskId], hash_orders: HashOrders
    ) -> tuple[list[TaskId], dict[TaskId, tuple[TopicPartition, ...]], set[str]]:
        """Stateful tasks in the order of their set, their changelog partitions, and the topics that are new."""
        of_group: dict[tuple[int, str], list[TaskId]] = {}
        for task in walk:
            of_group.setdefault((task.subtopology, task.topology), []).append(task)
        changelogs: dict[TaskId, tuple[TopicPartition, ...]] = {}
        new: set[str] = set()
        for subtopology in groups:
            tasks = of_group.get((subtopology.number, subtopology.topology), [])
            if not tasks or not subtopology.changelogs:
                continue
            for task in hash_orders.tasks(tasks):
                changelogs[task] = tuple((topic, task.partition) for topic in subtopology.changelogs)
            count = max(task.partition for task in tasks) + 1
            new.update(topic for topic in subtopology.own_changelogs() if self._make_ready(topic, count))
        return hash_orders.tasks(changelogs), changelogs, new

    def _end_offset_sums(
        self, changelogs: Mapping[TaskId, Sequence[TopicPartition]], new: set[str]
    ) -> dict[TaskId, int]:
        """The sum of the end offsets of each task's changelogs; topics created just now count as empty."""
        if self._cluster.offsets_fail:
            return dict.fromkeys(changelogs, UNKNOWN_SUM)
        reused = {topic for one in self._subtopologies for topic in one.changelogs if topic in one.sources}
        sums = {}
        for task, partitions in changelogs.items():
            total = 0
            for part in partitions:
                if part[0] not in new:
                    known = self._cluster.committed if part[0] in reused else self._cluster.end_offsets
                    total = min(total + known.get(part, 0), _LARGEST_SUM)
            sums[task] = total
        return sums

    def _racks(self, partition: TopicPartition) -> ReplicaRacks | None:
        topic, number = partition
        if topic in self.created:
            return self._cluster.new_topic_racks
        known = self._cluster.topics.get(topic, ())
        return known[number] if number < len(known) else None

    def _walk(self, subtopologies: Sequence[Subtopology], *, copied: bool) -> list[Subtopology]:
        """Subtopologies in the order of the map that holds them: a copy of the topology's own map, or a new one."""
        if copied and self._release < _GROUPS_HASHED_SINCE:
            return list(subtopologies)
        capacity = 16
        if copied:
            exact = self._java_version >= _EXACT_CAPACITY_SINCE
            wanted = -(-4 * len(subtopologies) // 3) if exact else 4 * len(subtopologies) // 3 + 1
            capacity = 1 << max(wanted - 1, 0).bit_length()
        order: JavaTable[tuple[int, str]] = JavaTable(self._hash, capacity)
        by_key = {(one.number, one.topology): one for one in subtopologies}
        for key in by_key:
            order.add(key)
        return [by_key[key] for key in order.keys()]  # noqa: SIM118 - no mapping

    def _hash(self, key: tuple[int, str]) -> int:
        if self._release < _SUBTOPOLOGY_KEYS_SINCE:
            return key[0]
        return (31 * (31 + key[0]) + (java_hash(key[1]) if key[1] else 0)) & _MASK
