"""Where the tasks with state are in a leader's answer."""

from collections.abc import Container
from dataclasses import dataclass

from rebalance_monitor.assignors.streams.leader import LeaderAnswer
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.streaming.core.streams.topology import Key, key_of


@dataclass(frozen=True, slots=True)
class Place:
    """Who runs a task, and who has copies of it."""

    active: ProcessId
    copies: frozenset[ProcessId]


def places_of(answer: LeaderAnswer, stateful: Container[Key]) -> dict[TaskId, Place]:
    """Where an answer's target has the tasks with state, those included that are withheld."""
    copies: dict[TaskId, set[ProcessId]] = {}
    for process, share in answer.shares.items():
        for task in share.standby:
            copies.setdefault(task, set()).add(process)
    return {
        task: Place(process, frozenset(copies.get(task, ())))
        for process, share in answer.shares.items()
        for task in share.active
        if key_of(task) in stateful
    }
