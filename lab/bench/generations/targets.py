"""Consumer groups of KIP-848: the coordinator computes targets, members come to them record by record."""

from functools import partial
from hashlib import sha256
from typing import Any

from lab.bench.generations.played import RIGHT, Place, PlayedGroup, Rules, Size
from lab.errors import LabError
from rebalance_monitor.assignors.broker import uniform
from rebalance_monitor.assignors.broker.model import NEWEST, BrokerGroup, BrokerMember, BrokerResult, BrokerTopic
from rebalance_monitor.schemas.coordinator_records import NEWEST as NEWEST_RECORDS
from rebalance_monitor.schemas.layouts import as_of
from rebalance_monitor.schemas.record_layouts import VALUES
from rebalance_monitor.schemas.struct_writers import writer
from rebalance_monitor.streaming.core.targets.rules_consumer import TWO_TARGETS

EPOCH, MEMBER, ASSIGNED, TARGET, CURRENT = 3, 5, 6, 7, 8
STABLE, UNREVOKED, UNRELEASED = 0, 1, 2
BETWEEN_MS, HEARTBEAT_MS, RELEASED_MS, FOLLOWS_MS = 10, 5_000, 12_000, 30_000
"""Between the heartbeats of two members, of one, until all have given up what they must, and until one more epoch."""
Numbers = frozenset[int]


class TargetGroup(PlayedGroup):
    """A group of one topic; its epoch is its generation."""

    kind = "uniform"

    def __init__(self, name: str, place: Place, size: Size) -> None:
        super().__init__(name, place, size)
        self.topic_id = sha256(name.encode()).digest()[:16]
        self.topics = {f"{name}.t0": size.partitions}
        self._targets: dict[str, Numbers] = {}
        self._holds: dict[str, Numbers] = {}
        self._epochs: dict[str, int] = {}
        self._new: list[str] = []
        self._leaves: str | None = None

    def begin(self) -> None:
        """Members come one by one: each is a generation of its own."""

    def change(self) -> None:
        """Tombstones, or a new member; the epoch follows at the same moment."""
        if self.comes(len(self._targets)):
            self._join()
            return
        self._leave(self.dice.choice(list(self._targets)))

    def _leave(self, name: str) -> None:
        for type_ in (CURRENT, TARGET, MEMBER):
            self.write(type_, (name,), None)
        del self._targets[name], self._holds[name], self._epochs[name]

    def _join(self) -> None:
        name = self.member_id(self.name)[-36:]
        self._new.append(name)
        self._targets[name], self._holds[name], self._epochs[name] = frozenset(), frozenset(), 0
        values = {
            "instanceId": None, "rackId": None, "clientId": f"{self.name}-{self._joined}", "clientHost": "/10.0.0.7",
            "subscribedTopicNames": list(self.topics), "subscribedTopicRegex": None, "rebalanceTimeoutMs": 300_000,
            "serverAssignor": None,
        }  # fmt: skip
        self._write(MEMBER, values, name)

    def follows_ms(self) -> int | None:
        return FOLLOWS_MS if self._leaves is not None or self.generation < self.size.members else None

    def round(self, *, wrong: bool) -> Rules:
        if self.generation < self.size.members:
            self._join()
        if self._leaves is not None:  # with its target the assignor would fail
            self._leave(self._leaves)
            self._leaves = None
        self.generation += 1
        right = self._right_targets()
        broken, targets = RIGHT, right
        if wrong and len(right) > 1:
            self._leaves = min(right, key=lambda name: len(right[name]))
            doubled = min(min(share) for name, share in right.items() if name != self._leaves and share)
            targets = {**right, self._leaves: right[self._leaves] | {doubled}}
            broken = frozenset({TWO_TARGETS.code})
        self._write(EPOCH, {"epoch": self.generation, "metadataHash": self.dice.getrandbits(62)})
        for name, share in targets.items():
            if share != self._targets[name] or name in self._new:
                self._write(TARGET, {"topicPartitions": self._given(share)}, name)
        self._targets = targets
        self._write(ASSIGNED, {"assignmentEpoch": self.generation})
        self._reconcile()
        return broken

    def _reconcile(self) -> None:
        """Each member learns its target from a heartbeat; who must give something up says so first."""
        new, self._new, epoch = self._new, [], self.generation
        for name in new:
            free = self._targets[name] - self._held_by_others(name)
            self._current(name, epoch, free, STABLE if free == self._targets[name] else UNRELEASED)
        others = [name for name in self._targets if name not in new]
        for at, name in enumerate(others):
            self._queue.after(BETWEEN_MS * (at + 1), partial(self._heard, name, epoch))
        for at, name in enumerate(self._targets):
            self._queue.after(RELEASED_MS + BETWEEN_MS * at, partial(self._released, name, epoch))

    def _heard(self, name: str, epoch: int) -> None:
        """A member of the epoch before hears of this one."""
        if self.generation != epoch or name not in self._targets:
            return
        held, target = self._holds[name], self._targets[name]
        if held - target:
            self._current(name, self._epochs[name], held & target, UNREVOKED, pending=held - target)
            self._queue.after(HEARTBEAT_MS, partial(self._revoked, name, epoch))
        else:
            self._revoked(name, epoch)

    def _revoked(self, name: str, epoch: int) -> None:
        if self.generation != epoch or name not in self._targets:
            return
        free = self._targets[name] - self._held_by_others(name)
        self._current(name, epoch, free, STABLE if free == self._targets[name] else UNRELEASED)

    def _released(self, name: str, epoch: int) -> None:
        """What somebody else had to give up first is free by now."""
        if self.generation != epoch or name not in self._targets or self._holds[name] == self._targets[name]:
            return
        self._revoked(name, epoch)

    def _held_by_others(self, name: str) -> Numbers:
        return frozenset(one for other, share in self._holds.items() if other != name for one in share)

    def _current(self, name: str, epoch: int, holds: Numbers, state: int, pending: Numbers = frozenset()) -> None:
        if self._epochs[name] == epoch and self._holds[name] == holds and not pending and state == UNRELEASED:
            return
        values = {
            "memberEpoch": epoch, "previousMemberEpoch": self._epochs[name], "state": state,
            "assignedPartitions": self._given(holds), "partitionsPendingRevocation": self._given(pending),
        }  # fmt: skip
        self._write(CURRENT, values, name)
        self._holds[name], self._epochs[name] = holds | pending, epoch

    def _given(self, numbers: Numbers) -> list[dict[str, Any]]:
        return [{"topicId": self.topic_id, "partitions": sorted(numbers)}] if numbers else []

    def _right_targets(self) -> dict[str, Numbers]:
        (topic,) = self.topics
        members = tuple(
            BrokerMember(id=name, names=(topic,), previous=((self.topic_id, tuple(sorted(share))),) if share else ())
            for name, share in self._targets.items()
        )
        group = BrokerGroup(
            members=members, topics={topic: BrokerTopic(id=self.topic_id, partitions=self.size.partitions)}
        )
        told = uniform.assign(group, release=NEWEST)
        if not isinstance(told, BrokerResult):
            raise LabError(f"{self.name}: {told.error}")
        return {name: frozenset((told.shares[name] or {}).get(self.topic_id, ())) for name in self._targets}

    def _write(self, type_: int, values: dict[str, Any], *names: str) -> None:
        out = bytearray(b"\x00\x00")
        writer(as_of(VALUES[type_], NEWEST_RECORDS), 0)(out, values)
        self.write(type_, names, bytes(out))
