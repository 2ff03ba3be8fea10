"""Placements of tasks as flows: the networks of the strategies `min_traffic` and `balance_subtopology`.

    min_traffic             source -> task -> client -> sink
    balance_subtopology     source -> task -> (subtopology, client) -> client -> sink

A task sends its one unit to one client, at the cost of the task there; a client passes on as many units as it has tasks
now, so every client keeps its number of tasks. The second strategy also limits what one client gets of one subtopology
to its share, rounded up. It starts from a largest flow that ignores costs, the first from the present placement.
"""

from collections.abc import Callable, Collection, Sequence
from math import ceil

from .failures import illegal_argument, illegal_state
from .flow import FlowNetwork

SOURCE = -1

Cost = Callable[[int, int, bool], int]
"""Cost of a task (first) on a client (second), which has it now or not (third)."""


class Network:
    """A network with the meaning of its nodes."""

    def __init__(
        self, tasks: Sequence[int], clients: Sequence[int], role: Sequence[Collection[int]], sink: int
    ) -> None:
        """`tasks` in the order of their nodes; `role` tells which client has which task now."""
        self.tasks = tasks
        self.clients = clients
        self.flow = FlowNetwork(SOURCE, sink)
        self.owner: dict[int, int] = {}
        self.client_of_node: dict[int, int] = {}
        self.count = self._counted(role)

    def _counted(self, role: Sequence[Collection[int]]) -> dict[int, int]:
        """How many of the tasks each client has; clients without any are left out."""
        counts = {client: sum(task in tasks for task in self.tasks) for client, tasks in enumerate(role)}
        return {client: count for client, count in counts.items() if count}

    def own(self, task: int, client: int, *, one_owner: bool) -> None:
        """Note who has the task now. Of several copies the last client counts; several actives are an error."""
        if one_owner and task in self.owner:
            raise illegal_argument(f"task number {task} is assigned to several clients")
        self.owner[task] = client

    def solve(
        self,
        role: Sequence[Collection[int]],
        take: Callable[[int, int], None],
        give: Callable[[int, int], None],
        *,
        from_each_node: bool,
    ) -> bool:
        """Find the cheapest flow and move the tasks accordingly; whether any moved."""
        self.flow.minimize_cost(from_each_node=from_each_node)
        moved, assigned = False, 0
        flows = self.flow.flows()
        for node, task in enumerate(self.tasks):
            for end in flows.get(node, ()):
                assigned += 1
                client = self.client_of_node[end]
                if client == self.owner[task]:
                    break
                take(self.owner[task], task)
                give(client, task)
                moved = True
        if assigned != len(self.tasks) or self._counted(role) != self.count:
            raise illegal_state(
                "the cheapest flow does not place every task, or changes the number of a client's tasks"
            )
        return moved


def min_traffic(
    tasks: Sequence[int], clients: Sequence[int], role: Sequence[Collection[int]], cost: Cost, *, one_owner: bool
) -> Network:
    """The network of `min_traffic`, its flow being the present placement. `tasks` and `clients` in Kafka's order."""
    sink = len(tasks) + len(clients)
    network = Network(tasks, clients, role, sink)
    for node, task in enumerate(tasks):
        for at, client in enumerate(clients):
            here = task in role[client]
            price = cost(task, client, here)
            if here:
                network.own(task, client, one_owner=one_owner)
            network.flow.add(node, len(tasks) + at, 1, price, int(here))
        if task not in network.owner:
            raise illegal_argument(f"task number {task} is assigned to no client")
        network.flow.add(SOURCE, node, 1, 0, 1)
    for at, client in enumerate(clients):
        network.client_of_node[len(tasks) + at] = client
        count = network.count.get(client, 0)
        network.flow.add(len(tasks) + at, sink, count, 0, count)
    return network


def balance_subtopology(
    tasks: Sequence[int],
    clients: Sequence[int],
    groups: Sequence[Sequence[int]],
    role: Sequence[Collection[int]],
    cost: Cost,
    *,
    one_owner: bool,
) -> Network:
    """The network of `balance_subtopology`, already with a largest flow. `groups` are all subtopologies in Kafka's
    order; those of their tasks that are not in `tasks` are left out."""
    wanted = frozenset(tasks)
    valid = [sorted(wanted.intersection(group)) for group in groups]
    ordered = [task for group in valid for task in group]
    if len(ordered) != len(tasks):
        raise illegal_state("a task belongs to no subtopology")
    first_stage, sink = len(tasks), len(tasks) + len(clients) * (len(groups) + 1)
    second_stage = sink - len(clients)
    network = Network(ordered, clients, role, sink)
    first_task = 0
    for number, group in enumerate(valid):
        for at, client in enumerate(clients):
            stage = first_stage + len(clients) * number + at
            network.client_of_node[stage] = client
            for node, task in enumerate(group, first_task):
                here = task in role[client]
                network.flow.add(node, stage, 1, cost(task, client, here), 0)
                if here:
                    network.own(task, client, one_owner=one_owner)
            if group:
                count = network.count.get(client)
                # Java evaluates the doubles in this order, and rounds up what exceeds a whole number by a trifle.
                share = 0 if count is None else ceil(count * 1.0 / len(tasks) * len(group))
                network.flow.add(stage, second_stage + at, share, 0, 0)
        first_task += len(group)
    for node in range(len(ordered)):
        network.flow.add(SOURCE, node, 1, 0, 0)
    for at, client in enumerate(clients):
        network.flow.add(second_stage + at, sink, network.count.get(client, 0), 0, 0)
    if network.flow.maximize() != len(tasks):
        raise illegal_state("the subtopologies' shares leave a task without a client")
    return network
