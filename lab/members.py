"""Simulated Connect workers: real group members that speak JoinGroup and SyncGroup, without Java and without tasks.

They exist to break rules that a real Connect cluster keeps. The broker writes their records into
`__consumer_offsets` as it does for any group; nothing is ever produced there.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from kafka.coordinator.base import BaseCoordinator
from kafka.errors import KafkaError
from kafka.net.compat import KafkaNetClient

from assignors.java_order import wire_entries_assigned
from lab.errors import LabError
from lab.simulated_leader import JAVA_VERSION, Leader
from schemas.connect_protocol import ConnectAssignment, TaskId, WorkerState, decode_assignment, encode_worker_state
from schemas.outcomes import Decoded

PROTOCOL = "sessioned"
STATE_VERSION = 2
TURN_S = 0.05


class SimulatedWorker(BaseCoordinator):  # type: ignore[misc]  # kafka-python carries no types
    """One member: reports what it holds, applies what it is given, rejoins after a revocation or a delay."""

    def __init__(self, bootstrap: str, group: str, url: str, config_offset: int, leader: Leader) -> None:
        self.url = url
        self.config_offset = config_offset
        self.leader = leader
        self.allocation: ConnectAssignment | None = None
        self.completed_generation = -1
        self._rejoin_at = float("inf")
        self._leave = threading.Event()
        client = KafkaNetClient(bootstrap_servers=bootstrap, client_id=f"simulated-{url.rpartition(':')[2]}")
        client._net.start()
        client._manager.bootstrap(30_000)
        super().__init__(
            client,
            group_id=group,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=500,
            max_poll_interval_ms=10_000,
            api_version=client._manager.broker_version,
        )
        self._thread = threading.Thread(target=self._run, name=f"simulated worker {url}", daemon=True)

    # -- the group protocol --------------------------------------------------------------------------------------

    def protocol_type(self) -> str:
        return "connect"

    def group_protocols(self) -> list[tuple[str, bytes]]:
        held = self.allocation
        state = WorkerState(version=STATE_VERSION, url=self.url, config_offset=self.config_offset, allocation=held)
        entries = wire_entries_assigned(held.connectors, held.tasks, JAVA_VERSION) if held else ()
        return [(PROTOCOL, encode_worker_state(state, entries))]

    def _perform_assignment(self, leader_id: str, protocol: str, members: Sequence[Any]) -> dict[str, bytes]:
        blobs = [(member.member_id, bytes(member.metadata)) for member in members]
        generation = int(self._generation.generation_id)
        return self.leader.assign(leader_id, protocol, generation, self.completed_generation, blobs)

    async def _on_join_complete_async(self, generation: int, member_id: str, protocol: str, blob: bytes) -> None:
        outcome = decode_assignment(bytes(blob))
        if not isinstance(outcome, Decoded):
            raise LabError(f"{self.url} was given an assignment that cannot be decoded")
        given = outcome.value
        self.allocation = merged(self.allocation, given)
        self.completed_generation = generation
        self._rejoin_at = time.monotonic() + given.delay_ms / 1000 if given.delay_ms else float("inf")
        if given.revoked_connectors or given.revoked_tasks:
            self.request_rejoin()

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._leave.is_set():
            if time.monotonic() >= self._rejoin_at:
                self._rejoin_at = float("inf")
                self.request_rejoin()
            # A refused join or a lost broker is retried until the member is told to leave.
            with suppress(KafkaError):
                if self.ensure_active_group(timeout_ms=1_000):
                    self.poll_heartbeat()
            self._leave.wait(TURN_S)

    def leave(self) -> None:
        """Leave the group properly and end."""
        self._leave.set()
        self._thread.join(15)
        with suppress(KafkaError):
            self.close(timeout_ms=3_000)
        with suppress(KafkaError):
            self._client.close()

    @property
    def leads(self) -> bool:
        """Whether this member leads the latest generation that it has completed."""
        return self.allocation is not None and self.allocation.leader == self._generation.member_id


def merged(held: ConnectAssignment | None, given: ConnectAssignment) -> ConnectAssignment:
    """What a worker holds afterwards: the header of the new assignment, jobs without the revoked, plus the assigned."""
    connectors: tuple[str, ...] = held.connectors if held else ()
    tasks: tuple[TaskId, ...] = held.tasks if held else ()
    connectors = tuple(name for name in connectors if name not in given.revoked_connectors)
    tasks = tuple(task for task in tasks if task not in given.revoked_tasks)
    return ConnectAssignment(
        version=given.version,
        error=given.error,
        leader=given.leader,
        leader_url=given.leader_url,
        config_offset=given.config_offset,
        delay_ms=given.delay_ms,
        connectors=(*connectors, *(name for name in given.connectors if name not in connectors)),
        tasks=(*tasks, *(task for task in given.tasks if task not in tasks)),
    )


class SimulatedGroup:
    """A Connect group of simulated workers."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        *,
        workers: int,
        connectors: Mapping[str, int],
        config_offset: int,
        max_delay_ms: int = 0,
        first_port: int = 18083,
    ) -> None:
        self.group = group
        self._jobs = sum(1 + tasks for tasks in connectors.values())
        # Each process remembers its own rounds, so each has a leader's memory of its own.
        self.workers = [
            SimulatedWorker(
                bootstrap,
                group,
                f"http://127.0.0.1:{first_port + number}/",
                config_offset,
                Leader(connectors, max_delay_ms),
            )
            for number in range(workers)
        ]

    def __enter__(self) -> Self:
        for worker in self.workers:
            worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.leave()

    def held(self) -> list[object]:
        """All that is held, repeats included."""
        allocations = [worker.allocation for worker in self.workers]
        return [job for one in allocations if one is not None for job in (*one.connectors, *one.tasks)]

    def calm(self) -> bool:
        """All members are in one generation, nothing is held twice, and nothing is missing."""
        held = self.held()
        same = len({worker.completed_generation for worker in self.workers}) == 1
        stable = all(worker.stable() and not worker.need_rejoin() for worker in self.workers)
        return same and stable and len(held) == self._jobs == len(set(held))

    def broken(self) -> bool:
        """Something is held twice."""
        held = self.held()
        return len(held) > len(set(held))

    def spoil(self) -> None:
        """Make the leader hand out a wrong assignment now."""
        for worker in self.workers:
            if worker.leads:
                worker.leader.spoil_next = True
                worker.request_rejoin()
                return
        raise LabError(f"the simulated group {self.group} has no leader yet")

    def rejoin(self) -> None:
        """Make the leader ask for another round, in which the algorithm repairs what it sees."""
        for worker in self.workers:
            if worker.leads:
                worker.request_rejoin()
