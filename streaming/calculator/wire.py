"""The three wire families behind one solver: their kinds of cases don't overlap."""

from typing import Any

from rebalance_monitor.streaming.calculator.connect_topics_full import solve as solve_topics
from rebalance_monitor.streaming.calculator.connect_wire import solve as solve_connect
from rebalance_monitor.streaming.calculator.coordinator_wire import solve as solve_coordinator

_CONNECT = ("encode-", "decode-", "prefixes-")
_TOPICS = frozenset({"config-write", "config-log", "status-write", "status-log"})


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of a `connect-wire`, `coordinator-wire` or `connect-topics-wire` case."""
    kind: str = case["kind"]
    if kind.startswith(_CONNECT):
        return solve_connect(case)
    return solve_topics(case) if kind in _TOPICS else solve_coordinator(case)
