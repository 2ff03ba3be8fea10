"""What the coordinator hands to the `sticky` assignor of a Streams group (KIP-1071), and what it gets back.

A task is (subtopology id, partition); ids are strings and compare as such ("10" before "2"). A subtopology has as many
tasks as the largest of its source topics has partitions, and is stateful if it has a changelog topic.
"""

from dataclasses import dataclass
from typing import TypeAlias

from .model import AssignorFailed

Task: TypeAlias = tuple[str, int]
Tasks: TypeAlias = frozenset[Task]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology:
    """One subtopology. `partitions` is its number of tasks."""

    id: str
    partitions: int
    stateful: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMember:
    """One member: its process, and the active and standby tasks of its latest target (type 21)."""

    id: str
    process_id: str
    active: tuple[Task, ...] = ()
    standby: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroup:
    """The input of one assignment; members in the order of the coordinator's map.

    `standby_replicas` is the group's `num.standby.replicas`; 0 where the record of the group names no configs.
    """

    members: tuple[StreamsMember, ...]
    subtopologies: tuple[Subtopology, ...]
    standby_replicas: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsShare:
    """New target of one member. The assignor gives no warm-up tasks."""

    active: Tasks = frozenset()
    standby: Tasks = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsResult:
    """The new target of every member. `unsure` as in `assignors.broker.model.BrokerResult`."""

    shares: dict[str, StreamsShare]
    unsure: bool = False


StreamsOutcome: TypeAlias = StreamsResult | AssignorFailed


def tasks_per_member(tasks: int, members: int) -> int:
    """The quota: tasks by members, rounded up; 0 without members."""
    return -(-tasks // members) if members else 0
