"""The topology that a user gives as text: which sub-topologies have no state store, and so no state.

The text names stores, but not whether they are logged: a sub-topology with stores most likely has state.
"""

from functools import lru_cache

from rebalance_monitor.assignors.streams.topology_text import UnreadableTopology, parse_topology
from rebalance_monitor.streaming.core.streams.topology import Key


@lru_cache(maxsize=64)
def store_names(text: str) -> dict[Key, frozenset[str]]:
    """The stores of each sub-topology; empty for a text that is no description of a topology."""
    try:
        return {
            (part.number, part.topology): frozenset(part.stores) for part in parse_topology(text) if not part.is_global
        }
    except UnreadableTopology:
        return {}


def stores_by_part(text: str) -> dict[Key, bool]:
    """Whether each sub-topology has a store; empty for a text that is no description of a topology."""
    return {key: bool(names) for key, names in store_names(text).items()}


def topology_error(text: str) -> str | None:
    """Why a text is no description of a topology; None if it is one."""
    try:
        return None if parse_topology(text) else "it has no line 'Sub-topology: 0'"
    except UnreadableTopology as why:
        return str(why)
