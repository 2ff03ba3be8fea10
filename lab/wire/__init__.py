"""What Kafka's own classes read and write, as golden files say it: our decoders and encoders are compared with them.

One solver per family, from a case to its `expected` object. `python -m lab.plan` answers files of cases.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lab.wire import connect, connect_topics, coordinator, streams

Solve = Callable[[dict[str, Any]], dict[str, Any]]

_CONNECT = ("encode-", "decode-", "prefixes-")
_TOPICS = frozenset({"config-write", "config-log", "status-write", "status-log"})


def _of_kind(case: dict[str, Any]) -> dict[str, Any]:
    """Of three families, whose kinds of cases do not overlap."""
    kind: str = case["kind"]
    if kind.startswith(_CONNECT):
        return connect.solve(case)
    return connect_topics.solve(case) if kind in _TOPICS else coordinator.solve(case)


FAMILIES: Mapping[str, Solve] = {
    "connect-topics-wire": _of_kind,
    "connect-wire": _of_kind,
    "coordinator-wire": _of_kind,
    "streams-wire": streams.solve,
}
