"""Corrections of the ideal placement by lag: moves to caught-up clients, swaps with standbys, warm-ups.

A client is *caught up* on a task if it runs it or lags at most the acceptable lag. A task is moved if its ideal host is
not caught up and somebody else lags less (up to 3.1: and somebody is caught up at all). Tasks with the fewest caught-up
clients come first. An active task prefers a caught-up client that is its standby (they swap roles), then the least
loaded caught-up client, then whoever lags least. A host that gives a task away keeps a copy as warm-up while the
budget lasts; actives and standbys share one budget, and swaps cost nothing.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from rebalance_monitor.assignors.java_heap import JavaHeap
from .application import AssignmentConfigs
from .eras import Era
from .failures import illegal_state
from .placement import Placement
from .priority_set import PrioritySet
from .standing import Standing
from .tasks import HashOrders, TaskId


class Movements:
    """One run of both kinds of movements over a placement."""

    def __init__(
        self,
        placement: Placement,
        stateful: Sequence[int],
        configs: AssignmentConfigs,
        era: Era,
        hash_orders: HashOrders,
    ) -> None:
        self._placement = placement
        self._stateful = stateful
        self._acceptable = configs.acceptable_recovery_lag
        self._budget = configs.max_warmup_replicas
        self._era = era
        self._hash_orders = hash_orders
        self.warm_ups: list[set[int]] = [set() for _ in placement.clients]
        self._moved_here: list[set[int]] = [set() for _ in placement.clients]

    @cached_property
    def _standings(self) -> dict[int, Standing]:
        placement, known = self._placement, self._placement.standings
        ends = placement.clients[0].ends if placement.clients else {}
        standings: dict[int, Standing] = {}
        for task in self._stateful:
            end = ends[placement.tasks[task]]
            standing = known.get((task, end))
            if standing is None:
                standing = known[task, end] = self._standing(placement.tasks[task], end)
            standings[task] = standing
        return standings

    def _standing(self, task: TaskId, end: int) -> Standing:
        clients = self._placement.clients
        lags = {number: lag for number, one in enumerate(clients) if (lag := one.known_lags.get(task)) is not None}
        return Standing(lags, end, len(clients), self._acceptable)

    def move_actives(self) -> int:
        """Move active tasks; the number of movements."""
        placement, standings = self._placement, self._standings
        queue, by_load = self._scheduled(placement.active)
        needed = len(queue)
        for task, destination in self._in_turn(queue):
            standing = standings[task]
            caught_up = standing.caught_up
            source = by_load.poll({client for client in caught_up if task in placement.standby[client]})
            if source is None:
                source = by_load.poll(caught_up)
            if source is None:
                source = self._more_caught_up(standing, destination)
            if task in placement.standby[source]:
                placement.take_standby(source, task)
                placement.give_active(source, task)
                placement.take_active(destination, task)
                placement.give_standby(destination, task)
            else:
                placement.give_active(source, task)
                placement.take_active(destination, task)
                if self._spend():
                    placement.give_standby(destination, task)
                    self._moved_here[destination].add(task)
                    self.warm_ups[destination].add(task)
            by_load.offer_all((source, destination))
        return needed

    def move_standbys(self) -> int:
        """Move standbys; the number of movements that found a better host."""
        placement, standings = self._placement, self._standings
        queue, by_load = self._scheduled(placement.standby)
        moved = 0
        for task, destination in self._in_turn(queue):
            standing = standings[task]
            caught_up = standing.caught_up
            source = by_load.poll({client for client in caught_up if not placement.holds(client, task)})
            if source is None and self._era.most_caught_up:
                source = self._less_behind(standing, destination, task)
            if source is None:
                continue
            placement.give_standby(source, task)
            if self._spend():
                self.warm_ups[destination].add(task)
            else:
                placement.take_standby(destination, task)
                self.warm_ups[destination].discard(task)
            by_load.offer_all((source, destination))
            moved += 1
        return moved

    def _scheduled(self, role: Sequence[set[int]]) -> tuple[JavaHeap[tuple[int, int]], PrioritySet]:
        """The movements that are needed, and the clients by load."""
        placement, standings = self._placement, self._standings
        by_load = PrioritySet(placement.load, placement.process_ids, self._hash_orders)
        queue: JavaHeap[tuple[int, int]] = JavaHeap()
        size = len(placement.tasks)
        for client, tasks in enumerate(role):
            behind = [task for task in tasks - self._moved_here[client] if client not in standings[task].caught_up]
            for task in sorted(behind):
                standing = standings[task]
                if self._somebody_is_better(standing, client):
                    # The key orders by number of caught-up clients, then by task. Equal keys stay equal.
                    queue.add(len(standing.caught_up) * size + task, (task, client))
            by_load.offer(client)
        return queue, by_load

    def _somebody_is_better(self, standing: Standing, client: int) -> bool:
        if self._era.most_caught_up:
            return standing.least_lag < standing.lag(client)
        return bool(standing.caught_up)

    def _in_turn(self, queue: JavaHeap[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Movements by priority, or as the heap's array has them."""
        if not self._era.movements_polled:
            yield from (movement for _, movement in queue)
            return
        while (entry := queue.poll()) is not None:
            yield entry[1]

    def _spend(self) -> bool:
        """Whether one more warm-up is allowed. The budget goes below zero, as Kafka's does."""
        self._budget -= 1
        return self._budget >= 0

    @staticmethod
    def _more_caught_up(standing: Standing, destination: int) -> int:
        first = standing.by_lag()[0]
        if first == destination:
            raise illegal_state("a movement was scheduled, but nobody is further than its destination")
        return first

    def _less_behind(self, standing: Standing, destination: int, task: int) -> int | None:
        for client in standing.by_lag():
            if client == destination:
                break
            if not self._placement.holds(client, task):
                return client
        return None
