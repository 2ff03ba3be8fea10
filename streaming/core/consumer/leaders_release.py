"""What the bytes of assignments tell of the release of Kafka's own client that wrote them.

    version in front      0 up to 2.3, 1 from 2.4 to 3.3, 3 since 3.4
    a member's topics     in the order of a hash map up to 2.8, since then in the order of the leader's list

An era of an assignor fits if one of its releases writes this version. A group may mix releases, and its leader's alone
decides, so members' subscriptions tell nothing of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Generic, Protocol, TypeVar

from rebalance_monitor.assignors.consumer.model import compute_ordered
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, TopicPartition
from rebalance_monitor.streaming.core.model.records import GroupGeneration

Release = tuple[int, ...]

_WRITTEN: dict[int, tuple[Release, Release]] = {
    0: ((0, 0, 0), (2, 4, 0)),
    1: ((2, 4, 0), (3, 4, 0)),
    3: ((3, 4, 0), (999, 0, 0)),
}
"""Version in front of assignments -> the first release that writes it, and the first one that does not any more."""
NEWEST_VERSION = 3
_BY_FIRST_OCCURRENCE = (3, 0, 0)


class Era(Protocol):
    """Releases whose leaders answer alike."""

    @property
    def since(self) -> Release:
        """The first of them."""


AnyEraT = TypeVar("AnyEraT", bound=Era)


@dataclass(frozen=True, slots=True)
class Writers(Generic[AnyEraT]):
    """Releases of one era that write alike. `hashed`: each member's topics in the order of a hash map."""

    era: AnyEraT
    hashed: bool

    def written(self, share: tuple[TopicPartition, ...]) -> tuple[TopicPartition, ...]:
        """A member's share in the order of the bytes: topic by topic."""
        topics: Sequence[str] = tuple(dict.fromkeys(topic for topic, _ in share))
        if self.hashed:
            topics, _ = compute_ordered(topic for topic, _ in share)
        place = {topic: at for at, topic in enumerate(topics)}
        return tuple(sorted(share, key=lambda partition: place[partition[0]]))


def writers_by(era: AnyEraT) -> Writers[AnyEraT]:
    """Who wrote an answer of this era, by its first release."""
    return Writers(era, hashed=_whole(era.since) < _BY_FIRST_OCCURRENCE)


def version_of(body: GroupGeneration) -> int | None:
    """The version in front of all assignments of a generation; None if they differ, which no leader writes."""
    versions = {one.assignment.version for one in body.members if isinstance(one.assignment, ConsumerAssignment)}
    return versions.pop() if len(versions) == 1 else None


def writers_of(eras: Sequence[AnyEraT], version: int | None) -> Iterator[Writers[AnyEraT]]:
    """Who writes this version, the newest first. `eras`: oldest first. Nobody, where Kafka's client never writes it."""
    first, end = _WRITTEN.get(version, ((), ())) if version is not None else ((), ())
    for era, later in reversed(list(zip_longest(eras, eras[1:]))):
        since = max(_whole(era.since), first)
        until = end if later is None else min(_whole(later.since), end)
        if since < until:
            for hashed in (False, True):
                if (since < _BY_FIRST_OCCURRENCE) if hashed else (until > _BY_FIRST_OCCURRENCE):
                    yield Writers(era, hashed)


def _whole(release: Release) -> Release:
    """With a patch number."""
    return (*release, 0, 0)[:3]
