"""One group that is played: what all kinds have in common."""

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from lab.bench.topic import java_hash
from lab.simulated.log import Log
from lab.simulated.queue import Queue
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC

Rules = frozenset[str]
"""Codes of rules."""
RIGHT: Rules = frozenset()
BROKER_CLOCK = "broker:1"
RIGHT_BEFORE_WRONG = 3
"""A group gives so many right answers before a wrong one: what a wrong one leaves behind is over by then."""
SYNC_MS = 20
"""From the end of the join phase to the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large the load is. `members`, `partitions`: of each group; a Connect group has that many workers and tasks, a
    Streams application that many threads and tasks. `changing`: in which share of the generations somebody comes or
    goes; `wrong`: which share of the answers is wrong; `every_ms`: the time between two generations of a group."""

    generations: int
    groups: int
    members: int = 4
    partitions: int = 16
    log_partitions: int = 10
    changing: float = 0.06
    wrong: float = 0.01
    every_ms: int = 900_000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Place:
    """Where a group's records are written, and who throws its dice."""

    log: Log
    queue: Queue
    dice: Random


class PlayedGroup(ABC):
    """A group that is played generation by generation, at the time of the queue."""

    kind: ClassVar[str]
    """What it is called in names and tables."""
    ahead_ms: ClassVar[int] = 0
    """How long before the generation a member comes or goes."""

    def __init__(self, name: str, place: Place, size: Size) -> None:
        self.name, self.size, self.dice = name, size, place.dice
        self.generation = 0
        self._log, self._queue = place.log, place.queue
        self._partition = abs(java_hash(name)) % size.log_partitions
        self._right = 0
        self._joined = 0

    @property
    def now_ms(self) -> int:
        """True time."""
        return int(self._queue.now_ms)

    @abstractmethod
    def begin(self) -> None:
        """What there is before the first generation."""

    @abstractmethod
    def change(self) -> None:
        """A member comes or goes."""

    @abstractmethod
    def round(self, *, wrong: bool) -> Rules:
        """One generation. Returns the codes of the rules that its answer breaks on purpose, RIGHT for a right one: a
        round may offer no opportunity to be `wrong`."""

    def follows_ms(self) -> int | None:
        """How soon the group must rebalance again by itself; None where it need not."""
        return None

    def answer(self, *, wrong: bool) -> Rules:
        """One generation, perhaps a wrong one; the rules that it breaks."""
        broken = self.round(wrong=wrong and self._right >= RIGHT_BEFORE_WRONG)
        self._right = 0 if broken else self._right + 1
        return broken

    def comes(self, now: int) -> bool:
        """Whether the next change is somebody who comes. `now`: how many are there; about as many stay so."""
        return now <= 2 or (now <= self.size.members and self.dice.random() < 0.5)

    def member_id(self, word: str) -> str:
        """The id of one more member, as Kafka makes it."""
        self._joined += 1
        bits = self.dice.getrandbits(128)
        uuid = f"{bits >> 96:08x}-{bits >> 80 & 0xFFFF:04x}-4{bits >> 64 & 0xFFF:03x}-8{bits >> 48 & 0xFFF:03x}"
        return f"{word}-{self._joined}-{uuid}-{bits & 0xFFFFFFFFFFFF:012x}"

    def write(self, type_: int, names: Sequence[str], value: bytes | None) -> None:
        """One record of the group. `names`: what its key has behind the group id."""
        texts = [one.encode() for one in (self.name, *names)]
        key = struct.pack(">h", type_) + b"".join(struct.pack(">h", len(one)) + one for one in texts)
        self._log.append(OFFSETS_TOPIC, self._partition, self.now_ms, BROKER_CLOCK, key, value)

    def write_generation(
        self, protocol_type: str, protocol: str, leader: str, blobs: Mapping[str, tuple[bytes, bytes]]
    ) -> None:
        """A classic group's record. `blobs`: subscription and assignment by member id."""
        members = tuple(
            GroupMember(
                member_id=name,
                client_id=name[:-37],
                client_host="/10.0.0.7",
                rebalance_timeout_ms=300_000 if protocol_type == "consumer" else 60_000,
                session_timeout_ms=45_000 if protocol_type == "consumer" else 10_000,
                subscription=subscription,
                assignment=assignment,
            )
            for name, (subscription, assignment) in blobs.items()
        )
        group = GroupMetadata(
            version=3,
            protocol_type=protocol_type,
            generation=self.generation,
            protocol=protocol,
            leader=leader,
            state_ms=self.now_ms - SYNC_MS,
            members=members,
        )
        self.write(2, (), encode_group_metadata(group))
