"""The three wire families behind one solver: their kinds of cases don't overlap."""

from typing import Any

from streaming.core.plan import connect_topics_full, connect_wire, coordinator_wire

_CONNECT = ("encode-", "decode-", "prefixes-")
_TOPICS = frozenset({"config-write", "config-log", "status-write", "status-log"})


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of a `connect-wire`, `coordinator-wire` or `connect-topics-wire` case."""
    kind: str = case["kind"]
    if kind.startswith(_CONNECT):
        return connect_wire.solve(case)
    return connect_topics_full.solve(case) if kind in _TOPICS else coordinator_wire.solve(case)
