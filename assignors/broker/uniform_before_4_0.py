"""`uniform` of 3.7 to 3.9 (preview) for members with different topics: single partitions move until sizes are even.

1. Members in hash order keep their previous targets, as far as they still subscribe to the topics.
2. Free partitions, those with many partitions per subscriber first, go to the subscriber with the fewest partitions.
3. Every partition whose owner has at least two more than another subscriber moves to the emptiest subscriber, again
   and again, until nothing moves or the group is balanced.

A move looks for one that undoes it: where a partition of the topic went from the new owner to the old one before, that
partition is moved back instead. Kafka cannot move a partition twice; it throws, and the coordinator keeps the targets.

In 3.7, members of a partition's rack come first in each step, and Kafka throws if a member subscribes to nothing.
"""

from collections.abc import Iterable, Sequence

from rebalance_monitor.assignors.java_order import utf16_key, uuid_hash
from rebalance_monitor.assignors.java_table import JavaTable, copied_set_capacity
from .model import (
    JAVA,
    AssignorFailed,
    BrokerGroup,
    BrokerMember,
    BrokerResult,
    Orders,
    Outcome,
    Share,
    TopicId,
    TopicPartition,
    shares_of,
)
from .rack_info import RackInfo

_OBJECTS_HASH = 31 * 31
_Pair = tuple[str, str]


class _Thrown(Exception):
    """Kafka's assignor ends with an exception of this class."""


def _partition_hash(at: TopicPartition) -> int:
    return _OBJECTS_HASH + 31 * uuid_hash(at[0]) + at[1] & 0xFFFFFFFF


def _partitions(capacity: int = 16) -> JavaTable[TopicPartition]:
    return JavaTable(_partition_hash, capacity)


class _Moves:
    """Partitions that were moved, by topic and by (first owner, present owner)."""

    def __init__(self) -> None:
        self._of: dict[TopicPartition, _Pair] = {}
        self._by_pair: dict[tuple[TopicId, _Pair], JavaTable[TopicPartition]] = {}

    def to_move(self, at: TopicPartition, old: str, new: str) -> TopicPartition:
        """The partition to move: one that goes back if there is one, else `at` itself."""
        if at in self._of:
            old = self._of[at][0]
        back = self._by_pair.get((at[0], (new, old)))
        return at if back is None else next(iter(back))

    def move(self, at: TopicPartition, old: str, new: str) -> None:
        if at in self._of:
            raise _Thrown("PartitionAssignorException")
        self._of[at] = (old, new)
        self._by_pair.setdefault((at[0], (old, new)), _partitions()).add(at)


