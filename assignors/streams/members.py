"""From members to clients: the threads of one process become one client, members of a future version share another.

The leader reads the subscriptions in the order of a hash map of member ids. Only the first member seen of a client
gives it its endpoint, tags and rack. A member whose payload has a newer version than the leader knows is understood by
its version alone: all such members form one pseudo client under a process id that the leader invented.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rebalance_monitor.assignors.java_table import hash_map_order
from .application import StreamsClient, StreamsConsumer
from .failures import LeaderFailed
from .tasks import ProcessId, Release, TaskId, TopicPartition

SHUTDOWN_REQUESTED = 4

_END_POINT = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)]?:([0-9]+)")

_NEWEST_VERSIONS: tuple[tuple[Release, int], ...] = (
    ((3, 2), 11),
    ((3, 0), 10),
    ((2, 8), 9),
    ((2, 6, 1), 8),
    ((2, 6), 7),
    ((2, 5), 6),
    ((2, 4), 5),
    ((2, 1), 4),
    ((2, 0), 3),
)


def newest_version(release: Release) -> int:
    """The newest version of both payloads that a release knows."""
    return next((version for since, version in _NEWEST_VERSIONS if release >= since), 2)


def host_info_of(end_point: str) -> tuple[str, int] | None:
    """Host and port of an `application.server`, None for a blank one. Raises LeaderFailed for anything else."""
    if not end_point.strip():
        return None
    match = _END_POINT.fullmatch(end_point)
    if match is None:
        raise LeaderFailed("ConfigException", f"no host and port: {end_point}")
    return match[1], int(match[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One member's subscription, decoded. `latest_supported` is -1 for versions 1 and 2."""

    id: str
    version: int
    latest_supported: int
    process_id: ProcessId
    owned: tuple[TopicPartition, ...] = ()
    offset_sums: Mapping[TaskId, int] = field(default_factory=dict)
    host_info: tuple[str, int] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    rack: str | None = None
    error: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All members as the leader sees them. `clients` in the order in which it met them; `owned` are the partitions that
    anybody says it owns; the least used and supported versions; whether there is a member of a future version, and
    whether a member wants the application to end."""

    clients: tuple[StreamsClient, ...]
    owned: frozenset[TopicPartition]
    least_version: int
    least_supported: int
    has_future_member: bool
    shutdown_requested: bool


def group_of(members: Sequence[GroupMember], release: Release, future_process_id: ProcessId) -> Group:
    """`members` in the order of the JoinGroup response."""
    newest = newest_version(release)
    by_id = {member.id: member for member in members}
    walk = [by_id[one] for one in hash_map_order(by_id).keys()]  # noqa: SIM118 - no mapping
    clients: dict[ProcessId, StreamsClient] = {}
    for member in (_understood(member, newest, future_process_id) for member in walk):
        process_id = member.process_id
        client = clients.get(process_id)
        if client is None:
            client = StreamsClient(process_id=process_id, consumers=(), tags=member.tags, host_info=member.host_info)
        consumer = StreamsConsumer(id=member.id, rack=member.rack, owned=member.owned, offset_sums=member.offset_sums)
        clients[process_id] = replace(client, consumers=(*client.consumers, consumer))
    return Group(
        clients=tuple(clients.values()),
        owned=frozenset(partition for member in walk for partition in member.owned),
        least_version=min((newest, *(member.version for member in walk))),
        least_supported=min((newest, *(member.latest_supported for member in walk))),
        has_future_member=any(member.version > newest for member in walk),
        shutdown_requested=any(member.error == SHUTDOWN_REQUESTED for member in walk if member.version <= newest),
    )


def _understood(member: GroupMember, newest: int, future_process_id: ProcessId) -> GroupMember:
    """What a leader that knows `newest` makes of the member: of a future version only that it is one."""
    if member.version <= newest:
        return member
    return replace(member, process_id=future_process_id, offset_sums={}, tags={}, host_info=None)
