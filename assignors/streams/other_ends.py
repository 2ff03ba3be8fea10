"""One round under the high-availability assignor, answered again and again: as if changelogs ended elsewhere.

End offsets decide which clients are caught up, and in which order a thread keeps what it reported. Members, tasks, the
ideal placement and what is handed over do not depend on them: they are computed once.
"""

from collections.abc import Mapping

from rebalance_monitor.assignors.streams import high_availability
from rebalance_monitor.assignors.streams.clients import Client
from rebalance_monitor.assignors.streams.leader import Hosts, LeaderRound, Prepared, hosts_of
from rebalance_monitor.assignors.streams.racks import Racks
from rebalance_monitor.assignors.streams.task_assignor import MemberAssignment
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.assignors.streams.threads import assign_to_threads


class OtherEnds:
    """Answers of one round, process by process. Raises LeaderFailed where the leader's thread would end."""

    def __init__(self, round_: LeaderRound, ready: Prepared) -> None:
        self._round, self._ready = round_, ready
        application = ready.application
        self._racks = Racks(
            application.tasks, application.clients, application.racks, application.configs, application.era
        )
        self._given = application.configs, application.era, ready.orders
        self._ideal = high_availability.place_ideally(
            ready.clients, ready.topology.ids, ready.topology.stateful, self._racks, *self._given
        )

    @property
    def order_counts(self) -> bool:
        """Whether movements that find nobody to move to may change what comes of the others: a queue of more than
        three processes may be out of order, and movements that are alike stand in the order of the queue's array."""
        configs, era, _ = self._given
        return len(self._ready.clients) > 3 or configs.num_standby_replicas > 1 or not era.movements_polled

    @property
    def clients(self) -> Mapping[ProcessId, Client]:
        """The processes, with what `place` gave them."""
        return {client.process_id: client for client in self._ready.clients}

    def ideal(self) -> tuple[dict[TaskId, ProcessId], dict[TaskId, frozenset[ProcessId]]]:
        """Who runs each stateful task, and who has copies of it, once nothing lags."""
        ideal = self._ideal
        runs: dict[TaskId, ProcessId] = {}
        copies: dict[TaskId, set[ProcessId]] = {task: set() for task in self._ready.topology.stateful}
        for client, active, standby in zip(ideal.clients, ideal.active, ideal.standby, strict=True):
            runs.update(dict.fromkeys((ideal.tasks[task] for task in active), client.process_id))
            for task in standby:
                copies[ideal.tasks[task]].add(client.process_id)
        return runs, {task: frozenset(processes) for task, processes in copies.items()}

    def place(self, ends: Mapping[TaskId, int]) -> None:
        """Give each process its tasks, if the changelogs of the stateful tasks end there."""
        configs = self._ready.application.configs
        for client in self._ready.clients:
            client.set_ends(ends)
        moved = high_availability.correct(
            self._ideal.copied(), self._ready.topology.stateful, self._racks, *self._given
        )
        for client in self._ready.clients:
            probes = moved and client.process_id == self._round.leader_process_id
            deadline_ms = self._round.now_ms + configs.probing_rebalance_interval_ms
            client.followup_deadline_ms = deadline_ms if probes else None

    def hosts(self) -> tuple[Hosts, Hosts]:
        """The host maps after `place`: of tasks, and of copies."""
        return hosts_of(self._ready)

    def told(self, client: Client, lags: Mapping[TaskId, int]) -> Mapping[str, MemberAssignment]:
        """What each thread of a process is told after `place`, if it lags so much with these tasks."""
        known = client.known_lags
        client.known_lags = {**known, **lags}
        try:
            threads = assign_to_threads(client, self._ready.application.era, self._ready.orders)
            return self._ready.handover.assignments(client, threads)[0]
        finally:
            client.known_lags = known
