"""How many connectors and tasks each worker of a group holds after a generation."""

from collections.abc import Iterable

from rebalance_monitor.streaming.core.connect.member_bytes import held_after
from rebalance_monitor.streaming.core.model.results import ConnectShare, Generation, Share

Load = tuple[int, int]
"""Connectors and tasks of a worker."""
WorkerShares = tuple[Share | None, Share | None, Share | None]
"""Assigned, revoked and owned, as the record has them."""


def loads_of(generation: Generation) -> dict[str, Load]:
    """What each worker of a Connect generation holds after it."""
    return loads((member.worker, (member.assigned, member.revoked, member.owned)) for member in generation.members)


def loads(shares: Iterable[tuple[str | None, WorkerShares]]) -> dict[str, Load]:
    found: dict[str, Load] = {}
    for worker, (assigned, revoked, owned) in shares:
        if worker is not None and isinstance(assigned, ConnectShare):
            held = held_after(assigned, _connects(revoked), _connects(owned))
            connectors, tasks = found.get(worker, (0, 0))
            found[worker] = (connectors + len(held.connectors), tasks + len(held.tasks))
    return found


def _connects(share: Share | None) -> ConnectShare | None:
    return share if isinstance(share, ConnectShare) else None
