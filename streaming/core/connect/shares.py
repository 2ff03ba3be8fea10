"""What a worker's bytes say it is given and reports as its own, as that is published, and what it then has in its
hands."""

from collections.abc import Mapping
from typing import Any

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.streaming.core.connect.observed import worker_of
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.model.published import from_object
from rebalance_monitor.streaming.core.model.records import MemberRow
from rebalance_monitor.streaming.core.model.results import ConnectShare, Share


def shares_of(member: MemberRow) -> MemberShares:
    """Its worker, what it is given, what it must stop, and what it reports as its own."""
    state, given = member.subscription, member.assignment
    worker = worker_of(state.url) if isinstance(state, WorkerState) else None
    if not isinstance(given, ConnectAssignment):
        return MemberShares(worker, owned=_owned(member))
    assigned = ConnectShare(given.connectors, given.tasks)
    revoked = ConnectShare(given.revoked_connectors, given.revoked_tasks)
    return MemberShares(worker, assigned, revoked, _owned(member))


def _owned(member: MemberRow) -> Share | None:
    match member.subscription:
        case WorkerState(allocation=None):
            return ConnectShare()
        case WorkerState(allocation=ConnectAssignment() as allocation):
            return ConnectShare(allocation.connectors, allocation.tasks)
        case _:
            return None


def held_after(assigned: ConnectShare, revoked: ConnectShare | None, owned: ConnectShare | None) -> ConnectShare:
    """What the worker had, less what was revoked, and what was assigned: each once, in that order.

    Connect's incremental protocols (KIP-415) send only what changes. The eager one sends all, and nothing is owned.
    """
    had, gone = owned or ConnectShare(), revoked or ConnectShare()
    no_connectors, no_tasks = frozenset(gone.connectors), frozenset(gone.tasks)
    return ConnectShare(
        tuple(dict.fromkeys((*(one for one in had.connectors if one not in no_connectors), *assigned.connectors))),
        tuple(dict.fromkeys((*(one for one in had.tasks if one not in no_tasks), *assigned.tasks))),
    )


def connect_share_of(published: Mapping[str, Any] | None) -> ConnectShare | None:
    """A Connect share from its published form; None for none, or for a consumer's."""
    return None if published is None or "connectors" not in published else from_object(ConnectShare, published)
