"""Standby copies on clients with other tags than the task's earlier hosts: the tag-aware standby assignor (KIP-708).

For each task the hosts used so far forbid the clients that share one of their tag values. Once a tag has no more values
than there are used hosts, it forbids nothing any more. Copies that find no host that way are placed by load at the end,
tasks in the order of Java's hash map.

Example: tags zone (a, b) and cluster (k, l), active on a/k. The first standby must be on b and l. For the second no
zone is left unused, so neither tag forbids anything, and the least loaded client without the task gets it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from assignors.streams.standbys import Holders, place_by_load
from assignors.streams.tasks import HashOrders, TaskId


class TagHolders(Holders, Protocol):
    """Where tag-aware standbys are placed: also the actives, and the tasks' ids."""

    @property
    def active(self) -> Sequence[Collection[int]]:
        """The active tasks of each client."""

    @property
    def tasks(self) -> Sequence[TaskId]:
        """The ids behind the numbers."""


class TagRules:
    """Which clients share which tag values."""

    __slots__ = ("_holders", "_keys", "_values", "tags")

    def __init__(self, tags: Sequence[Mapping[str, str]], keys: Collection[str]) -> None:
        self.tags = tags
        self._keys = frozenset(keys)
        self._values: dict[str, set[str]] = {}
        self._holders: dict[tuple[str, str], set[int]] = {}
        for client, of_client in enumerate(tags):
            for key, value in of_client.items():
                self._values.setdefault(key, set()).add(value)
                self._holders.setdefault((key, value), set()).add(client)

    def forbid(self, blocked: dict[tuple[str, str], set[int]], host: int, used: int) -> None:
        """Add to `blocked` what the new host forbids, when `used` clients host the task."""
        for key, value in self.tags[host].items():
            if key not in self._keys:
                continue
            if len(self._values[key]) <= used:
                for one in self._values[key]:
                    blocked.pop((key, one), None)
            else:
                blocked[key, value] = self._holders[key, value]


class TagAware:
    """Tag-aware placement over clients in ascending order."""

    def __init__(self, placement: TagHolders, tags: Sequence[Mapping[str, str]], keys: Collection[str]) -> None:
        self._placement = placement
        self._rules = TagRules(tags, keys)

    def place(self, tasks: Sequence[int], copies: int, hash_orders: HashOrders) -> None:
        """Give each task its standbys. `tasks` in the order in which Kafka's map received them."""
        placement = self._placement
        missing = dict.fromkeys(tasks, copies)
        for task in tasks:
            for host, active in enumerate(placement.active):
                if task in active:
                    missing[task] = self._place_apart(task, host, missing[task])
        ids = {placement.tasks[task]: task for task in tasks}
        left = [ids[one] for one in hash_orders.tasks(ids) if missing[ids[one]] > 0]
        place_by_load(placement, [(task, missing[task]) for task in left])

    def _place_apart(self, task: int, host: int, copies: int) -> int:
        """Copies that found no host with other tags."""
        placement = self._placement
        blocked: dict[tuple[str, str], set[int]] = {}
        used = 1
        while True:
            self._rules.forbid(blocked, host, used)
            free = [
                (load, client)
                for client, load in enumerate(placement.load)
                if not placement.holds(client, task) and not any(client in shared for shared in blocked.values())
            ]
            if not free:
                return copies
            host = min(free)[1]
            placement.give_standby(host, task)
            used += 1
            copies -= 1
            if copies <= 0:
                return 0

    def may_move(self, source: int, destination: int) -> bool:
        """Whether balancing may move a standby: each tag of the source, configured or not, has the same value there."""
        there = self._rules.tags[destination]
        return all(there.get(key) == value for key, value in self._rules.tags[source].items())

    def may_move_task(self, source: int, destination: int, task: int) -> bool:
        """Whether rack optimisation may move this standby: the task's hosts show no fewer tag values afterwards."""
        tags, placement = self._rules.tags, self._placement
        others = {
            entry
            for client in range(len(tags))
            if client not in (source, destination) and placement.holds(client, task)
            for entry in tags[client].items()
        }
        return len(others | tags[destination].items()) >= len(others | tags[source].items())
