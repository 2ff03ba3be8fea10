"""The solver of rack awareness: the cheapest flow, and with its shortcuts exactly the one found without them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.streams import flow
from rebalance_monitor.assignors.streams.flow import FlowNetwork
from tests.profile import size

COSTS = st.sampled_from([0, 1, 2, 3, 10, 11, 21, 30])


@st.composite
def placements(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """The client of each task, and the cost of each task on each client."""
    clients = draw(st.integers(1, 5))
    tasks = draw(st.integers(1, 9))
    owners = draw(st.lists(st.integers(0, clients - 1), min_size=tasks, max_size=tasks))
    costs = draw(st.lists(st.lists(COSTS, min_size=clients, max_size=clients), min_size=tasks, max_size=tasks))
    return owners, costs


def network(owners: list[int], costs: list[list[int]]) -> FlowNetwork:
    tasks, clients = len(owners), len(costs[0])
    made = FlowNetwork(-1, tasks + clients)
    for task, row in enumerate(costs):
        for client, cost in enumerate(row):
            made.add(task, tasks + client, 1, cost, int(owners[task] == client))
        made.add(-1, task, 1, 0, 1)
    for client in range(clients):
        made.add(tasks + client, tasks + clients, owners.count(client), 0, owners.count(client))
    return made


def hosts(solved: FlowNetwork, tasks: int) -> list[int]:
    flows = solved.flows()
    return [flows[task][0] - tasks for task in range(tasks)]


def cheapest(owners: list[int], costs: list[list[int]]) -> int:
    """By trying every placement with these numbers of tasks, task by task."""
    best = {tuple(owners.count(client) for client in range(len(costs[0]))): 0}
    for row in costs:
        step: dict[tuple[int, ...], int] = {}
        for left, spent in best.items():
            for client, cost in enumerate(row):
                if left[client]:
                    rest = (*left[:client], left[client] - 1, *left[client + 1 :])
                    step[rest] = min(step.get(rest, spent + cost), spent + cost)
        best = step
    return min(best.values())


class Plain(flow._Search):
    """Every round, nothing skipped."""

    def _skip(self, left: int) -> int:
        self._fallen = [True] * len(self._fallen)
        return 0

    def cycle(self) -> list[int]:
        for number in range(self._last_round + 1):
            before = list(self._distance)
            hit = self._relax(stop=number == self._last_round)
            if hit is not None:
                return self._walk(hit)
            if self._distance == before:
                return []
            self._skip(0)
        return []


@pytest.mark.parametrize("from_each_node", [False, True])
@given(given_=placements())
def test_the_cost_is_the_least_and_no_client_gains_or_loses(
    from_each_node: bool, given_: tuple[list[int], list[list[int]]]
) -> None:
    owners, costs = given_
    solved = network(owners, costs)
    solved.minimize_cost(from_each_node=from_each_node)
    found = hosts(solved, len(owners))
    assert sorted(found) == sorted(owners)
    assert sum(costs[task][client] for task, client in enumerate(found)) == cheapest(owners, costs)


@pytest.mark.parametrize("from_each_node", [False, True])
@settings(max_examples=size(60, 2_000))
@given(given_=placements())
def test_the_shortcuts_change_nothing(from_each_node: bool, given_: tuple[list[int], list[list[int]]]) -> None:
    solved, plain = network(*given_), network(*given_)
    solved.minimize_cost(from_each_node=from_each_node)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "_Search", Plain)
        plain.minimize_cost(from_each_node=from_each_node)
    assert hosts(solved, len(given_[0])) == hosts(plain, len(given_[0]))


def test_periods_are_skipped() -> None:
    """60 tasks that should all change places: most rounds of a search repeat earlier ones."""
    rounds = 0

    class Counting(flow._Search):
        def _relax(self, *, stop: bool) -> int | None:
            nonlocal rounds
            rounds += 1
            return super()._relax(stop=stop)

    owners = [task % 3 for task in range(60)]
    costs = [[1 if client == (owner + 1) % 3 else 11 for client in range(3)] for owner in owners]
    solved = network(owners, costs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "_Search", Counting)
        solved.minimize_cost(from_each_node=False)
    assert hosts(solved, 60) == [(owner + 1) % 3 for owner in owners]
    # One search per cycle, each of as many rounds as there are nodes, if nothing was skipped.
    assert rounds < 20 * 64 / 3


def largest(edges: list[tuple[int, int, int]], sink: int) -> Any:
    made = FlowNetwork(-1, sink)
    for start, end, capacity in edges:
        made.add(start, end, capacity, 0, 0)
    return made.maximize()


def test_the_largest_flow_takes_back_what_is_in_the_way() -> None:
    # The first path found goes -1, 0, 3, 4; only by sending it over 2 instead do both units fit.
    assert largest([(-1, 0, 1), (-1, 1, 1), (0, 2, 1), (0, 3, 1), (1, 3, 1), (2, 4, 1), (3, 4, 1)], 4) == 2
