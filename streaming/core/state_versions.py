"""States that an earlier release left in the database, brought into the present layout before they are read.

A group's state is what its records have taught and cannot teach again: the configuration so far, what leaders have in
mind, what jobs run where. So a release that changes the layout reads the one before. Older states, and states of newer
releases after a way back, are not read: the group begins anew, as if it were seen for the first time. Only the
incidents they left open are taken out, to be ended: nobody else would ever end them. What still holds is found again.
"""

import json
from contextlib import suppress
from typing import Any

from assignors.connect_model import Jobs
from streaming.core.codec import dumps, loads
from streaming.core.minds import by_connector
from streaming.core.results import Incident
from streaming.core.state import STATE_VERSION, GroupState

BEFORE = 2
READABLE = (BEFORE, STATE_VERSION)
HELD = ("incidents", "lingering")
"""Where a state of any layout, and its timeline, keep incidents."""


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
        "what was known of it is built anew from the records that follow, and its open incidents end"
    )


def begun_anew(state: bytes) -> bytes | None:
    """An empty state with the open incidents of one that cannot be read, as far as these can be; None without any."""
    orphans: list[Incident] = []
    try:
        whole = json.loads(state)
        parts = [part[name] for part in (whole, whole.get("timeline", {})) for name in HELD if name in part]
    except (ValueError, TypeError, AttributeError):
        parts = []
    for part in parts:
        for one in part.values() if isinstance(part, dict) else ():
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                orphans.append(loads(Incident, _text(one)))
    return dumps(GroupState(orphans=tuple(orphans))).encode("utf-8", "surrogatepass") if orphans else None


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
