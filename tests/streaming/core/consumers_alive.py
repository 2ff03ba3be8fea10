"""Made-up lives of consumer groups that do nothing wrong: Kafka's own assignors answer, everything around them changes.

Members join, leave, are replaced by another process of the same instance id, and change what they subscribe to; topics
come, go, grow and are made anew with fewer partitions; a leader may not know of that yet; the group is emptied and
begins anew with other topics; its assignor is changed. Brokers tell the topics every 30 s and shortly after a record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember, TopicPartition, TopicRacks
from rebalance_monitor.assignors.consumer.sticky_group import CannotAssign
from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.schemas.sticky_user_data import (
    COOPERATIVE_STICKY,
    STICKY,
    StickyUserData,
    encode_sticky_user_data,
)
from rebalance_monitor.streaming.core.cluster.topics import TopicSample
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS
from tests.streaming.core.rules.builders import Story

NO_RACKS = (frozenset[str](),)
STEPS = (
    "join", "join", "leave", "come_back", "restart", "grow", "create", "delete", "make_anew", "wait", "begin_anew",
    "subscribe_otherwise", "change_assignor",
)  # fmt: skip


@dataclass(slots=True)
class Process:
    """A member. `said`: what its last JoinGroup held, and in which generation."""

    id: str
    topics: tuple[str, ...]
    instance: str | None = None
    held: tuple[TopicPartition, ...] = ()
    generation: int = -1
    said: tuple[TopicPartition, ...] = ()
    said_generation: int = -1


@dataclass(slots=True)
class Alive:
    """One group and its cluster. `story` has its records, `samples` what brokers told."""

    seed: int
    assignor: str
    story: Story = field(default_factory=Story)
    samples: list[TopicSample] = field(default_factory=list)
    members: list[Process] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=lambda: {"a": 3, "b": 1})
    wanted: tuple[str, ...] = ("a", "b")
    join_ended_ms: int = 0
    leader: str = ""
    made: int = 0
    dice: Random = field(default_factory=Random)

    def live(self, steps: int) -> "Alive":
        """Two members, and so many steps."""
        self.dice = Random(self.seed)
        self.sample()
        self.join()
        self.join()
        for _ in range(steps):
            getattr(self, self.dice.choice(STEPS))()
        self.wait()
        return self

    def sample(self) -> None:
        replicas = {name: ((1,),) * count for name, count in self.topics.items()}
        self.samples.append(TopicSample(self.story.now_ms, self.story.now_ms + 20, replicas))

    def pass_time(self, ms: int) -> None:
        """With a sample every 30 s."""
        end_ms = self.story.now_ms + ms
        while self.story.now_ms < end_ms:
            self.story.now_ms = min(self.story.now_ms + 30_000, end_ms)
            self.sample()

    def process(self, instance: str | None = None) -> Process:
        self.made += 1
        return Process(f"c-{self.made}-{self.dice.getrandbits(64):016x}", self.wanted, instance)

    def join(self) -> None:
        self.members.append(self.process(f"i{self.made}" if self.dice.random() < 0.4 else None))
        self.rebalance()

    def leave(self) -> None:
        if self.members:
            self.members.pop(self.dice.randrange(len(self.members)))
            self.rebalance()

    def restart(self) -> None:
        """A process ends and another one joins."""
        if self.members:
            at = self.dice.randrange(len(self.members))
            self.members[at] = self.process(self.members[at].instance)
            self.rebalance()

    def come_back(self) -> None:
        """A static member's new process keeps its share: the same generation is written once more."""
        static = [one for one in self.members if one.instance is not None]
        if not static:
            return
        returned, new = self.dice.choice(static), self.process()
        self.story.now_ms += self.dice.choice((1_500, 8_000))
        self.leader = new.id if self.leader == returned.id else self.leader
        returned.id, returned.topics, returned.said, returned.said_generation = new.id, self.wanted, (), -1
        self.write()

    def grow(self) -> None:
        self.change(self.dice.choice(sorted(self.topics)), 2)

    def create(self) -> None:
        self.change(self.dice.choice("abcd"), 1)

    def make_anew(self) -> None:
        name = self.dice.choice(sorted(self.topics))
        self.change(name, 1 - self.topics[name])

    def delete(self) -> None:
        if len(self.topics) > 1:
            name = self.dice.choice(sorted(self.topics))
            self.change(name, -self.topics[name])

    def change(self, name: str, by: int) -> None:
        """Somebody may join before the leader knows; all members join again when it does."""
        known = dict(self.topics)
        self.topics[name] = self.topics.get(name, 0) + by
        self.topics = {one: count for one, count in self.topics.items() if count}
        if self.dice.random() < 0.5:
            self.pass_time(self.dice.choice((5_000, 40_000)))
        if self.dice.random() < 0.3:
            self.members.append(self.process())
            self.rebalance(known)
        if self.dice.random() < 0.6:
            self.pass_time(self.dice.choice((5_000, 200_000)))
        self.rebalance()

    def wait(self) -> None:
        self.pass_time(self.dice.choice((60_000, 900_000)))

    def begin_anew(self) -> None:
        """Everybody goes; later others come, with other topics."""
        self.members = []
        self.rebalance()
        self.pass_time(60_000)
        self.wanted = self.dice.choice((("a",), ("b", "c"), ("a", "b")))
        self.join()

    def subscribe_otherwise(self) -> None:
        if self.members:
            self.dice.choice(self.members).topics = ("a",)
            self.rebalance()

    def change_assignor(self) -> None:
        """All members were restarted with it, two times, as it is done."""
        self.assignor = self.dice.choice(sorted(ASSIGNORS))
        for member in self.members:
            member.held, member.generation = (), -1
        self.rebalance()

    def rebalance(self, known: dict[str, int] | None = None) -> None:
        """Until nobody has to give anything up. `known`: the topics as the leader knows them."""
        counts = dict(self.topics if known is None else known)
        gives_up = True
        while gives_up:
            self.story.now_ms += self.dice.choice((300, 3_000))
            self.story.generation += 1
            self.join_ended_ms = self.story.now_ms
            self.story.now_ms += self.dice.choice((3, 20, 100))
            if not self.members:
                self.write()
                return
            self.leader = self.dice.choice(self.members).id
            gives_up = self.assign(counts)
            self.write()
            self.story.now_ms += 2_100  # a record that waits for a sample has one by then
            self.sample()

    def assign(self, counts: dict[str, int]) -> bool:
        """The leader's answer; whether somebody has to give something up. Where it is none, everybody begins anew."""
        racks = {name: NO_RACKS * count for name, count in counts.items()}
        for member in self.members:
            member.said = member.held if self.assignor in (STICKY, COOPERATIVE_STICKY) else ()
            member.said_generation = member.generation
        shares = self.answer(racks)
        if shares is None:
            for member in self.members:
                member.said, member.said_generation = (), -1
            shares = self.answer(racks)
        assert shares is not None
        gives_up = False
        for member in self.members:
            place = {topic: at for at, topic in enumerate(dict.fromkeys(topic for topic, _ in shares[member.id]))}
            share = tuple(sorted(shares[member.id], key=lambda partition: place[partition[0]]))
            gives_up = gives_up or (self.assignor == COOPERATIVE_STICKY and not set(member.said) <= set(share))
            member.held, member.generation = share, self.story.generation
        return gives_up

    def answer(self, racks: TopicRacks) -> Mapping[str, tuple[TopicPartition, ...]] | None:
        """None where Kafka's class fails, or hands a partition out twice: sticky ones do where a member claims a number
        that a topic made anew no longer has. That is wrong, and is found."""
        try:
            shares = ASSIGNORS[self.assignor].newest([self.claims(one) for one in self.members], racks).shares
        except CannotAssign:
            return None
        given = [partition for share in shares.values() for partition in share]
        return shares if len(set(given)) == len(given) else None

    def claims(self, process: Process) -> ConsumerMember:
        cooperative = self.assignor == COOPERATIVE_STICKY
        claim = Claim(process.said, process.said_generation) if process.said else Claim()
        return ConsumerMember(
            id=process.id,
            instance_id=process.instance,
            topics=process.topics,
            owned=process.said if cooperative else (),
            generation=process.said_generation,
            claim=Claim((), process.said_generation) if cooperative else claim,
        )

    def subscription(self, process: Process) -> ConsumerSubscription:
        cooperative, data = self.assignor == COOPERATIVE_STICKY, None
        if cooperative:
            data = encode_sticky_user_data(StickyUserData((), process.said_generation), cooperative=True)
        elif self.assignor == STICKY and process.said:
            data = encode_sticky_user_data(StickyUserData(process.said, process.said_generation))
        owned = process.said if cooperative else ()
        return ConsumerSubscription(
            version=3, topics=process.topics, owned=owned, generation=process.said_generation, user_data=data
        )

    def write(self) -> None:
        members = tuple(
            GroupMember(
                member_id=one.id,
                instance_id=one.instance,
                client_id="consumer",
                client_host="/10.0.0.1",
                rebalance_timeout_ms=60_000,
                session_timeout_ms=10_000,
                subscription=encode_subscription(self.subscription(one)),
                assignment=encode_assignment(ConsumerAssignment(version=3, partitions=one.held)),
            )
            for one in self.members
        )
        value = GroupMetadata(
            version=3,
            protocol_type="consumer",
            generation=self.story.generation,
            protocol=self.assignor if members else None,
            leader=self.leader if members else None,
            state_ms=self.join_ended_ms,
            members=members,
        )
        self.story.offsets_row(encode_group_metadata(value))
