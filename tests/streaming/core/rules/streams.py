"""Stories about Streams groups: each record is written out, task by task; nothing computes an assignment.

    group(Thread("a1", active="0_0 1_0"), Thread("b1", active="0_1 1_1", standby="1_0"))

A thread's id begins with the letter of its process. Task `S_P` has the one partition `tS-P`, unless `topics` says
otherwise. A thread that joins again owns what it is said to own, by default what the record before gave it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from rebalance_monitor.assignors.streams.eras import release_of
from rebalance_monitor.assignors.streams.members import newest_version
from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.schemas.streams_assignment import AssignmentInfo, encode_assignment_info
from rebalance_monitor.schemas.streams_subscription import OffsetSum, SubscriptionInfo, encode_subscription_info
from rebalance_monitor.schemas.streams_tasks import NO_REBALANCE_MS
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from tests.streaming.core.rules.builders import GROUP, Story

RUNS = -2
PROBING_MS = 600_000


def task(text: str) -> tuple[int, int]:
    """`"0_1"` -> (0, 1)."""
    number, partition = text.split("_")
    return int(number), int(partition)


def place(text: str) -> tuple[str, int]:
    """The partition of a task, or a partition that is written out: `"0_1"` -> ("t0", 1), `"x-1"` -> ("x", 1)."""
    if "-" in text:
        topic, _, number = text.rpartition("-")
        return topic, int(number)
    subtopology, partition = task(text)
    return f"t{subtopology}", partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """One member. `sums`: `1_0:-2 1_1:500`. `owned` and `active` may name partitions (`x-1`); then `tasks` names the
    task of each of `active`, in the order of topics and numbers; `copied` does that of each of `standby`. `next_ms`: 0
    at once, None never; `probing`: `PROBING_MS` after the record."""

    id: str
    active: str = ""
    standby: str = ""
    owned: str = ""
    sums: str = ""
    tasks: str | None = None
    copied: str | None = None
    next_ms: int | None = None
    probing: bool = False
    process: str | None = None
    version: int = 11
    latest: int = 11
    told_version: int | None = None
    told_common: int | None = None
    end_point: str = ""
    hosts: Mapping[str, str] = field(default_factory=dict)
    standby_hosts: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    rack: str | None = None
    error: int = 0
    told_error: int = 0
    protocol: int = 3
    generation: int = -1
    instance: str | None = None
    host: str = "/10.0.0.1"
    damaged: bool = False

    @property
    def process_id(self) -> UUID:
        """The id that all threads of one letter share."""
        return UUID(int=ord(self.process or self.id[0]))

    def said(self) -> SubscriptionInfo:
        """What it tells the leader."""
        sums: list[OffsetSum] = []
        for pair in self.sums.split():
            name, _, total = pair.partition(":")
            sums.append((*task(name), int(total)))
        return SubscriptionInfo(
            version=self.version,
            latest_supported=self.latest,
            process_id=self.process_id.bytes,
            end_point=self.end_point,
            offset_sums=tuple(sums),
            unique=1,
            error=self.error,
            client_tags=tuple(self.tags.items()) if self.version >= 11 else (),
        )

    def told(self) -> AssignmentInfo:
        """What the leader tells it."""
        listed = [(place(one), task(one) if "-" not in one else (0, 0)) for one in self.active.split()]
        named = tuple(one for _, one in sorted(listed))
        if self.tasks is not None:
            named = tuple(map(task, self.tasks.split()))
        places = sorted(
            {
                place(one)
                for share in (self.hosts, self.standby_hosts)
                for text in share.values()
                for one in text.split()
            }
        )
        numbers = {topic: at for at, topic in enumerate(dict.fromkeys(topic for topic, _ in places))}

        def entries(hosts: Mapping[str, str]) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
            return tuple(
                (
                    host.rpartition(":")[0],
                    int(host.rpartition(":")[2]),
                    tuple(part for one in text.split() for part in (numbers[place(one)[0]], place(one)[1])),
                )
                for host, text in hosts.items()
            )

        return AssignmentInfo(
            version=self.told_version or self.version,
            commonly_supported=self.told_common or self.latest,
            active=named,
            standby=tuple(
                (task(name), (place(one),))
                for name, one in zip((self.copied or self.standby).split(), self.standby.split(), strict=True)
            ),
            topics=tuple((at, topic) for topic, at in numbers.items()),
            hosts=entries(self.hosts),
            standby_hosts=entries(self.standby_hosts),
            error=self.told_error,
            next_rebalance_ms=NO_REBALANCE_MS if self.next_ms is None else self.next_ms,
        )

    def member(self) -> GroupMember:
        """Its part of the record."""
        wanted = ConsumerSubscription(
            version=self.protocol,
            topics=("t0",),
            user_data=b"\x00" if self.damaged else encode_subscription_info(self.said()),
            owned=tuple(map(place, self.owned.split())),
            generation=self.generation,
            rack=self.rack,
        )
        given = ConsumerAssignment(
            version=1,
            partitions=tuple(sorted(map(place, self.active.split()))),
            user_data=encode_assignment_info(self.told()),
        )
        return GroupMember(
            member_id=self.id,
            instance_id=self.instance,
            client_id=f"app-{self.id}",
            client_host=self.host,
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            subscription=encode_subscription(wanted),
            assignment=encode_assignment(given),
        )


def of_release(release: str, threads: Sequence[Thread]) -> tuple[Thread, ...]:
    """The threads with the versions that Kafka Streams of this release writes: 2.6.0 writes 7, 2.6.1 writes 8."""
    number = release_of(release)
    newest, protocol = newest_version(number), 3 if number >= (3, 4) else 1
    return tuple(replace(one, version=newest, latest=newest, protocol=protocol) for one in threads)


def record(
    story: Story, *threads: Thread, after_ms: int = 5_000, again: bool = False, join_ended_ms_ago: int = 20
) -> Story:
    """The next generation, led by the first thread."""
    story.now_ms += after_ms
    story.generation += 0 if again else 1
    value = GroupMetadata(
        version=3,
        protocol_type="consumer",
        generation=story.generation,
        protocol="stream",
        leader=threads[0].id,
        state_ms=story.now_ms - join_ended_ms_ago,
        members=tuple(
            (replace(one, next_ms=story.now_ms + PROBING_MS) if one.probing else one).member() for one in threads
        ),
    )
    story.offsets_row(encode_group_metadata(value))
    return story


def group(*generations: tuple[Thread, ...], known: StreamsSettings | None = None) -> Story:
    """One record after the other; `known`: what the monitor was told of the application."""
    story = Story()
    if known is not None:
        story.settings = replace(story.settings, streams={GROUP: known})
    for threads in generations:
        record(story, *threads)
    return story
