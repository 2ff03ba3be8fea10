"""The members of a group as the coordinator keeps them: in a `HashMap`, whose order everybody sees."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.simulated.messages import Answer, Client
from rebalance_monitor.assignors.java_order import java_hash


@dataclass(slots=True)
class Seat:
    id: str
    client: Client
    protocols: Sequence[tuple[str, bytes]]
    joining: Answer | None = None
    syncing: Answer | None = None
    assignment: bytes = b""
    deadline_ms: float = 0.0


@dataclass(slots=True)
class Table:
    """A `HashMap` of members: its capacity only grows, a bucket keeps the order of insertion."""

    members: dict[str, Seat] = field(default_factory=dict)
    capacity: int = 16

    def put(self, member: Seat) -> None:
        self.members[member.id] = member
        while len(self.members) > self.capacity * 3 // 4:
            self.capacity *= 2

    def ordered(self) -> list[Seat]:
        def bucket(member: Seat) -> int:
            h = java_hash(member.id)
            return (h ^ h >> 16) & self.capacity - 1

        return sorted(self.members.values(), key=bucket)
