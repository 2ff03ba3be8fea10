"""Which partition a sticky leader really moves: it takes back an earlier move rather than make a counter-move.

While it balances, a leader remembers for each partition from where to where it has moved it. When it wants to move a
partition of a topic from A to B, and another partition of that topic went from B to A before, it sends that one back
instead: for no topic do partitions end up moving both ways between two members.

    t-0 went from m2 to m1; now t-5 shall go from m1 to m2: t-0 goes back, and its record is deleted
"""

from rebalance_monitor.assignors.java_order import java_hash
from rebalance_monitor.assignors.java_tree import TREE_BUCKET, TREE_TABLE
from .model import TopicPartition

Pair = tuple[int, int]
"""From one member to another, by number."""

_FIRST_CAPACITY = 16


class PartitionSet:
    """A default-capacity Java `HashSet` of topic partitions, as far as it takes to tell its first element.

    `unsure`: a bucket grew so long that Java keeps it as a tree, which is not emulated here.
    """

    __slots__ = ("_buckets", "_capacity", "_size", "unsure")

    def __init__(self) -> None:
        self._capacity = _FIRST_CAPACITY
        self._size = 0
        self._buckets: dict[int, list[tuple[int, TopicPartition]]] = {}
        self.unsure = False

    def __bool__(self) -> bool:
        return self._size > 0

    def add(self, partition: TopicPartition) -> None:
        """Append a partition that is not in the set to its bucket."""
        hashed = partition_hash(partition)
        spread = hashed ^ hashed >> 16
        bucket = self._buckets.setdefault(spread & self._capacity - 1, [])
        bucket.append((spread, partition))
        self._size += 1
        if len(bucket) >= TREE_BUCKET:
            if self._capacity < TREE_TABLE:
                self._grow()
            else:
                self.unsure = True
        if self._size * 4 > self._capacity * 3:
            self._grow()

    def remove(self, partition: TopicPartition) -> None:
        """Remove a partition that is in the set; the table keeps its size."""
        hashed = partition_hash(partition)
        spread = hashed ^ hashed >> 16
        number = spread & self._capacity - 1
        self._buckets[number].remove((spread, partition))
        if not self._buckets[number]:
            del self._buckets[number]
        self._size -= 1

    def first(self) -> TopicPartition:
        """The element that Java's iterator yields first."""
        return self._buckets[min(self._buckets)][0][1]

    def _grow(self) -> None:
        self._capacity *= 2
        entries = [entry for number in sorted(self._buckets) for entry in self._buckets[number]]
        self._buckets = {}
        for entry in entries:
            self._buckets.setdefault(entry[0] & self._capacity - 1, []).append(entry)


def partition_hash(partition: TopicPartition) -> int:
    """`TopicPartition.hashCode()` as an unsigned 32-bit number."""
    topic, number = partition
    return 31 * (31 + number) + java_hash(topic) & 0xFFFFFFFF


class Moves:
    """All moves of one assignment so far."""

    def __init__(self) -> None:
        self._of_partition: dict[TopicPartition, Pair] = {}
        self._of_topic: dict[str, dict[Pair, PartitionSet]] = {}
        self.order_unsure = False

    def instead_of(self, partition: TopicPartition, old: int, new: int) -> TopicPartition:
        """What to move in place of this partition, if it is to go from one member to the other."""
        of_topic = self._of_topic.get(partition[0])
        if not of_topic:
            return partition
        recorded = self._of_partition.get(partition)
        opposite = of_topic.get((new, old if recorded is None else recorded[0]))
        if opposite is None:
            return partition
        self.order_unsure |= opposite.unsure
        return opposite.first()

    def record(self, partition: TopicPartition, old: int, new: int) -> None:
        """Remember that the partition went from one member to the other; back where it came from leaves no trace."""
        recorded = self._of_partition.pop(partition, None)
        if recorded is None:
            self._add(partition, (old, new))
            return
        of_topic = self._of_topic[partition[0]]
        of_topic[recorded].remove(partition)
        if not of_topic[recorded]:
            del of_topic[recorded]
        if recorded[0] != new:
            self._add(partition, (recorded[0], new))

    def _add(self, partition: TopicPartition, pair: Pair) -> None:
        self._of_partition[partition] = pair
        of_topic = self._of_topic.setdefault(partition[0], {})
        if pair not in of_topic:
            of_topic[pair] = PartitionSet()
        of_topic[pair].add(partition)
