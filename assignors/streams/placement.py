"""Who holds which task while an assignor works.

Clients and tasks are numbers: their rank in Java's order, so comparing numbers compares process ids and task ids.
"""

from collections.abc import Iterable, Sequence
from copy import copy

from .clients import Client
from .failures import illegal_argument
from .standing import Standing
from .tasks import TaskId, process_key, sorted_tasks


class Placement:
    """Sets of tasks per client, with the load of each client kept up to date.

    `load[c]` is the number of tasks of client `c` in either role per thread of it. `process_ids`: of the clients.
    """

    __slots__ = (
        "active",
        "capacity",
        "clients",
        "count",
        "load",
        "process_ids",
        "rank",
        "standby",
        "standings",
        "tasks",
    )

    def __init__(self, clients: Iterable[Client], tasks: Iterable[TaskId]) -> None:
        self.clients: Sequence[Client] = sorted(clients, key=lambda client: process_key(client.process_id))
        self.process_ids = [client.process_id for client in self.clients]
        self.tasks = sorted_tasks(tasks)
        self.rank = {task: number for number, task in enumerate(self.tasks)}
        self.capacity = [client.capacity for client in self.clients]
        self.active: list[set[int]] = [set() for _ in self.clients]
        self.standby: list[set[int]] = [set() for _ in self.clients]
        self.count = [0] * len(self.clients)
        self.load = [0.0] * len(self.clients)
        self.standings: dict[tuple[int, int], Standing] = {}
        """By task and the end offset sum of it, which all that a client lags follows from; copies share them."""

    def copied(self) -> "Placement":
        """The same, to be changed apart. The clients are the same ones."""
        other = copy(self)
        other.active, other.standby = [set(one) for one in self.active], [set(one) for one in self.standby]
        other.count, other.load = list(self.count), list(self.load)
        return other

    def holds(self, client: int, task: int) -> bool:
        """Whether the client has the task in either role."""
        return task in self.active[client] or task in self.standby[client]

    def give_active(self, client: int, task: int) -> None:
        """Make the client the task's active host. Raises LeaderFailed if it holds the task already."""
        self._give(self.active, client, task)

    def give_standby(self, client: int, task: int) -> None:
        """Give the client a copy. Raises LeaderFailed if it holds the task already."""
        self._give(self.standby, client, task)

    def take_active(self, client: int, task: int) -> None:
        self._take(self.active, client, task)

    def take_standby(self, client: int, task: int) -> None:
        self._take(self.standby, client, task)

    def _give(self, role: list[set[int]], client: int, task: int) -> None:
        if self.holds(client, task):
            raise illegal_argument(f"task {self.tasks[task]} is already assigned to the client")
        role[client].add(task)
        self.counted(client, 1)

    def _take(self, role: list[set[int]], client: int, task: int) -> None:
        if task not in role[client]:
            raise illegal_argument(f"task {self.tasks[task]} is not assigned to the client")
        role[client].remove(task)
        self.counted(client, -1)

    def counted(self, client: int, more: int) -> None:
        """Bring the client's load up to date after it got `more` tasks."""
        self.count[client] += more
        self.load[client] = self.count[client] / self.capacity[client]

    def write_back(self) -> None:
        """Put the result into the clients, sorted."""
        for client, active, standby in zip(self.clients, self.active, self.standby, strict=True):
            client.active = [self.tasks[task] for task in sorted(active)]
            client.standby = [self.tasks[task] for task in sorted(standby)]
