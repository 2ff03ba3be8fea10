"""Targets that a coordinator would give to the members of a classic consumer group (KIP-848), by the assignors
`uniform` and `range` of the broker.

Members of this protocol choose random ids, which decide with Java's hash order who gets what is left over; topics have
ids, too, which no record of a classic group has. So several ids of each are tried, and what is computed is a range.
A target is given out whole: members that have to give up partitions do so one by one, and no further target follows.
"""

import base64
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product

from rebalance_monitor.assignors.broker import range_assignor, uniform
from rebalance_monitor.assignors.broker.model import (
    JAVAS,
    NEWEST,
    AssignorFailed,
    BrokerGroup,
    BrokerMember,
    BrokerTopic,
    Outcome,
    Release,
    TopicId,
    release_of,
)
from rebalance_monitor.assignors.consumer.model import TopicPartition, TopicRacks
from .change import WrongChange, check_release
from .consumer import Dealt, DealtMember

CONSUMER_PROTOCOL = "consumer"
"""What `group.protocol` calls it."""
_ASSIGNORS: Mapping[str, Callable[..., Outcome]] = {"uniform": uniform.assign, "range": range_assignor.assign}
USUAL_ASSIGNOR = "uniform"
_FIRST: Release = (3, 7)
_SUPPORTED_SINCE: Release = (4, 0)
TRIED_IDS = 4


@dataclass(frozen=True, slots=True)
class TargetDeal:
    """One assignor of a coordinator's release. `turn`: which ids members and topics have."""

    name: str
    release: Release
    java_version: int
    topics: TopicRacks
    turn: int
    eager: bool = False

    def shares(self, members: Mapping[str, DealtMember]) -> Dealt | None:
        """None where Kafka's class fails."""
        ids = {topic: self._id(topic) for topic in self.topics}
        called = {member: base64.urlsafe_b64encode(self._id(member)).decode().rstrip("=") for member in members}
        group = BrokerGroup(
            members=tuple(
                BrokerMember(
                    id=called[member],
                    names=tuple(self.topics),
                    previous=_by_topic(one.holds, ids),
                    instance_id=one.instance_id,
                )
                for member, one in members.items()
            ),
            topics={topic: BrokerTopic(id=ids[topic], partitions=len(racks)) for topic, racks in self.topics.items()},
        )
        found = _ASSIGNORS[self.name](group, release=self.release, java_version=self.java_version)
        if isinstance(found, AssignorFailed):
            return None
        return {
            member: tuple(
                (topic, number)
                for topic, identity in ids.items()
                for number in sorted(found.target(called[member]).get(identity, ()))
            )
            for member in members
        }

    def _id(self, name: str) -> bytes:
        return sha256(f"{self.turn} {name}".encode()).digest()[:16]


@dataclass(frozen=True, slots=True)
class TargetsBy:
    """By what a history is computed."""

    name: str
    release: Release
    java_version: int
    turn: int
    at_once: bool = False
    others: None = None

    def deal(self, topics: TopicRacks) -> TargetDeal:
        return TargetDeal(self.name, self.release, self.java_version, topics, self.turn)


def target_ways(name: str, release: str | None) -> list[TargetsBy]:
    """Each course that is tried. WrongChange."""
    if name not in _ASSIGNORS:
        raise WrongChange(
            f"{name!r} is no assignor of the protocol {CONSUMER_PROTOCOL}; take one of {', '.join(_ASSIGNORS)}"
        )
    releases: Sequence[Release] = (_SUPPORTED_SINCE, NEWEST)
    if release is not None:
        check_release(release)
        releases = (release_of(release if "." in release else f"{release}.0"),)
        if releases[0] < _FIRST:
            raise WrongChange(f"Kafka {release} has no protocol {CONSUMER_PROTOCOL}; take 3.7 or a later release")
    return [TargetsBy(name, *one) for one in product(releases, JAVAS, range(TRIED_IDS))]


def _by_topic(
    holds: Sequence[TopicPartition], ids: Mapping[str, TopicId]
) -> tuple[tuple[TopicId, tuple[int, ...]], ...]:
    found: dict[TopicId, list[int]] = defaultdict(list)
    for topic, number in holds:
        found[ids[topic]].append(number)
    return tuple((topic, tuple(sorted(numbers))) for topic, numbers in found.items())
