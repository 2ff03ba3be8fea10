"""Which partitions the members of a group may consume, by their names, where one member alone may hold each.

A member of a Streams group reads what its active tasks read: of each source topic of a task's subtopology the partition
of the task's number. Copies read changelogs alone. A topic of which nobody has told the name goes by its id, and
brokers say nothing of it.
"""

from collections.abc import Iterable
from functools import cache

from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.fold.capabilities import Holdings
from . import tasks
from .group import TargetGroup
from .shown import Reads, read_by
from .topics import naming
from .units import ACTIVE, RoleTask, partitions_in, tasks_in


def held_partitions(group: TargetGroup, history: TopicHistory) -> Holdings:
    """By member id, since the newest target at the earliest."""
    held = {member: sorted(partitions_in(one.assigned())) for member, one in sorted(group.members.items())}
    name_of = cache(naming(history, group))
    members = {member: tuple(f"{name_of(topic)}-{number}" for topic, number in all_) for member, all_ in held.items()}
    return Holdings(members, group.assignment_ms, _busy_ms(group))


def read_by_tasks(group: TargetGroup, history: TopicHistory) -> Holdings | None:
    """The same of a Streams group; None with a subtopology that reads a pattern of topics, whose names no record
    tells."""
    if group.topology is None or any(part.source_regexes for part in group.topology.subtopologies):
        return None
    reads = tasks.reads(group, history, history.answered_ms or 0)
    with_state = {part.id for part in group.topology.subtopologies if part.changelogs}
    members: dict[str, tuple[str, ...]] = {}
    taken_ms: dict[str, int] = {}
    for name, member in sorted(group.members.items()):
        active = [task for task in tasks_in(member.assigned()) if task[0] == ACTIVE]
        members[name] = _named(active, reads)
        gained_ms = member.wrote_ms if member.gained_ms is None else member.gained_ms
        restored = [task for task in active if task[1] in with_state]
        taken_ms |= dict.fromkeys(_named(restored, reads), gained_ms or 0)
    return Holdings(members, group.assignment_ms, _busy_ms(group), taken_ms)


def _busy_ms(group: TargetGroup) -> int | None:
    times = (member.rebalance_timeout_ms for member in group.members.values())
    return max((one for one in times if one is not None), default=None)


def _named(some: Iterable[RoleTask], reads: Reads) -> tuple[str, ...]:
    return tuple(f"{topic}-{number}" for topic, number in read_by(some, reads).partitions)
