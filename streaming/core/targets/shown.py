"""What members share out as it is published: by name, and of a Streams group by process and subtopology.

Partitions are printed as `topic-number`. A task is printed as Kafka prints it: `0_3` is partition 3 of subtopology 0.
What a member reads are the partitions of its active tasks: copies read changelogs alone.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from rebalance_monitor.schemas.streams_values import StreamsMember, SubtopologyInfo
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.details import (
    Balance,
    StreamsDetail,
    StreamsProcess,
    SubtopologyTasks,
    ThreadTasks,
)
from rebalance_monitor.streaming.core.model.results import ConsumerShare
from . import tasks
from .group import TargetGroup
from .member import TargetMember
from .topics import NameOf
from .units import ACTIVE, STANDBY, WARM_UP, RoleTask, Units, partitions_in, tasks_in

Reads: TypeAlias = Mapping[str, Mapping[str, int | None]]
"""Subtopology id -> its source topics with their partition counts, None where these are not known."""


def shown(some: Units, name_of: NameOf) -> tuple[str, ...]:
    """Partitions as `topic-number` and tasks as `tasks_shown`, in order."""
    partitions = (f"{topic}-{number}" for topic, number in _named(some, name_of))
    return (*partitions, *tasks_shown(tasks_in(some)))


def share_of(some: Units, name_of: NameOf, reads: Reads | None = None) -> ConsumerShare:
    """Partitions by name, or those that active tasks read (`reads`), in order."""
    own = _named(some, name_of)
    return ConsumerShare(tuple(own)) if own or not reads else read_by(tasks_in(some), reads)


def targets_by_name(group: TargetGroup, name_of: NameOf) -> dict[str, tuple[str, ...]]:
    """What each member should have, as `shown`, by what the member is called."""
    return {one.named(member_id): shown(one.wanted(), name_of) for member_id, one in group.members.items()}


def _named(some: Units, name_of: NameOf) -> list[tuple[str, int]]:
    partitions = partitions_in(some)
    names: Mapping[bytes, str] = {topic: name_of(topic) for topic, _ in partitions}
    return sorted((names[topic], number) for topic, number in partitions)


def named(task: RoleTask) -> str:
    return f"{task[1]}_{task[2]}"


def tasks_shown(some: Iterable[RoleTask]) -> tuple[str, ...]:
    """Tasks in order, copies with their role: `0_3`, `0_3 (standby)`."""
    return tuple(
        named(one) if one[0] == ACTIVE else f"{named(one)} ({one[0]})"
        for one in sorted(some, key=lambda one: (one[1], one[2], one[0]))
    )


def read_by(some: Iterable[RoleTask], reads: Reads) -> ConsumerShare:
    """The partitions that the active tasks among these read, in order."""
    found = set[tuple[str, int]]()
    for role, name, number in some:
        if role == ACTIVE:
            of = reads.get(name, {})
            found |= {(topic, number) for topic, count in of.items() if count is None or number < count}
    return ConsumerShare(tuple(sorted(found)))


def detail_of(group: TargetGroup, history: TopicHistory, at_ms: int) -> StreamsDetail:
    """Who is to run what, and who is to keep copies of it."""
    reads = tasks.reads(group, history, at_ms)
    parts = () if group.topology is None else group.topology.subtopologies
    processes, holders = _processes(group), _holders(group)
    with_state = {one.id for one in parts if one.changelogs}
    stateful = [_count(group, of, lambda task: task[1] in with_state) for of in processes.values()]
    stateless = [_count(group, of, lambda task: task[1] not in with_state) for of in processes.values()]
    subtopologies = tuple(_subtopology(group, one, reads.get(one.id, {}), processes) for one in parts)
    missing = [one.missing_standbys for one in subtopologies]
    return StreamsDetail(
        version=None,
        processes=tuple(_process(group, name, of, holders) for name, of in sorted(processes.items())),
        subtopologies=subtopologies,
        withheld=tuple(task for one in subtopologies for task in one.waiting),
        roles_known=True,
        balance=Balance(
            stateful=(min(stateful, default=0), max(stateful, default=0)),
            stateless=(min(stateless, default=0), max(stateless, default=0)),
        ),
        missing_standbys=None if None in missing else sum(one or 0 for one in missing),
    )


def _processes(group: TargetGroup) -> dict[str, list[str]]:
    """Member ids by process; a member whose record was not read is a process of its own."""
    found: dict[str, list[str]] = {}
    for name, member in sorted(group.members.items()):
        found.setdefault(member.process or name, []).append(name)
    return found


def _count(group: TargetGroup, members: Iterable[str], is_meant: Callable[[RoleTask], bool]) -> int:
    own = (task for name in members for task in tasks_in(group.members[name].wanted()))
    return sum(task[0] == ACTIVE and is_meant(task) for task in own)


def _process(
    group: TargetGroup, process_id: str, names: list[str], holders: Mapping[RoleTask, set[str]]
) -> StreamsProcess:
    known = (group.members[name].metadata for name in names)
    metadata = next((one for one in known if isinstance(one, StreamsMember)), None)
    endpoint = None if metadata is None else metadata.endpoint
    return StreamsProcess(
        process_id=process_id,
        host="" if metadata is None else metadata.client_host,
        threads=tuple(_thread(name, group.members[name], holders) for name in names),
        end_point="" if endpoint is None else f"{endpoint[0]}:{endpoint[1]}",
        rack=None if metadata is None else metadata.rack,
        tags={} if metadata is None else dict(metadata.client_tags),
    )


def _thread(member_id: str, member: TargetMember, holders: Mapping[RoleTask, set[str]]) -> ThreadTasks:
    wanted = tasks_in(member.wanted())

    def of(some: Iterable[RoleTask], *roles: str) -> tuple[str, ...]:
        return tuple(map(named, sorted(task for task in some if task[0] in roles)))

    return ThreadTasks(
        member_id=member_id,
        active=of(wanted, ACTIVE),
        standby=of(wanted, STANDBY, WARM_UP),
        warm_up=of(wanted, WARM_UP),
        withheld=of((task for task in wanted if holders.get(task, set()) - {member_id}), ACTIVE),
        revoked=of(tasks_in(member.pending()), ACTIVE),
    )


def _holders(group: TargetGroup) -> dict[RoleTask, set[str]]:
    """Who has a task, or has yet to give it up."""
    found: dict[RoleTask, set[str]] = {}
    for name, member in group.members.items():
        for task in tasks_in(member.held()):
            found.setdefault(task, set()).add(name)
    return found


def _subtopology(
    group: TargetGroup,
    subtopology: SubtopologyInfo,
    topics: Mapping[str, int | None],
    processes: Mapping[str, list[str]],
) -> SubtopologyTasks:
    wanted = [
        task for member in group.members.values() for task in tasks_in(member.wanted()) if task[1] == subtopology.id
    ]
    active = {task for task in wanted if task[0] == ACTIVE}
    run = {task for member in group.members.values() for task in tasks_in(member.assigned())}
    held = {task for member in group.members.values() for task in tasks_in(member.held())}
    standbys = tasks.standbys_of(group.configs)
    copies = sum(task[0] == STANDBY for task in wanted)
    each = [_count(group, of, lambda task: task[1] == subtopology.id) for of in processes.values()]
    return SubtopologyTasks(
        name=subtopology.id,
        topics={name: count for name, count in topics.items() if count is not None},
        tasks=len(active),
        stateful=bool(subtopology.changelogs),
        least=min(each, default=0),
        most=max(each, default=0),
        waiting=tuple(map(named, sorted((active & held) - run))),
        missing_standbys=None
        if standbys is None
        else max(0, standbys * len(active) * bool(subtopology.changelogs) - copies),
    )