class _State:
    """Who owns what, and which members may still take part."""

    def __init__(self, group: BrokerGroup, *, racks: bool, java_version: int) -> None:
        self.orders = Orders(group, java_version)
        self.members = self.orders.members()
        self.counts = group.counts()
        self.topics_of = {member.id: frozenset(self.orders.topics_of(member)) for member in self.members}
        self.subscribers: dict[TopicId, list[str]] = {}
        self._topic_walk: JavaTable[TopicId] = JavaTable(hash_of=uuid_hash)
        for member in self.members:
            for topic in self._own_topics(member, racks=racks):
                self._topic_walk.add(topic)
                self.subscribers.setdefault(topic, []).append(member.id)
        self.shares: dict[str, Share] = {member.id: {} for member in self.members}
        self.sizes = {member.id: 0 for member in self.members}
        self.most = {name: sum(self.counts[topic] for topic in topics) for name, topics in self.topics_of.items()}
        self.owner: dict[TopicPartition, str] = {}
        self.free = self.all_partitions()
        if racks:
            copied = _partitions(copied_set_capacity(len(self.free), java_version))
            copied.add_all(self.free)
            self.free = copied
        self.sorted_in = {name for name, most in self.most.items() if most > 0}
        self.racks = RackInfo(group, self.members, list(self._topic_walk)) if racks else None
        self.misplaced: dict[TopicPartition, str] = {}
        self.kept: set[TopicPartition] = set()
        self.moves = _Moves()

    def _own_topics(self, member: BrokerMember, *, racks: bool) -> Iterable[TopicId]:
        if not racks:
            return self.orders.topics_of(member)
        own: JavaTable[TopicId] = JavaTable(hash_of=uuid_hash)
        own.add_all(self.orders.topics_of(member))
        return own

    @property
    def unsure(self) -> bool:
        return self.orders.unsure or self.free.unsure or self._topic_walk.unsure

    @property
    def useful_racks(self) -> RackInfo | None:
        return self.racks if self.racks is not None and self.racks.useful else None

    def all_partitions(self) -> JavaTable[TopicPartition]:
        every = _partitions()
        every.add_all((topic, number) for topic in self._topic_walk for number in range(self.counts[topic]))
        return every

    def in_order(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Many partitions per subscriber first, then few subscribers, then by number; equal ones as they come."""
        counts, subscribers = self.counts, self.subscribers

        def key(at: TopicPartition) -> tuple[float, int, int]:
            members = len(subscribers[at[0]])
            return -(counts[at[0]] / members), members, at[1]

        return sorted(partitions, key=key)

    def by_size(self, names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: (self.sizes[name], utf16_key(name)))

    def full(self, name: str) -> bool:
        return self.sizes[name] >= self.most[name]

    def give(self, at: TopicPartition, name: str) -> None:
        self.shares[name].setdefault(at[0], set()).add(at[1])
        self.owner[at] = name
        self.sizes[name] += 1
        self._sort_in(name)
        self.free.remove(at)

    def take(self, at: TopicPartition, name: str) -> None:
        numbers = self.shares[name].get(at[0], set())
        numbers.discard(at[1])
        if not numbers:
            self.shares[name].pop(at[0], None)
        if self.owner.get(at) == name:
            del self.owner[at]
        self.sizes[name] = max(0, self.sizes[name] - 1)
        self._sort_in(name)

    def offer(self, at: TopicPartition, name: str) -> bool:
        if at[0] not in self.topics_of[name] or self.full(name):
            return False
        self.give(at, name)
        return True

    def move(self, at: TopicPartition, new: str) -> None:
        chosen = self.moves.to_move(at, self.owner[at], new)
        old = self.owner[chosen]
        self.moves.move(chosen, old, new)
        self.take(chosen, old)
        self.give(chosen, new)

    def _sort_in(self, name: str) -> None:
        self.sorted_in.discard(name)
        if not self.full(name):
            self.sorted_in.add(name)


def assign(group: BrokerGroup, *, racks: bool = False, java_version: int = JAVA) -> Outcome:
    """The new targets; `racks` for 3.7."""
    state = _State(group, racks=racks, java_version=java_version)
    if not state.subscribers:
        return BrokerResult(shares=dict.fromkeys((member.id for member in state.members), None))
    try:
        _keep(state)
        if state.useful_racks is not None:
            _assign_in_racks(state, state.useful_racks)
        _assign_free(state)
        _balance(state)
    except _Thrown as why:
        return AssignorFailed(str(why))
    return BrokerResult(shares=shares_of(state.shares, state.shares), unsure=state.unsure)


def _keep(state: _State) -> None:
    racks = state.useful_racks
    for member in state.members:
        for topic, numbers in state.orders.previous(member):
            if topic not in state.topics_of[member.id]:
                continue
            for number in numbers:
                if racks is not None and racks.mismatch(member.id, (topic, number)):
                    state.misplaced[topic, number] = member.id
                else:
                    state.give((topic, number), member.id)
                    state.kept.add((topic, number))


def _near(state: _State, racks: RackInfo, at: TopicPartition) -> Sequence[str]:
    near = racks.near(at, state.sizes.__getitem__)
    if len(near) > 1 and any(not state.topics_of[name] for name in near):
        raise _Thrown("NullPointerException")
    return near


def _assign_in_racks(state: _State, racks: RackInfo) -> None:
    for at in racks.with_near_members(list(state.free)):
        for name in _near(state, racks, at):
            if state.offer(at, name):
                break


def _assign_free(state: _State) -> None:
    for at in state.in_order(state.free):
        former = state.misplaced.get(at)
        if former is not None and state.offer(at, former):
            continue
        able = [name for name in state.subscribers[at[0]] if not state.full(name)]
        if able:
            state.give(at, state.by_size(able)[0])


def _balance(state: _State) -> None:
    if len(state.free):
        raise _Thrown("PartitionAssignorException")
    if state.racks is not None and any(not topics for topics in state.topics_of.values()):
        raise _Thrown("NullPointerException")
    state.free.add_all(state.all_partitions())
    for topic, names in state.subscribers.items():
        if len(names) < 2:
            for number in range(state.counts[topic]):
                state.free.remove((topic, number))
    for member in state.members:
        shared = any(len(state.subscribers[topic]) > 1 for topic in state.shares[member.id])
        if not shared and state.sizes[member.id] >= state.most[member.id]:
            state.sorted_in.discard(member.id)
    # The table empties while partitions move, in Kafka as here: `give` takes them out. The order is read once a round.
    while len(state.free) and _one_round(state):
        pass


def _one_round(state: _State) -> bool:
    """One walk over the partitions that may move; whether another one is needed."""
    modified = moved = False
    for at in state.in_order(state.free):
        if moved and _balanced(state):
            return False
        if at not in state.owner:
            raise _Thrown("PartitionAssignorException")
        moved = _move_in_rack(state, at) or _move_anywhere(state, at)
        modified |= moved
    return modified


def _move_in_rack(state: _State, at: TopicPartition) -> bool:
    racks = state.useful_racks
    if racks is None or racks.mismatch(state.owner[at], at):
        return False
    size = state.sizes[state.owner[at]]
    for name in _near(state, racks, at):
        if name in state.sorted_in and size > state.sizes[name] + 1:
            state.move(at, name)
            return True
    return False


def _move_anywhere(state: _State, at: TopicPartition) -> bool:
    size = state.sizes[state.owner[at]]
    former = state.misplaced.get(at)
    if former is not None and at not in state.kept and size > state.sizes[former] + 1:
        state.move(at, former)
        return True
    if all(size <= state.sizes[name] + 1 for name in state.subscribers[at[0]]):
        return False
    able = [name for name in state.sorted_in if at[0] in state.topics_of[name]]
    if not able:
        raise _Thrown("PartitionAssignorException")
    state.move(at, state.by_size(able)[0])
    return True


def _balanced(state: _State) -> bool:
    if not state.sorted_in:
        raise _Thrown("NoSuchElementException")
    sizes = sorted(state.sizes[name] for name in state.sorted_in)
    if sizes[0] >= sizes[-1] - 1:
        return True
    for name in state.sorted_in:
        if state.sizes[name] == state.most[name]:
            continue
        for topic in state.topics_of[name]:
            own = state.shares[name].get(topic, ())
            for number in range(state.counts[topic]):
                if number not in own and state.sizes[state.owner[topic, number]] > state.sizes[name] + 1:
                    return False
    return True
