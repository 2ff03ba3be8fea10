"""The config topic: what a leader writes, and what one worker has read (connect.md part 4, coordinator-log.md part 8).

Each worker reads by itself, some ms after the append, now and then later; what it answers for is its own view. The
rules of releases differ: before 2.5.1 and 2.6.0 the tasks of a removed connector stayed and came back with it
(KAFKA-8869), before 3.7.1 and 3.8.0 a commit without a connector was applied (KAFKA-16838).
"""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum, auto

from lab.simulated.log import Log
from lab.simulated.queue import Queue
from rebalance_monitor.assignors.connect.eras import parse_release
from rebalance_monitor.assignors.connect.model import ConfigSnapshot

STARTED, PAUSED, STOPPED = "STARTED", "PAUSED", "STOPPED"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A connector's configuration, as far as it matters: how many tasks it makes, and which version of them."""

    tasks: int
    version: int = 0


class Kind(Enum):
    """What a record of the config topic is about."""

    CONNECTOR = auto()
    REMOVED = auto()
    TASK = auto()
    COMMIT = auto()
    TARGET = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the config topic, as its readers understand it."""

    offset: int
    kind: Kind
    name: str = ""
    number: int = 0
    wanted: Wanted | None = None
    state: str | None = None


@dataclass(slots=True)
class View:
    """What one worker's config store holds: everything before `offset` is read."""

    release: str
    offset: int = -1
    read: int = 0
    configs: dict[str, Wanted] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    applied: dict[str, Wanted] = field(default_factory=dict)
    inconsistent: set[str] = field(default_factory=set)
    has_session_key: bool = False
    _staged: dict[str, dict[int, Wanted]] = field(default_factory=dict)
    _snapshot: ConfigSnapshot | None = None

    def take(self, entry: Entry) -> None:
        """Read the next record."""
        self._snapshot = None
        self.offset = entry.offset + 1
        self.read += 1
        name = entry.name
        match entry.kind:
            case Kind.CONNECTOR if entry.wanted is not None:
                self.configs[name] = entry.wanted
                self.targets.setdefault(name, STARTED)
            case Kind.REMOVED:
                self._remove(name)
            case Kind.TASK if entry.wanted is not None:
                self._staged.setdefault(name, {})[entry.number] = entry.wanted
            case Kind.COMMIT:
                self._commit(name, entry.number)
            case Kind.TARGET:
                self.targets.pop(name, None)
                if entry.state is not None:
                    self.targets[name] = entry.state
                elif name in self.configs:
                    self.targets[name] = STARTED
            case _:
                self.has_session_key = True

    def _remove(self, name: str) -> None:
        self.configs.pop(name, None)
        if not self._keeps_removed_tasks():
            for gone in (self.counts, self.applied, self._staged):
                gone.pop(name, None)

    def _commit(self, name: str, count: int) -> None:
        if name not in self.configs and self._heeds_connectors():
            for gone in (self.counts, self.applied, self._staged):
                gone.pop(name, None)
            return
        staged = self._staged.pop(name, {})
        if set(range(count)) <= staged.keys():
            self.inconsistent.discard(name)
            version = max((one.version for one in staged.values()), default=-1)
            self.applied[name] = Wanted(count, version)
        else:
            self.inconsistent.add(name)
        self.counts[name] = count

    def _keeps_removed_tasks(self) -> bool:
        return parse_release(self.release) < (2, 5, 1)

    def _heeds_connectors(self) -> bool:
        return parse_release(self.release) >= (3, 7, 1)

    @property
    def snapshot(self) -> ConfigSnapshot:
        """What is configured, as the assignors take it."""
        if self._snapshot is None:
            tasks = {name: 0 if name in self.inconsistent else self.counts.get(name, 0) for name in self.configs}
            self._snapshot = ConfigSnapshot(self.offset, tasks)
        return self._snapshot


class ConfigTopic:
    """The topic itself. A write tells all readers, who read it when they get to it."""

    def __init__(self, queue: Queue, log: Log, topic: str, *, transactional: bool = False) -> None:
        self._queue, self._log, self.topic = queue, log, topic
        self.entries: list[Entry] = []
        self.on_append: list[Reader] = []
        self._transactional = transactional

    def connector(self, clock: str, name: str, wanted: Wanted) -> None:
        """A connector is made or changed."""
        properties = {
            "connector.class": "simulated.Idle",
            "tasks.max": str(wanted.tasks),
            "version": str(wanted.version),
            "name": name,
        }
        self._append(clock, f"connector-{name}", {"properties": properties}, Kind.CONNECTOR, name, wanted=wanted)
        self._end()

    def removed(self, clock: str, name: str) -> None:
        """The first of the two tombstones of a deletion."""
        self._append(clock, f"connector-{name}", None, Kind.REMOVED, name)
        self._append(clock, f"target-state-{name}", None, Kind.TARGET, name)
        self._end()

    def tasks(self, clock: str, name: str, wanted: Wanted) -> None:
        """Task configurations, staged until the commit."""
        for number in range(wanted.tasks):
            properties = {"task.class": "simulated.Idle$Task", "number": str(number), "version": str(wanted.version)}
            key, value = f"task-{name}-{number}", {"properties": properties}
            self._append(clock, key, value, Kind.TASK, name, number, wanted=wanted)
        if wanted.tasks:
            self._end()

    def commit(self, clock: str, name: str, count: int) -> None:
        """The staged task configurations count from now on."""
        self._append(clock, f"commit-{name}", {"tasks": count}, Kind.COMMIT, name, count)
        self._end()

    def target(self, clock: str, name: str, state: str) -> None:
        """STARTED, PAUSED or STOPPED; any worker writes it, outside of transactions."""
        old = PAUSED if state == STOPPED else state
        self._append(clock, f"target-state-{name}", {"state": old, "state.v2": state}, Kind.TARGET, name, state=state)

    def session_key(self, clock: str) -> None:
        """The key of signed internal requests; here no key at all, but as long as one."""
        value = {
            "key": "A" * 43 + "=",
            "algorithm": "HmacSHA256",
            "creation-timestamp": int(self._queue.now_ms),
        }
        self._append(clock, "session-key", value, Kind.OTHER)
        self._end()

    def _append(
        self,
        clock: str,
        key: str,
        value: object,
        kind: Kind,
        name: str = "",
        number: int = 0,
        *,
        wanted: Wanted | None = None,
        state: str | None = None,
    ) -> None:
        encoded = None if value is None else json.dumps(value, separators=(",", ":")).encode()
        offset = self._log.append(self.topic, 0, self._queue.now_ms, clock, key.encode(), encoded)
        self.entries.append(Entry(offset, kind, name, number, wanted, state))
        for reader in list(self.on_append):
            reader.told()

    def _end(self) -> None:
        if self._transactional:
            self._log.mark(self.topic, 0)


class Reader(ABC):
    """Who is told of every append: a worker's background thread that reads the topic."""

    @abstractmethod
    def told(self) -> None:
        """There is something new to read."""
