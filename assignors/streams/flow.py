"""Minimum-cost flow as Kafka's class `Graph` finds it; of several cheapest flows exactly the one Kafka ends with.

Theory. A flow is the cheapest of its size if its *residual graph* has no cycle of negative cost. In the residual graph
an edge with room left leads forward at its cost, an edge with flow on it leads backward at minus its cost. So cycles
are looked for and cancelled: as much flow as fits is sent around, until there is none. A cycle shows when distances
keep falling after as many rounds of relaxation as there are nodes (Bellman and Ford). Which cycle is found, and thereby
which of the cheapest flows, depends on the order of relaxation: nodes ascending, the edges of each by target, distances
in place. The rounds are therefore played as Kafka plays them, with two shortcuts that leave every result as it is:

* A node whose distance has not fallen since its edges were last relaxed can't lower another one, so it is skipped.
* Once the nodes that still fall do so periodically, all by the same amount per period, whole periods are skipped.

Example: one task runs on A (cost 11), B would cost 1. Residual: source - task full, task -> B costs 1, A -> task costs
-11, sink -> A and B -> sink are free as far as flow and room go. The cycle task -> B -> sink -> A -> task costs -10;
cancelling it moves the task to B.

Capacities and flows are numbers of tasks. Costs are Java's 32-bit numbers.
"""

from collections import deque

from .failures import LeaderFailed, illegal_state

_UNREACHED = (1 << 31) - 1
_LONGEST_PERIOD = 12


class FlowNetwork:
    """Edges between numbered nodes. Add all edges first, then solve, then read `flows`."""

    def __init__(self, source: int, sink: int) -> None:
        self._source_node = source
        self._sink_node = sink
        self._from: list[int] = []
        self._to: list[int] = []
        self._capacity: list[int] = []
        self._cost: list[int] = []
        self._flow: list[int] = []
        self._node: dict[int, int] = {}
        self._room: list[int] = []
        self._edges: list[list[int]] = []
        self._target: list[int] = []
        self._price: list[int] = []

    def add(self, start: int, end: int, capacity: int, cost: int, flow: int) -> None:
        """An edge; two nodes are connected in one direction only, and once."""
        self._from.append(start)
        self._to.append(end)
        self._capacity.append(capacity)
        self._cost.append(cost)
        self._flow.append(flow)

    def flows(self) -> dict[int, list[int]]:
        """Per node the nodes to which flow goes from it, ascending."""
        found: dict[int, list[int]] = {}
        for start, end, flow in zip(self._from, self._to, self._flow, strict=True):
            if flow > 0:
                found.setdefault(start, []).append(end)
        return {start: sorted(ends) for start, ends in found.items()}

    def maximize(self) -> int:
        """The largest flow from source to sink (Edmonds and Karp), regardless of cost; its size."""
        self._build()
        source, sink = self._node[self._source_node], self._node[self._sink_node]
        while path := self._shortest_path(source, sink):
            self._push(path)
        self._keep()
        return sum(flow for start, flow in zip(self._from, self._flow, strict=True) if start == self._source_node)

    def minimize_cost(self, *, from_each_node: bool) -> None:
        """The cheapest flow of the present size. `from_each_node` searches as Kafka 3.6 does, one start after another.

        Raises LeaderFailed where Kafka throws.
        """
        self._check_conserved()
        self._build()
        if from_each_node:
            found = True
            while found:
                found = False
                for start in range(len(self._node)):
                    if cycle := self._cycle_from(start):
                        self._push(cycle)
                        found = True
        else:
            while cycle := self._cycle():
                self._push(cycle)
        self._keep()

    # The residual graph: edge 2k is edge k forward, edge 2k + 1 the same edge backward.

    def _build(self) -> None:
        self._node = {name: number for number, name in enumerate(sorted({*self._from, *self._to}))}
        self._edges = [[] for _ in self._node]
        self._target, self._price, self._room = [], [], []
        for start, end, capacity, cost, flow in zip(
            self._from, self._to, self._capacity, self._cost, self._flow, strict=True
        ):
            forward = len(self._target)
            self._edges[self._node[start]].append(forward)
            self._edges[self._node[end]].append(forward + 1)
            self._target += (self._node[end], self._node[start])
            self._price += (cost, -cost)
            self._room += (capacity - flow, flow)
        for edges in self._edges:
            edges.sort(key=self._target.__getitem__)

    def _keep(self) -> None:
        """Take the flows over: what fits backward is what flows forward."""
        self._flow = self._room[1::2]

    def _push(self, path: list[int]) -> None:
        """Send as much as fits along these residual edges."""
        amount = min(self._room[edge] for edge in path)
        for edge in path:
            self._room[edge] -= amount
            self._room[edge ^ 1] += amount

    def _shortest_path(self, source: int, sink: int) -> list[int]:
        """Edges of the first path that a breadth-first search finds, or none."""
        came_by = {source: -1}
        queue = deque((source,))
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                target = self._target[edge]
                if self._room[edge] <= 0 or target in came_by:
                    continue
                came_by[target] = edge
                if target == sink:
                    return self._path_to(sink, came_by)
                queue.append(target)
        return []

    def _path_to(self, sink: int, came_by: dict[int, int]) -> list[int]:
        path, node = [], sink
        while (edge := came_by[node]) >= 0:
            path.append(edge)
            node = self._target[edge ^ 1]
        return path

    def _check_conserved(self) -> None:
        excess = dict.fromkeys((*self._from, *self._to), 0)
        for start, end, flow in zip(self._from, self._to, self._flow, strict=True):
            excess[start] -= flow
            excess[end] += flow
        if excess[self._source_node] + excess[self._sink_node] or any(
            more for node, more in excess.items() if node not in (self._source_node, self._sink_node)
        ):
            raise illegal_state("more flows into a node than out of it")

    def _cycle(self) -> list[int]:
        """Edges of a cycle of negative cost, or none; the search starts from all nodes at distance 0."""
        nodes = len(self._node)
        return _Search(self, [0] * nodes, last_round=nodes, record_last=True).cycle()

    def _cycle_from(self, start: int) -> list[int]:
        """The same as Kafka 3.6 searches: the start at 0, all others at a large number that counts as reached."""
        nodes = len(self._node)
        distance = [_UNREACHED] * nodes
        distance[start] = 0
        return _Search(self, distance, last_round=nodes - 1, record_last=False).cycle()

    def open_edges(self) -> list[list[tuple[int, int, int]]]:
        """Per node its residual edges with room: edge, target, cost."""
        room, target, price = self._room, self._target, self._price
        return [[(edge, target[edge], price[edge]) for edge in edges if room[edge]] for edges in self._edges]

    def start_of(self, edge: int) -> int:
        """The node that a residual edge leaves."""
        return self._target[edge ^ 1]


