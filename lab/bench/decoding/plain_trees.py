"""Both decoders' values of one record as the same plain tree, to be compared before anything is timed."""

from collections.abc import Iterable
from typing import Any

from rebalance_monitor.schemas.connect_protocol import THE_CONNECTOR, ConnectAssignment
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row

Tree = Any


def ours(row: Row, user_data: list[tuple[Any, Any]] | None = None) -> Tree:
    """The tree of a decoded row; `user_data` are the outcomes of both Streams payloads of each member."""
    group = row.body
    assert isinstance(group, GroupGeneration)
    head = [row.group, group.protocol_type, group.generation, group.protocol, group.leader, group.state_ms]
    members = []
    for number, member in enumerate(group.members):
        plain: list[Tree] = [member.member_id, member.instance_id, member.client_id, member.client_host]
        plain += [member.rebalance_timeout_ms, member.session_timeout_ms]
        members.append([*plain, *_blobs(member.subscription, member.assignment)])
        if user_data is not None:
            members[-1] += [_info(outcome) for outcome in user_data[number]]
    return [*head, members]


def _blobs(subscription: Any, assignment: Any) -> list[Tree]:
    if isinstance(assignment, ConnectAssignment):
        held = None if subscription.allocation is None else _share(subscription.allocation)
        return [[subscription.version, subscription.url, subscription.config_offset, held], _share(assignment)]
    mine = [subscription.version, list(subscription.topics), subscription.user_data, list(subscription.owned)]
    theirs = [assignment.version, list(assignment.partitions), assignment.user_data]
    return [[*mine, subscription.generation, subscription.rack], theirs]


def _share(assignment: ConnectAssignment) -> Tree:
    head = [assignment.version, assignment.error, assignment.leader, assignment.leader_url, assignment.config_offset]
    return [
        *head,
        [*assignment.connectors],
        [*assignment.tasks],
        [*assignment.revoked_connectors],
        [*assignment.revoked_tasks],
        assignment.delay_ms,
    ]


def _info(outcome: Any) -> Tree:
    assert isinstance(outcome, Decoded)
    value = outcome.value
    if hasattr(value, "process_id"):
        head = [value.version, value.latest_supported, value.process_id, value.end_point]
        return [*head, [*value.offset_sums], value.unique, value.error, [*value.client_tags]]
    head = [value.version, value.commonly_supported, [*value.active], [*value.standby], [*value.topics]]
    return [*head, [*value.hosts], [*value.standby_hosts], value.error, value.next_rebalance_ms]


def peer_members(key: Any, group: Any, blobs: Iterable[list[Tree]]) -> Tree:
    """The tree of what kafka-python decoded, given the trees of each member's blobs."""
    head = [key.group, group.protocol_type, group.generation, group.protocol, group.leader]
    members = []
    for member, trees in zip(group.members, blobs, strict=True):
        plain = [member.member_id, member.group_instance_id, member.client_id, member.client_host]
        members.append([*plain, member.rebalance_timeout, member.session_timeout, *trees])
    return [*head, group.current_state_timestamp, members]


def peer_connect(state: Any, held: Any, given: Any) -> list[Tree]:
    def share(given: Any) -> Tree:
        jobs: list[Tree] = []
        for entries in (given.assigned, given.revoked):
            pairs = _pairs(entries)
            jobs.append([name for name, number in pairs if number == THE_CONNECTOR])
            jobs.append([pair for pair in pairs if pair[1] != THE_CONNECTOR])
        return [
            given.version,
            given.error,
            given.leader,
            given.leader_url,
            given.config_offset,
            *jobs,
            given.delay,
        ]

    allocation = None if held is None else share(held)
    return [[state.version, state.url, state.config_offset, allocation], share(given)]


def peer_consumer(subscription: Any, assignment: Any) -> list[Tree]:
    mine = [subscription.version, list(subscription.topics), subscription.user_data, _pairs(subscription.owned)]
    theirs = [assignment.version, _pairs(assignment.assigned), assignment.user_data]
    return [[*mine, subscription.generation, subscription.rack], theirs]


def peer_streams(state: Any, share: Any) -> list[Tree]:
    def hosts(entries: Any) -> Tree:
        found = []
        for host, port, partitions in ((*one,) for one in entries):
            found.append((host, port, tuple(number for one in partitions for number in (one.topic, one.partition))))
        return found

    sums = [(one.subtopology, one.partition, one.total) for one in state.sums]
    tags = [(one.key.decode(), one.value.decode()) for one in state.tags]
    head = [state.version, state.latest, state.process_id.bytes, state.end_point.decode()]
    active = [(one.subtopology, one.partition) for one in share.active]
    standby = [
        ((one.subtopology, one.partition), tuple((source.topic, source.partition) for source in one.partitions))
        for one in share.standby
    ]
    topics = [(one.number, one.name) for one in share.topics]
    mine = [share.version, share.common, active, standby, topics, hosts(share.hosts), hosts(share.standby_hosts)]
    return [[*head, sums, state.unique, state.error, tags], [*mine, share.error, share.next]]


def _pairs(entries: Any) -> list[tuple[str, int]]:
    return [(one.name, number) for one in entries or () for number in one.numbers]
