"""Standby copies on clients with other tags than the task's earlier hosts: the tag-aware standby assignor (KIP-708).

For each task the hosts used so far forbid the clients that share one of their tag values. Once a tag has no more values
than there are used hosts, it forbids nothing any more. Copies that find no host that way are placed by load at the end,
tasks in the order of Java's hash map.

Example: tags zone (a, b) and cluster (k, l), active on a/k. The first standby must be on b and l. For the second no
zone is left unused, so neither tag forbids anything, and the least loaded client without the task gets it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from .failures import LeaderFailed
from .standbys import Holders, place_by_load
from .tasks import HashOrders, TaskId


class TagHolders(Holders, Protocol):
    """Where tag-aware standbys are placed: also the actives, and the tasks' ids."""

    @property
    def active(self) -> Sequence[Collection[int]]:
        """The active tasks of each client."""

    @property
    def tasks(self) -> Sequence[TaskId]:
        """The ids behind the numbers."""


class TagAware:
    """Tag-aware placement. `tags` are those of each client by number, None for a process the application does not
    know."""

    def __init__(self, placement: TagHolders, tags: Sequence[Mapping[str, str] | None], keys: Collection[str]) -> None:
        self._placement = placement
        self._keys = frozenset(keys)
        self._known = {client: dict(of_client) for client, of_client in enumerate(tags) if of_client is not None}
        self._strangers = len(tags) - len(self._known)
        self._values: dict[str, set[str]] = {}
        self._holders: dict[tuple[str, str], set[int]] = {}
        for client, of_client in self._known.items():
            for key, value in of_client.items():
                self._values.setdefault(key, set()).add(value)
                self._holders.setdefault((key, value), set()).add(client)

    def place(self, tasks: Sequence[int], copies: int, hash_orders: HashOrders, hosts: Sequence[int]) -> None:
        """Give each task its standbys. `tasks` and `hosts` (of actives) in the order in which Kafka walks them.

        Raises LeaderFailed where Kafka throws: a task with two active hosts, a process without state.
        """
        placement = self._placement
        missing = dict.fromkeys(tasks, copies)
        for task in tasks:
            for host in hosts:
                if task not in placement.active[host]:
                    continue
                if task not in missing or host not in self._known:
                    raise LeaderFailed("NullPointerException", f"task {placement.tasks[task]} is active where it can't")
                missing[task] = self._place_apart(task, host, missing[task])
                if missing[task] <= 0:
                    del missing[task]
        if not missing:
            return
        if self._strangers:
            raise LeaderFailed("NullPointerException", "a process has an assignment, but is no client")
        ids = {placement.tasks[task]: task for task in tasks}
        left = [ids[one] for one in hash_orders.tasks(ids) if ids[one] in missing]
        place_by_load(placement, [(task, missing[task]) for task in left], self._known)

    def _place_apart(self, task: int, host: int, copies: int) -> int:
        """Place copies while clients with other tags are left; the number of copies that found none."""
        placement = self._placement
        blocked: dict[tuple[str, str], set[int]] = {}
        used = 1
        while True:
            self._block(blocked, host, used)
            free = [
                (placement.load[client], client)
                for client in self._known
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

    def _block(self, blocked: dict[tuple[str, str], set[int]], host: int, used: int) -> None:
        """Add what the new host forbids, when `used` clients host the task."""
        for key, value in self._known[host].items():
            if key not in self._keys:
                continue
            if len(self._values[key]) <= used:
                for known in self._values[key]:
                    blocked.pop((key, known), None)
            else:
                blocked[key, value] = self._holders[key, value]

    def may_move(self, source: int, destination: int) -> bool:
        """Whether balancing may move a standby: each tag of the source, configured or not, has the same value there."""
        there = self._known[destination]
        return all(there.get(key) == value for key, value in self._known[source].items())

    def may_move_task(self, source: int, destination: int, task: int) -> bool:
        """Whether rack optimisation may move this standby: the task's hosts show no fewer tag values afterwards."""
        others = {
            entry
            for client, tags in self._known.items()
            if client not in (source, destination) and self._placement.holds(client, task)
            for entry in tags.items()
        }
        return len(others | self._known[destination].items()) >= len(others | self._known[source].items())
