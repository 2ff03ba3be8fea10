"""One round of a leader, answered again and again: as if changelogs ended elsewhere.

End offsets decide which clients are caught up, under the high-availability assignor, and in which order a thread keeps
what it reported. Members, tasks, the ideal placement and what is handed over do not depend on them: they are
computed once. Under the legacy sticky assignor all of the placement is.
"""

from collections.abc import Iterator, Mapping, Sequence

from . import built_in, high_availability
from .built_in import BuiltIn
from .clients import Client
from .leader import Hosts, LeaderRound, Prepared, hosts_of
from .racks import Racks
from .task_assignor import MemberAssignment
from .tasks import ProcessId, TaskId
from .threads import assign_to_threads


class OtherEnds:
    """Answers of one round, process by process. Raises LeaderFailed where the leader's thread would end."""

    def __init__(self, round_: LeaderRound, ready: Prepared) -> None:
        """`round_.assignor` is one of these two."""
        self._round, self._ready = round_, ready
        application, topology = ready.application, ready.topology
        self._racks = Racks(
            application.tasks, application.clients, application.racks, application.configs, application.era
        )
        self._given = application.configs, application.era, ready.orders
        self.moves = round_.assignor is BuiltIn.HIGH_AVAILABILITY
        if self.moves:
            self._ideal = high_availability.place_ideally(
                ready.clients, topology.ids, topology.stateful, self._racks, *self._given
            )
        else:
            self._follows_up = built_in.run(application, BuiltIn.LEGACY_STICKY, ready.clients, topology, ready.orders)

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
        runs: dict[TaskId, ProcessId] = {}
        copies: dict[TaskId, set[ProcessId]] = {task: set() for task in self._ready.topology.stateful}
        for client, active, standby in self._placed():
            runs.update((task, client.process_id) for task in active if task in copies)
            for task in standby:
                copies[task].add(client.process_id)
        return runs, {task: frozenset(processes) for task, processes in copies.items()}

    def _placed(self) -> Iterator[tuple[Client, Sequence[TaskId], Sequence[TaskId]]]:
        if not self.moves:
            yield from ((client, client.active, client.standby) for client in self._ready.clients)
            return
        ideal = self._ideal
        for client, active, standby in zip(ideal.clients, ideal.active, ideal.standby, strict=True):
            yield client, [ideal.tasks[task] for task in active], [ideal.tasks[task] for task in standby]

    def place(self, ends: Mapping[TaskId, int]) -> None:
        """Give each process its tasks, if the changelogs of the stateful tasks end there."""
        configs = self._ready.application.configs
        for client in self._ready.clients:
            client.set_ends(ends)
        moved = self._corrected() if self.moves else self._follows_up
        for client in self._ready.clients:
            probes = moved and client.process_id == self._round.leader_process_id
            deadline_ms = self._round.now_ms + configs.probing_rebalance_interval_ms
            client.followup_deadline_ms = deadline_ms if probes else None

    def _corrected(self) -> bool:
        stateful = self._ready.topology.stateful
        return high_availability.correct(self._ideal.copied(), stateful, self._racks, *self._given)

    def hosts(self) -> tuple[Hosts, Hosts]:
        """The host maps after `place`: of tasks, and of copies."""
        return hosts_of(self._ready)

    def assignments_of(self, client: Client, lags: Mapping[TaskId, int]) -> Mapping[str, MemberAssignment]:
        """What each thread of a process is told after `place`, if it lags so much with these tasks."""
        known = client.known_lags
        client.known_lags = {**known, **lags}
        try:
            threads = assign_to_threads(client, self._ready.application.era, self._ready.orders)
            return self._ready.handover.assignments(client, threads)[0]
        finally:
            client.known_lags = known
