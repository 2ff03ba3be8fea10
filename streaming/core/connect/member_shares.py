"""What a worker's bytes say, as they are published."""

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.streaming.core.connect.observed import worker_of
from rebalance_monitor.streaming.core.fold.published import MemberShares
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
