"""What the leader's process remembers when a round is over; the same rule in all eras, but for what balancing adds."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from .model import ConnectRound, LeaderMemory, TaskId
from .survey import Load, Survey, remembered
from .window import Window


class Stopped(Protocol):
    """What one member must stop."""

    @property
    def connectors(self) -> Iterable[str]: ...
    @property
    def tasks(self) -> Iterable[TaskId]: ...


def memory_after(
    round_: ConnectRound,
    sets: Survey,
    window: Window,
    loads: Sequence[Load],
    revoked: Iterable[Stopped],
    *,
    can_revoke: bool,
    successive_revocations: int = 0,
) -> LeaderMemory:
    """All jobs that members end with, and lost ones even where they were just placed, or placed and taken back."""
    stopped_connectors: set[str] = set()
    stopped_tasks: set[TaskId] = set()
    for taken in revoked:
        stopped_connectors.update(taken.connectors)
        stopped_tasks.update(taken.tasks)
    connectors = {name for load in loads for name in load.connectors}
    tasks = {task for load in loads for task in load.tasks}
    return LeaderMemory(
        previous=remembered(
            sets.configured,
            connectors - stopped_connectors | set(sets.lost.connectors),
            tasks - stopped_tasks | set(sets.lost.tasks),
        ),
        previous_revoked=remembered(sets.configured, stopped_connectors, stopped_tasks),
        revoked_in_previous=window.revoked_in_previous,
        can_revoke=can_revoke,
        successive_revocations=successive_revocations,
        scheduled_ms=window.scheduled_ms,
        delay_ms=window.delay_ms,
        candidates=tuple(window.candidates),
        previous_generation=round_.generation,
        previous_members=frozenset(member.id for member in sets.members),
    )
