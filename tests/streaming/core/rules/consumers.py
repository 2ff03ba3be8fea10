"""Stories about groups of plain consumers: each record is written out, nothing computes an assignment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartition,
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
from tests.streaming.core.rules.builders import Story


def places(text: str) -> tuple[TopicPartition, ...]:
    """`"a-0 b-1"` -> (("a", 0), ("b", 1))."""
    return tuple((one.rpartition("-")[0], int(one.rpartition("-")[2])) for one in text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """One member. `held`: what it says to have held, in `generation`. `java`: it looks like Kafka's own client.
    `version`: that of its subscription, where it is not what such a client writes; `short`: it ends behind its user
    data."""

    id: str
    topics: str = "a"
    given: str = ""
    held: str | None = None
    generation: int = 1
    rack: str | None = None
    instance: str | None = None
    client_id: str = "consumer"
    host: str = "/10.0.0.1"
    java: bool = True
    version: int | None = None
    short: bool = False

    def subscribed(self, protocol: str) -> bytes:
        """The bytes of its subscription."""
        said = self.subscription(protocol)
        if not self.short:
            return encode_subscription(said)
        return said.version.to_bytes(2, "big") + encode_subscription(replace(said, version=0))[2:]

    def subscription(self, protocol: str) -> ConsumerSubscription:
        held = None if self.held is None else places(self.held)
        version = (3 if self.java else 1) if self.version is None else self.version
        plain = ConsumerSubscription(version=version, topics=tuple(self.topics.split()), rack=self.rack)
        if protocol == COOPERATIVE_STICKY:
            data = self.generation.to_bytes(4, "big") if self.java else None
            said = self.generation if self.java else -1
            return replace(plain, owned=held or (), generation=said, user_data=data)
        if protocol == STICKY and held is not None:
            return replace(plain, user_data=encode_sticky_user_data(StickyUserData(held, self.generation)))
        return plain


def record(
    story: Story,
    protocol: str,
    *members: Consumer,
    again: bool = False,
    after_ms: int = 5_000,
    join_ended_ms_ago: int = 20,
) -> Story:
    """The next generation, led by the first member; `again`: the same generation is written once more."""
    story.now_ms += after_ms
    story.generation += 0 if again else 1
    value = GroupMetadata(
        version=3,
        protocol_type="consumer",
        generation=story.generation,
        protocol=protocol,
        leader=members[0].id if members else None,
        state_ms=story.now_ms - join_ended_ms_ago,
        members=tuple(
            GroupMember(
                member_id=one.id,
                instance_id=one.instance,
                client_id=one.client_id,
                client_host=one.host,
                rebalance_timeout_ms=60_000,
                session_timeout_ms=10_000,
                subscription=one.subscribed(protocol),
                assignment=encode_assignment(ConsumerAssignment(version=1, partitions=places(one.given))),
            )
            for one in members
        ),
    )
    story.offsets_row(encode_group_metadata(value))
    return story


def group(protocol: str, *generations: Sequence[Consumer]) -> Story:
    """One record after the other."""
    story = Story()
    for members in generations:
        record(story, protocol, *members)
    return story


def shares(topics: str = "a", *, held: Mapping[str, str] | None = None, **given: str) -> tuple[Consumer, ...]:
    """Members with the same subscription and these partitions."""
    return tuple(
        Consumer(id=name, topics=topics, given=share, held=None if held is None else held.get(name, ""))
        for name, share in given.items()
    )
