"""States that an earlier release left in the database, brought into the present layout before they are read.

A group's state is what its records have taught and cannot teach again: the configuration so far, what leaders have in
mind, what jobs run where. So a release that changes the layout reads the one before. Older states, and states of newer
releases after a way back, are not read: the group begins anew, as if it were seen for the first time.
"""

import json
from typing import Any

from assignors.connect_model import Jobs
from streaming.core.minds import by_connector
from streaming.core.state import STATE_VERSION

BEFORE = 2


def present(version: int, state: bytes) -> bytes | None:
    """The state in the present layout; None if this release cannot read it."""
    if version == STATE_VERSION:
        return state
    if version != BEFORE:
        return None
    try:
        return _since_2(state)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def unreadable(version: int) -> str:
    """One sentence for people about a state that is not read."""
    return (
        f"the group's stored state has layout {version}, this release reads {BEFORE} and {STATE_VERSION}: "
        "what was known of it is built anew from the records that follow"
    )


def _since_2(state: bytes) -> bytes:
    """Facts of a job were an object, minds carried their jobs as lists, each with a memory of its own."""
    whole: dict[str, Any] = json.loads(state)
    jobs = whole.get("timeline", {}).get("jobs", {})
    jobs.update({job: _text(facts) for job, facts in jobs.items()})
    for process in whole.get("processes", {}).values():
        _pack_minds(process)
    return _text(whole).encode("utf-8", "surrogatepass")


def _pack_minds(process: dict[str, Any]) -> None:
    memories: list[dict[str, Any]] = []
    minds: list[list[Any]] = []
    for mind in process.pop("hypotheses"):
        memory = mind["memory"]
        for name in memory.keys() & {"previous", "previous_revoked"}:
            listed = memory[name]
            tasks = tuple((connector, number) for connector, number in listed.get("tasks", ()))
            memory[name] = by_connector(Jobs(tuple(listed.get("connectors", ())), tasks))
        if memory not in memories:
            memories.append(memory)
        minds.append([mind["era"], mind.get("max_delay_ms"), memories.index(memory)])
    process["minds"] = {"memories": memories, "minds": minds}


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
