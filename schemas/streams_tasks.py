"""What both payloads of Kafka Streams share: task ids, versions, and which release knows which."""

from functools import cache
from typing import TypeAlias

from .layouts import Release

# Subtopology and partition, and the topology's name if it has one, which is very rare. Texts: "0_1", "name__0_1".
StreamsTaskId: TypeAlias = tuple[int, int] | tuple[int, int, str]

# What Streams groups call their protocol; their protocol type is that of plain consumers.
PROTOCOL = "stream"

NEWEST_VERSION = 11
UNKNOWN_VERSION = -1

# The offset sum of a task that runs as active, and of one that a member of version 1 to 6 had as standby.
RUNNING = -2
STANDBY_OF_UNKNOWN_SUM = -3
# "Never", in the leader's place for the time of the next rebalance.
NO_REBALANCE_MS = (1 << 63) - 1

_FIRST_RELEASE_OF: tuple[tuple[Release, int], ...] = (
    ((3, 2), 11),
    ((3, 0), 10),
    ((2, 8), 9),
    ((2, 6), 8),  # 2.6.0 alone knew 7; no later release writes or reads differently because of it
    ((2, 5), 6),
    ((2, 4), 5),
    ((2, 1), 4),
    ((2, 0), 3),
)


@cache
def newest_version(release: Release) -> int:
    """The newest version of both payloads that classes of `release` read and write."""
    return next((version for first, version in _FIRST_RELEASE_OF if release >= first), 2)


def task_text(task: StreamsTaskId) -> str:
    topology = topology_of(task)
    return f"{task[0]}_{task[1]}" if topology is None else f"{topology}__{task[0]}_{task[1]}"


def task_of(text: str) -> StreamsTaskId:
    """The task id spelled `text`; raises ValueError for anything else."""
    topology, named, rest = text.partition("__")
    subtopology, _, partition = (rest if named else text).partition("_")
    return (int(subtopology), int(partition), topology) if named else (int(subtopology), int(partition))


def topology_of(task: StreamsTaskId) -> str | None:
    """The name of the topology, None without one."""
    return task[2] if len(task) > 2 else None