class _Search:
    """One search for a cycle of negative cost."""

    def __init__(self, network: FlowNetwork, distance: list[int], last_round: int, *, record_last: bool) -> None:
        self._network = network
        self._distance = distance
        self._last_round = last_round
        self._record_last = record_last
        self._came_by = [-1] * len(distance)
        self._fallen = [True] * len(distance)
        self._edges = network.open_edges()
        self._past: deque[list[int]] = deque(maxlen=_LONGEST_PERIOD + 1)

    def cycle(self) -> list[int]:
        """Edges of the cycle, or none."""
        number = 0
        while number <= self._last_round:
            hit = self._relax(stop=number == self._last_round)
            if hit is not None:
                return self._walk(hit)
            if not any(self._fallen):
                return []
            number += self._skip(self._last_round - number - 1) + 1
        return []

    def _relax(self, *, stop: bool) -> int | None:
        """One round; the first node whose distance falls, if the round stops there."""
        distance, fallen, came_by = self._distance, self._fallen, self._came_by
        for node, edges in enumerate(self._edges):
            if not fallen[node]:
                continue
            fallen[node] = False
            here = distance[node]
            for edge, target, cost in edges:
                if here + cost < distance[target]:
                    if stop:
                        if self._record_last:
                            came_by[target] = edge
                        return target
                    distance[target] = here + cost
                    came_by[target] = edge
                    fallen[target] = True
        return None

    def _skip(self, left: int) -> int:
        """Rounds that can be left out because they repeat earlier ones; the distances are brought there.

        `left` rounds may be skipped at most. A period is sure if in it some nodes fell by one common amount, the others
        stood still for one round more, and no edge with room leads from the falling nodes to the others.
        """
        now, past = self._distance, self._past
        for period in range(1, len(past)):
            before, earlier = past[-period], past[-period - 1]
            amounts = {old - new for old, new in zip(before, now, strict=True)} - {0}
            if len(amounts) != 1:
                continue
            falling = [old != new for old, new in zip(before, now, strict=True)]
            if any(
                first != old for first, old, falls in zip(earlier, before, falling, strict=True) if not falls
            ) or any(
                not falling[target] for node, edges in enumerate(self._edges) if falling[node] for _, target, _ in edges
            ):
                continue
            periods = left // period
            if periods <= 0:
                break
            amount = amounts.pop() * periods
            for node, falls in enumerate(falling):
                if falls:
                    now[node] -= amount
            past.clear()
            return periods * period
        past.append(now.copy())
        return 0

    def _walk(self, hit: int) -> list[int]:
        """From the hit back to a node seen before, which lies on the cycle; then once around."""
        seen: set[int] = set()
        node = hit
        while node not in seen:
            seen.add(node)
            node = self._before(node)
        cycle, at = [], node
        while True:
            cycle.append(self._came_by[at])
            at = self._before(at)
            if at == node:
                return cycle

    def _before(self, node: int) -> int:
        edge = self._came_by[node]
        if edge < 0:
            raise LeaderFailed("NullPointerException", "the way back from a node ends before it closes")
        return self._network.start_of(edge)
