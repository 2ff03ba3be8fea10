"""The algorithm of the sticky assignors for members with different subscriptions: place, then move until balanced.

Members stand in one order all the time: fewest partitions first, then by id. A partition that nobody holds goes to the
first member that subscribes to its topic. Then partitions move, one by one and again and again, from members with many
to members with few, for as long as somebody could take a partition from a member that has two more:

    back       to the member that held it in an older generation, if that has at least two fewer
    otherwise  to the first member in the order that subscribes, if any subscriber has at least two fewer

    a:2 b:4; m1{a,b} holds a-0 a-1 b-0 b-1, m2{b} holds b-2 b-3, m3{b} is new
    order m3(0) m2(2) m1(4): b-0 goes to m3, then b-1: all have two

A topic with one subscriber takes no part, nor does a member that holds all it can hold and only such topics: they are
set aside. If the moves did not improve the score (the sum of all differences between two members), they are undone.

Claims on partitions that no longer exist, or topics listed twice, lead Java into states that were never meant: one
partition in two lists, members looked up after they were set aside. `exact` marks them; there every step is done as
Java does it, failing included. In all other groups shorter ways to the same answer are taken.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence

from .model import TopicPartition, hash_ordered
from .sticky_group import NO_SUCH_MEMBER, CannotAssign, Group
from .sticky_moves import Moves

Held = dict[str, list[TopicPartition]]
SET_ASIDE = -1


class Balancing:
    """The state of one assignment. Members are numbered as Java sorts their ids."""

    def __init__(self, group: Group, held: Held, owners: Mapping[TopicPartition, str]) -> None:
        """`held`: by member, in the order of the leader's map. `owners`: whom the leader takes for the holder."""
        self.group = group
        rank = group.member_rank
        self.names = sorted(rank, key=rank.__getitem__)
        self.map_order = [rank[name] for name in held]
        self.held = [held[name] for name in self.names]
        self.sizes = [len(share) for share in self.held]
        self.owner = {tp: rank[name] for tp, name in owners.items()}
        self.topics = [[t for t in group.by_id[name].topics if t in group.counts] for name in self.names]
        self.subscribed = [frozenset(topics) for topics in self.topics]
        self.consumers: dict[str, list[int]] = {topic: [] for topic in group.counts}
        for member in group.members:
            for topic in self.topics[rank[member.id]]:
                self.consumers[topic].append(rank[member.id])
        self.most = [self._could_hold(topics) for topics in self.topics]
        self.moves = Moves()
        self._order: list[int] = []
        self._sort()
        self._fewest: dict[str, int] = {}
        self._witness: tuple[int, TopicPartition] | None = None
        self.exact = any(len(topics) != len(known) for topics, known in zip(self.topics, self.subscribed, strict=True))

    def _could_hold(self, topics: Sequence[str]) -> int:
        if len(topics) == len(self.group.counts) and not self.group.era.own_start:
            return self.group.partitions
        return sum(self.group.counts[topic] for topic in topics)

    def _sort(self) -> None:
        width = len(self.names)
        self._order = sorted(size * width + member for member, size in enumerate(self.sizes) if size != SET_ASIDE)

    def in_order(self) -> Iterator[int]:
        """Members by size and id, without those set aside."""
        width = len(self.names)
        return (key % width for key in self._order)

    def _resize(self, member: int, by: int) -> None:
        width = len(self.names)
        key = self.sizes[member] * width + member
        del self._order[bisect_left(self._order, key)]
        insort(self._order, key + by * width)
        self.sizes[member] += by

    def balance(
        self, everything: list[TopicPartition], free: list[TopicPartition], before: Mapping[TopicPartition, str], *,
        revokes: bool,
    ) -> None:  # fmt: skip
        """Place the `free` partitions and balance. `before`: holders in an older generation. `revokes`: some member
        loses partitions in any case."""
        initializing = self.sizes[self._order[-1] % len(self.names)] == 0
        self._place(free)
        shared = {topic for topic, consumers in self.consumers.items() if len(consumers) >= 2}
        everything = [tp for tp in everything if tp[0] in shared]
        free = [tp for tp in free if tp[0] in shared]
        self.exact = self.exact or sum(self.sizes) != self.group.partitions
        aside = self._set_aside(shared)
        held_before, owner_before = [list(share) for share in self.held], dict(self.owner)
        sizes_before = list(self.sizes)
        older = {tp: self.group.member_rank[name] for tp, name in before.items()}
        if not revokes and self.group.era.new_first:
            self._reassign(free, older)
        changed = self._reassign(everything, older)
        if not initializing and changed and _score(self.sizes) >= _score(sizes_before):
            self.held, self.owner, self.sizes = held_before, owner_before, sizes_before
        for member in aside:
            self.sizes[member] = len(self.held[member])
        # A leader puts those it has set aside back behind the others of their buckets.
        self.map_order = [one for one in self.map_order if one not in aside] + aside

    def shares(self) -> Held:
        """What everybody holds now, in the order of the leader's map."""
        names, _ = hash_ordered(self.names[member] for member in self.map_order)
        return {name: self.held[self.group.member_rank[name]] for name in names}

    def _place(self, free: list[TopicPartition]) -> None:
        waiting = free
        if self.group.racks.of_member:
            waiting = [tp for tp in free if not self._give(tp, in_rack=True)]
        for tp in waiting:
            self._give(tp, in_rack=False)

    def _give(self, partition: TopicPartition, *, in_rack: bool) -> bool:
        """Give the partition to the first subscriber in the order, or to the first in a rack of it."""
        width, mismatch = len(self.names), self.group.racks.mismatch
        for place, key in enumerate(self._order):
            member = key % width
            if partition[0] in self.subscribed[member] and not (in_rack and mismatch(self.names[member], partition)):
                del self._order[place]
                insort(self._order, key + width)
                self.sizes[member] += 1
                self.held[member].append(partition)
                self.owner[partition] = member
                return True
        return False

    def _set_aside(self, shared: set[str]) -> list[int]:
        aside = [
            member
            for member in self.map_order
            if self.sizes[member] >= self.most[member] and not any(tp[0] in shared for tp in self.held[member])
        ]
        for member in aside:
            self.sizes[member] = SET_ASIDE
        self._sort()
        return aside

    def _size(self, member: int | None) -> int:
        size = SET_ASIDE if member is None else self.sizes[member]
        if size == SET_ASIDE:
            raise CannotAssign(NO_SUCH_MEMBER)
        return size

    def _reassign(self, partitions: list[TopicPartition], older: Mapping[TopicPartition, int]) -> bool:
        changed = False
        modified = True
        while modified:
            modified = False
            for tp in partitions:
                if self._balanced():
                    break
                size = self._size(self.owner.get(tp))
                target = older.get(tp)
                if target is not None and size > self._size(target) + 1:
                    self._move(tp, target)
                elif size > self._fewest_of(tp[0], size) + 1:
                    self._move(tp, next(one for one in self.in_order() if tp[0] in self.subscribed[one]))
                else:
                    continue
                modified = changed = True
        return changed

    def _fewest_of(self, topic: str, size: int) -> int:
        """The smallest size of the topic's subscribers; in an exact state the first one that is small enough."""
        if self.exact:
            for member in self.consumers[topic]:
                if size > self._size(member) + 1:
                    return self.sizes[member]
            return size
        if topic not in self._fewest:
            self._fewest[topic] = min(self.sizes[member] for member in self.consumers[topic])
        return self._fewest[topic]

    def _move(self, partition: TopicPartition, new: int) -> None:
        partition = self.moves.instead_of(partition, self.owner[partition], new)
        old = self.owner[partition]
        self.moves.record(partition, old, new)
        if partition in self.held[old]:
            self.held[old].remove(partition)
            self._resize(old, -1)
        self.held[new].append(partition)
        self._resize(new, 1)
        self.owner[partition] = new
        self._fewest.clear()

    def _balanced(self) -> bool:
        width = len(self.names)
        if not self._order:
            raise CannotAssign("NoSuchElementException")
        if self._order[0] // width >= self._order[-1] // width - 1:
            return True
        return self._balanced_exactly() if self.exact else self._balanced_quickly()

    def _balanced_quickly(self) -> bool:
        """Nobody could take a partition from a member that has so many more; looks first where it found one last."""
        slack = 1 if self.group.era.stops_at_one else 0
        if self._witness is not None:
            member, tp = self._witness
            if self.sizes[member] != self.most[member] and self.sizes[member] + slack < self.sizes[self.owner[tp]]:
                return False
        largest: dict[str, TopicPartition] = {}
        for member in self.in_order():
            size = self.sizes[member]
            if size == self.most[member]:
                continue
            for topic in self.topics[member]:
                if topic not in largest:
                    largest[topic] = self._largest(topic)
                if size + slack < self.sizes[self.owner[largest[topic]]]:
                    self._witness = member, largest[topic]
                    return False
        return True

    def _largest(self, topic: str) -> TopicPartition:
        """The topic's partition with the largest owner."""
        partitions = [(topic, number) for number in range(self.group.counts[topic])]
        return max(partitions, key=lambda tp: self.sizes[self.owner[tp]])

    def _balanced_exactly(self) -> bool:
        slack = 1 if self.group.era.stops_at_one else 0
        names, _ = hash_ordered(self.names[member] for member in self.map_order)
        rank = self.group.member_rank
        holder = {
            tp: rank[name] for name in names if self.sizes[rank[name]] != SET_ASIDE for tp in self.held[rank[name]]
        }
        for member in self.in_order():
            size = self.sizes[member]
            if size == self.most[member]:
                continue
            own = set(self.held[member])
            for topic in self.topics[member]:
                for number in range(self.group.counts[topic]):
                    tp = (topic, number)
                    if tp not in own and size + slack < self._size(holder.get(tp)):
                        return False
        return True


def _score(sizes: Sequence[int]) -> int:
    """Sum of the differences between all pairs of members, in Java's 32 bits."""
    taking_part = sorted(size for size in sizes if size != SET_ASIDE)
    count = len(taking_part)
    total = sum(size * (2 * place - count + 1) for place, size in enumerate(taking_part))
    return (total + (1 << 31)) % (1 << 32) - (1 << 31)
