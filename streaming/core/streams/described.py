"""The topology that a user gives as text: which sub-topologies have no state store, and so no state.

The text names stores, but not whether they are logged: a sub-topology with stores most likely has state.
"""

import re
from functools import lru_cache

from rebalance_monitor.assignors.streams.topology_text import DescribedSubtopology, UnreadableTopology, parse_topology
from .topology import Key, Seen


@lru_cache(maxsize=64)
def store_names(text: str) -> dict[Key, frozenset[str]]:
    """The stores of each sub-topology; empty for a text that is no description of a topology."""
    try:
        return {
            (part.number, part.topology): frozenset(part.stores) for part in parse_topology(text) if not part.is_global
        }
    except UnreadableTopology:
        return {}


@lru_cache(maxsize=64)
def stores_read_directly(text: str, *, tables: bool) -> dict[Key, frozenset[str]]:
    """The stores of each sub-topology that a processor right behind a source fills, of `tables` alone, by their names;
    empty for a text that is no description of a topology."""
    return {
        (part.number, part.topology): frozenset(
            store for store, topics in part.fed.items() if topics and (store in part.tables or not tables)
        )
        for part in _parts(text)
        if not part.is_global
    }


def stores_by_part(text: str) -> dict[Key, bool]:
    """Whether each sub-topology has a store; empty for a text that is no description of a topology."""
    return {key: bool(names) for key, names in store_names(text).items()}


def misfit(text: str, application_id: str, seen: Seen) -> str | None:
    """The first thing in which the records differ from a text that can be read; None where it fits them. Internal
    topics stand in the text without the application's prefix. Sub-topologies that no record has shown prove nothing."""
    parts = {(part.number, part.topology): part for part in _parts(text) if not part.is_global}
    for shown in seen if parts else ():
        name = f"{shown.name}__{shown.number}" if shown.name else str(shown.number)
        part = parts.get(shown.key)
        if part is None:
            return f"records show tasks of sub-topology {name}, the text has none"
        other = sorted(topic for topic in shown.topics if not _reads(part, topic, application_id))
        if other:
            return f"records show that sub-topology {name} reads {other[0]}, in the text it does not"
    return None


@lru_cache(maxsize=64)
def _parts(text: str) -> tuple[DescribedSubtopology, ...]:
    try:
        return tuple(parse_topology(text))
    except UnreadableTopology:
        return ()


def _reads(part: DescribedSubtopology, topic: str, application_id: str) -> bool:
    own = topic.startswith(f"{application_id}-")
    return any(topic == source or (own and topic.endswith(f"-{source}")) for source in part.sources) or any(
        _matches(pattern, topic) for pattern in part.patterns
    )


def _matches(pattern: str, topic: str) -> bool:
    """Whether a pattern of Java may match; one that only Java understands may match anything."""
    try:
        return re.fullmatch(pattern, topic) is not None
    except re.error:
        return True
