"""What the group client and the coordinator say to each other."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto


class Error(Enum):
    """Why a request is refused."""

    MEMBER_ID_REQUIRED = auto()
    UNKNOWN_MEMBER_ID = auto()
    ILLEGAL_GENERATION = auto()
    REBALANCE_IN_PROGRESS = auto()


@dataclass(frozen=True, slots=True)
class Refused:
    """No. `member_id` is the new one where that was the reason."""

    error: Error
    member_id: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """The join phase is over; `members` (id, blob) only for the leader."""

    generation: int
    member_id: str
    leader: str
    protocol: str
    members: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Synced:
    """The member's assignment."""

    assignment: bytes


Answer = Callable[[object], None]


@dataclass(frozen=True, slots=True)
class Client:
    """What a member states about itself when it joins."""

    client_id: str
    host: str
    session_ms: int
    rebalance_ms: int
