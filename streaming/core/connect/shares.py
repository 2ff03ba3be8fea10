"""What a worker has in its hands after a round, from the three shares that a generation publishes of it."""

from collections.abc import Mapping
from typing import Any

from rebalance_monitor.streaming.core.model.published import from_object
from rebalance_monitor.streaming.core.model.results import ConnectShare


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
