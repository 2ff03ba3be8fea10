"""The clusters of `make bench-assignors`: fixed names, and rounds up to the one that is timed."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.oracle.scenarios import Process
from lab.simulated_group.faults import LeaderFault, remembers, spoil
from rebalance_monitor.assignors.connect import incremental
from rebalance_monitor.assignors.connect.eras import NEWEST
from rebalance_monitor.assignors.connect.model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
)
from rebalance_monitor.assignors.connect.wire_entries import Entries, wire_entries_assigned
from rebalance_monitor.schemas.connect_protocol import (
    ConnectAssignment,
    WorkerState,
    decode_worker_state,
    encode_worker_state,
)
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.connect.member_bytes import encode_share

TASKS_PER_CONNECTOR = 10
MAX_DELAY_MS = 300_000
JAVA = 17


@dataclass(slots=True)
class Story:
    """A cluster of fixed names whose rounds are described as inputs of a rounds case. Addresses name its processes.

    `changed`: records of the config topic that change no number of tasks; `blobs`: what each member sent and was sent
    in the last round.
    """

    connectors: dict[str, int]
    members: dict[str, Process]
    memory: LeaderMemory
    rounds: list[dict[str, Any]]
    told: ConnectResult | None = None
    changed: int = 0
    generation: int = 0
    blobs: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)

    @property
    def config_offset(self) -> int:
        """Behind the records of each connector: its configuration, one for each task, and their commit."""
        return sum(count + 2 for count in self.connectors.values()) + self.changed

    def play(self, now_ms: int, fault: LeaderFault | None = None) -> bool:
        """One generation, applied by everybody. Returns whether the leader's answer has the fault: a round may offer no
        opportunity."""
        self.generation = generation = self.generation + 1
        leader = next(iter(self.members))
        described: dict[str, Any] = {
            "now_ms": now_ms,
            "generation": generation,
            "last_completed_generation": self.members[leader].last_completed,
            "protocol": "sessioned",
            "leader": leader,
            "leader_process": "leader",
            "config": {"offset": self.config_offset, "connectors": self.connectors},
            "members": [
                {"id": member_id, "subscription": b64encode(self.subscription(process)).decode()}
                for member_id, process in self.members.items()
            ],
        }
        self.rounds.append(described)
        round_ = round_of(described)
        result, self.memory = answer(self.memory, round_)
        wrong = None if fault is None else spoil(fault, result, round_.members, self.connectors)
        if wrong is not None:
            self.memory, result = remembers(self.memory, result, wrong), wrong
        self.told = result
        self.blobs = {
            one["id"]: (b64decode(one["subscription"]), encode_share(result, result.shares[one["id"]], JAVA))
            for one in described["members"]
        }
        for member_id, process in self.members.items():
            process.apply(result.shares[member_id], generation, eager=False)
        return wrong is not None

    def subscription(self, process: Process) -> bytes:
        """What this worker reports when it joins."""
        held = process.held
        allocation: ConnectAssignment | None = None
        entries: Entries = ()
        if held is not None:
            told = self.told
            allocation = ConnectAssignment(
                version=2,
                leader=told.leader if told else "",
                leader_url=told.leader_url if told else "",
                config_offset=told.config_offset if told else self.config_offset,
                delay_ms=told.delay_ms if told else 0,
            )
            entries = wire_entries_assigned(held.connectors, held.tasks, JAVA)
        state = WorkerState(
            version=2, url=f"http://{process.name}/", config_offset=self.config_offset, allocation=allocation
        )
        return encode_worker_state(state, entries)


def story(workers: int, tasks: int, event: str) -> list[dict[str, Any]]:
    """Rounds whose last one shows the event."""
    connectors = {f"orders-sink-{number}": TASKS_PER_CONNECTOR for number in range(tasks // TASKS_PER_CONNECTOR)}
    ids = [f"connect-10.0.{n // 50}.{n % 50}:8083-{n * 0x9E3779B97F4A7C15 % 2**64:016x}" for n in range(workers + 1)]
    told = Story(connectors, {one: Process(one) for one in ids[:workers]}, LeaderMemory(), [])
    told.play(0)
    if event == "all new":
        return told.rounds
    if event == "a worker joins":
        told.members[ids[workers]] = Process(ids[workers])
    elif event != "steady":
        del told.members[ids[workers - 1]]
    told.play(1_000)
    if event == "its delay over":
        told.play(1_000 + MAX_DELAY_MS)
    return told.rounds


def round_of(described: Mapping[str, Any]) -> ConnectRound:
    """The round as the assignor takes it, all blobs decoded."""
    return decoded_round(described, [(one["id"], b64decode(one["subscription"])) for one in described["members"]])


def decoded_round(described: Mapping[str, Any], blobs: list[tuple[str, bytes]]) -> ConnectRound:
    """The round of these members' subscription bytes, (member id, bytes)."""
    members = []
    for member_id, blob in blobs:
        read = decode_worker_state(blob)
        assert isinstance(read, Decoded), "this bench wrote the blob itself"
        held = read.value.allocation
        members.append(
            ConnectMember(
                id=member_id,
                url=read.value.url,
                config_offset=read.value.config_offset,
                held=Jobs(held.connectors, held.tasks) if held else Jobs(),
            )
        )
    return ConnectRound(
        now_ms=described["now_ms"],
        generation=described["generation"],
        last_completed_generation=described["last_completed_generation"],
        protocol=described["protocol"],
        leader=described["leader"],
        config=ConfigSnapshot(described["config"]["offset"], described["config"]["connectors"]),
        members=tuple(members),
    )


def answer(memory: LeaderMemory, round_: ConnectRound) -> tuple[ConnectResult, LeaderMemory]:
    """What a leader of the newest release makes of it, and remembers."""
    return incremental.assign(memory, round_, max_delay_ms=MAX_DELAY_MS, era=NEWEST)
