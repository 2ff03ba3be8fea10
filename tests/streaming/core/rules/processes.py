"""Worker processes of a told group: what each holds, remembers, reports and is sent."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rebalance_monitor.assignors.connect.eras import Era
from rebalance_monitor.assignors.connect.model import ConnectResult, Jobs, LeaderMemory
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas.connect_protocol import (
    ConnectAssignment,
    WorkerState,
    encode_assignment,
    encode_worker_state,
)
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, job_name

JAVA = 17
STATE_VERSIONS = {"default": 0, "compatible": 1, "sessioned": 2, "static": 3}

Given = dict[str, ConnectAssignment | bytes]
"""The leader's answer: worker name -> assignment, or the bytes to send instead of one."""


def job(name: str) -> ConnectorOrTask:
    """`c1` -> the connector, `c1-0` -> its task."""
    connector, dash, number = name.rpartition("-")
    return (connector, int(number)) if dash and number.isdecimal() else name


def jobs(names: Iterable[str]) -> Jobs:
    found = [job(name) for name in names]
    return Jobs(
        tuple(one for one in found if isinstance(one, str)), tuple(one for one in found if not isinstance(one, str))
    )


@dataclass(slots=True)
class Worker:
    """One worker process. `held` is its own list, `header` the last assignment it applied (None: none yet)."""

    name: str
    member_id: str
    static: Jobs = field(default_factory=Jobs)
    held: Jobs = field(default_factory=Jobs)
    header: ConnectAssignment | None = None
    last_completed: int = -1
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    reads_until: int | None = None
    """The config offset where it is stuck; None if it reads everything at once."""
    speaks: str | None = None
    """The protocol whose layout it joins with, if not the group's."""
    advertises: str | None = None
    """Its URL, if not its own address."""

    @property
    def url(self) -> str:
        return f"http://{self.name}:8083/" if self.advertises is None else self.advertises

    @property
    def id(self) -> str:
        """As the status topic and the incidents call it."""
        return f"{self.name}:8083"

    def holds(self) -> set[str]:
        return {*self.held.connectors, *map(job_name, self.held.tasks)}

    def apply(self, given: ConnectAssignment, generation: int, *, eager: bool) -> None:
        if eager:
            self.held = Jobs(given.connectors, given.tasks)
        else:
            gone: set[ConnectorOrTask] = {*given.revoked_connectors, *given.revoked_tasks}
            self.held = Jobs(
                given.connectors + tuple(one for one in self.held.connectors if one not in gone),
                given.tasks + tuple(one for one in self.held.tasks if one not in gone),
            )
        self.header = replace(
            given, connectors=(), tasks=(), revoked_connectors=(), revoked_tasks=(), version=given.version
        )
        self.last_completed = generation

    def allocation(self) -> Jobs:
        """What it holds as the leader reads it: connectors in hash order, tasks grouped by connector."""
        if self.header is None:
            return Jobs()
        entries = wire_entries_assigned(self.held.connectors, self.held.tasks, JAVA)
        return Jobs(
            tuple(name for name, numbers in entries if -1 in numbers),
            tuple((name, number) for name, numbers in entries for number in numbers if number != -1),
        )

    def subscription(self, protocol: str, config_offset: int, era: Era) -> bytes:
        """The bytes it joins with."""
        protocol = self.speaks or protocol
        version = STATE_VERSIONS.get(protocol, 2)
        allocation = None
        if self.header is not None and version:
            allocation = replace(self.header, connectors=self.held.connectors, tasks=self.held.tasks)
        state = WorkerState(
            version=version,
            url=self.url,
            config_offset=config_offset,
            allocation=allocation,
            static_connectors=self.static.connectors,
            static_tasks=self.static.tasks,
        )
        entries = wire_entries_assigned(self.held.connectors, self.held.tasks, JAVA)
        inner = era.sessioned_header if protocol == "sessioned" else None
        return encode_worker_state(state, entries, allocation_version=inner)


def assignment_of(result: ConnectResult, member_id: str) -> ConnectAssignment:
    share = result.shares[member_id]
    return ConnectAssignment(
        version=result.version,
        error=result.error,
        leader=result.leader,
        leader_url=result.leader_url,
        config_offset=result.config_offset,
        connectors=share.assigned.connectors,
        tasks=share.assigned.tasks,
        revoked_connectors=share.revoked.connectors,
        revoked_tasks=share.revoked.tasks,
        delay_ms=result.delay_ms,
    )


def encoded(given: ConnectAssignment | bytes) -> bytes:
    if isinstance(given, bytes):
        return given
    return encode_assignment(
        given,
        wire_entries_assigned(given.connectors, given.tasks, JAVA),
        wire_entries_revoked(given.revoked_connectors, given.revoked_tasks),
    )
