"""How a client's tasks are spread over its threads.

Stateful actives, then standbys, then stateless actives. Each thread keeps what it reported state of, least lag first,
up to the floor of tasks per thread; the smallest other tasks fill up the threads that are below it; what remains goes
one each to the threads at the floor, previous owners first, then *in the order of the queue's array*, which depends
on the hash order of the tasks and on every removal from the queue.

Example: one client with threads c0..c3, stateful actives 0_7, 1_6, 1_30, nothing reported. The floor is 0. The hash
order arranged as a heap is [0_7, 1_30, 1_6], so c0 gets 0_7, c1 gets 1_30 and c2 gets 1_6.

Up to 3.1 actives and standbys were spread separately, and stateless tasks dealt round-robin.
"""

from collections.abc import Mapping, Sequence

from rebalance_monitor.assignors.java_heap import JavaHeap
from .application import ThreadShare
from .clients import Client
from .eras import Era
from .failures import LeaderFailed
from .tasks import HashOrders, TaskId, sorted_tasks


def assign_to_threads(client: Client, era: Era, hash_orders: HashOrders) -> dict[str, ThreadShare]:
    """The share of each thread, threads sorted by id. Raises LeaderFailed where Kafka's class throws."""
    spread = _Spread(client, era)
    stateful = hash_orders.tasks(task for task in client.active if task in client.ends)
    stateless = [task for task in client.active if task not in client.ends]
    if era.threads_share_load:
        actives = spread.stateful(stateful)
        standbys = spread.stateful(client.standby)
        rest = spread.stateless(hash_orders.tasks(stateless))
    else:
        actives, rest = spread.apart(stateful, sorted_tasks(stateless))
        standbys, _ = spread.apart(client.standby, ())
    return {
        consumer: ThreadShare((*actives[consumer], *rest[consumer]), tuple(standbys[consumer]))
        for consumer in client.consumers
    }


class _Spread:
    """The threads of one client, with the number of tasks each has so far."""

    def __init__(self, client: Client, era: Era) -> None:
        self._client = client
        self._consumers = client.consumers
        self._unknown_fails = era.unknown_tasks_fail
        self._load = dict.fromkeys(self._consumers, 0)

    def stateful(self, tasks: Sequence[TaskId]) -> Mapping[str, list[TaskId]]:
        """Spread tasks that stay with their threads; `tasks` in the order in which Kafka's collection walks them."""
        return self._shared(tasks, sticky=True)

    def stateless(self, tasks: Sequence[TaskId]) -> Mapping[str, list[TaskId]]:
        """Spread tasks without history."""
        return self._shared(tasks, sticky=False)

    def _shared(self, tasks: Sequence[TaskId], *, sticky: bool) -> Mapping[str, list[TaskId]]:
        load = self._load
        floor = (len(tasks) + sum(load.values())) // len(self._consumers)
        deal = _Deal(tasks, self._consumers, {consumer: floor - count for consumer, count in load.items()})
        if tasks:
            deal.keep(self._client, unknown_fails=self._unknown_fails, sticky=sticky)
            deal.fill_up()
            deal.hand_out([one for one in self._consumers if len(deal.shares[one]) + load[one] == floor])
        for consumer, share in deal.shares.items():
            load[consumer] += len(share)
        return deal.shares

    def apart(
        self, stateful: Sequence[TaskId], stateless: Sequence[TaskId]
    ) -> tuple[Mapping[str, list[TaskId]], Mapping[str, list[TaskId]]]:
        """One of the two runs up to 3.1: no load is carried over, stateless tasks fill the gaps."""
        consumers = self._consumers
        floor = len(stateful) // len(consumers)
        deal = _Deal(stateful, consumers, dict.fromkeys(consumers, floor))
        rest: dict[str, list[TaskId]] = {consumer: [] for consumer in consumers}
        turn = iter(stateless)
        if stateful:
            deal.keep(self._client, unknown_fails=self._unknown_fails, sticky=True)
            deal.fill_up()
            if deal.left:
                for consumer in deal.hand_out(consumers):
                    task = next(turn, None)
                    if task is None:
                        break
                    rest[consumer].append(task)
        for at, task in enumerate(turn):
            rest[consumers[at % len(consumers)]].append(task)
        return deal.shares, rest


class _Deal:
    """One distribution of tasks: `left` counts those that have no thread yet, `room` is what each thread gets first."""

    def __init__(self, tasks: Sequence[TaskId], consumers: Sequence[str], room: Mapping[str, int]) -> None:
        self._tasks = sorted_tasks(tasks)
        self._rank = {task: number for number, task in enumerate(self._tasks)}
        self._heap = JavaHeap((self._rank[task], task) for task in tasks)
        self._waiting = set(self._tasks)
        self._consumers = consumers
        self._room = room
        self._to_fill: list[str] = []
        self._skipped: dict[TaskId, str] = {}
        self.shares: dict[str, list[TaskId]] = {consumer: [] for consumer in consumers}

    @property
    def left(self) -> int:
        return len(self._heap)

    def keep(self, client: Client, *, unknown_fails: bool, sticky: bool) -> None:
        """Each thread keeps what it reported, as far as it has room."""
        for consumer in self._consumers:
            share, room = self.shares[consumer], self._room[consumer]
            if sticky:
                for task in client.previous_by_lag(consumer, unknown_fails=unknown_fails):
                    if task not in self._waiting:
                        continue
                    if len(share) < room:
                        self._take(task, consumer)
                    else:
                        self._skipped[task] = consumer
            if len(share) < room:
                self._to_fill.append(consumer)

    def fill_up(self) -> None:
        """The smallest tasks go round-robin to threads that still have room."""
        to_fill = self._to_fill
        at = 0
        while at < len(to_fill):
            entry = self._heap.poll()
            if entry is None:
                raise LeaderFailed("TaskAssignmentException", "tasks ran out before every thread had its share")
            consumer, task = to_fill[at], entry[1]
            self._waiting.remove(task)
            self.shares[consumer].append(task)
            if len(self.shares[consumer]) < self._room[consumer]:
                to_fill.append(consumer)
            at += 1
        to_fill.clear()

    def hand_out(self, consumers: Sequence[str]) -> list[str]:
        """One more task for each of these threads while tasks last; the threads that got none."""
        to_fill = list(consumers)
        if not self.left:
            return to_fill
        for task in sorted_tasks(self._skipped):
            consumer = self._skipped[task]
            if consumer in to_fill and task in self._waiting:
                self._take(task, consumer)
                to_fill.remove(consumer)
        for at, (_, task) in enumerate(self._heap):
            self.shares[to_fill[at]].append(task)
        return to_fill[self.left :]

    def _take(self, task: TaskId, consumer: str) -> None:
        self.shares[consumer].append(task)
        self._waiting.remove(task)
        self._heap.remove(self._rank[task])
