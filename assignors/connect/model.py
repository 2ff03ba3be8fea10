"""Inputs and results of the Connect assignors: one round of one leader process."""

from collections.abc import Mapping
from dataclasses import dataclass, field

TaskId = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Jobs:
    """Connector instances and tasks, in an order that matters."""

    connectors: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectMember:
    """One member as the leader sees it; `held` in wire order, empty where there was no allocation."""

    id: str
    url: str
    config_offset: int
    held: Jobs = field(default_factory=Jobs)
    static: Jobs = field(default_factory=Jobs)


@dataclass(frozen=True, slots=True)
class ConfigSnapshot:
    """What is configured at a config offset: connector name -> number of tasks (numbered 0..n-1)."""

    offset: int
    connectors: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRound:
    """Everything one execution of the assignor reads besides the leader's memory. Members in JoinGroup order."""

    now_ms: int
    generation: int
    last_completed_generation: int
    protocol: str
    leader: str
    config: ConfigSnapshot
    fresh_config: ConfigSnapshot | None = None
    members: tuple[ConnectMember, ...]


@dataclass(frozen=True, slots=True)
class MemberShare:
    """What one member is given and what it must stop; lists in the order the assignor builds them."""

    assigned: Jobs = field(default_factory=Jobs)
    revoked: Jobs = field(default_factory=Jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectResult:
    """Answer of one round: the same header for every member, and a share per member id.

    `rests_on` names the switches of the era, `max_delay_ms`, `java_version`, and the fields `now_ms` and
    `last_completed_generation` of the round, if with another value this answer or the memory after it might be
    another one. Of what is not named any value gives the same, so the round need not be run again for an era, delay
    or clock that differs only there.
    """

    version: int
    error: int
    leader: str
    leader_url: str
    config_offset: int
    delay_ms: int
    shares: Mapping[str, MemberShare]
    order_unsure: bool = False
    rests_on: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderMemory:
    """Leader-side state of the incremental assignor (connect.md 3.1): one per worker process, never written to a topic.

    Eras before 3.4 use `can_revoke` where later ones use `revoked_in_previous` and `successive_revocations`; each keeps
    in the others' fields what they would hold if nothing was revoked, so that equal minds are equal values.
    """

    previous: Jobs = field(default_factory=Jobs)
    previous_revoked: Jobs = field(default_factory=Jobs)
    revoked_in_previous: bool = False
    can_revoke: bool = True
    successive_revocations: int = 0
    scheduled_ms: int = 0
    delay_ms: int = 0
    candidates: tuple[str, ...] = ()
    previous_generation: int = -1
    previous_members: frozenset[str] = frozenset()
