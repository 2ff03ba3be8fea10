"""States that an earlier release left in the database, brought into the present layout before they are read.

A group's state is what its records have taught and cannot teach again: the configuration so far, what leaders have in
mind, what jobs run where. So a release that changes the layout reads the one before. Older states, and states of newer
releases after a way back, are not read: the group begins anew, as if it were seen for the first time. Only the
incidents they left open are taken out, to be ended: nobody else would ever end them. What still holds is found again.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from assignors.connect.model import Jobs
from streaming.core.connect.leader.packed import by_connector
from streaming.core.fold.state import STATE_VERSION, GroupState, Waiting
from streaming.core.model.codec import dumps, loads
from streaming.core.model.results import Incident

T = TypeVar("T")

BEFORE = 2
READABLE = (BEFORE, STATE_VERSION)
HELD = frozenset({"incidents", "lingering"})
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
    orphans = left_open(state)
    return dumps(GroupState(orphans=orphans)).encode("utf-8", "surrogatepass") if orphans else None


def left_open(state: bytes) -> tuple[Incident, ...]:
    """The incidents that a state holds, those of its timeline too, as far as they can be read."""
    whole = _object(state)
    parts = [
        part[name] for part in (whole, whole.get("timeline")) if isinstance(part, dict) for name in HELD & part.keys()
    ]
    items = [one for part in parts if isinstance(part, dict) for one in part.values()]
    orphans = whole.get("orphans")
    return tuple(_each(Incident, [*items, *(orphans if isinstance(orphans, list) else ())]))


def left_waiting(state: bytes) -> tuple[Waiting, ...]:
    """The records that wait in a state, as far as they can be read."""
    waiting = _object(state).get("waiting")
    return tuple(_each(Waiting, waiting if isinstance(waiting, list) else ()))


def part_of(state: bytes, name: str, kind: type[T]) -> T | None:
    """One field of a state; None where it is at its default or cannot be read."""
    return next(_each(kind, [one for key, one in _object(state).items() if key == name]), None)


def _object(state: bytes) -> dict[str, Any]:
    try:
        whole = json.loads(state)
    except (ValueError, RecursionError):
        return {}
    return whole if isinstance(whole, dict) else {}


def _each(kind: type[T], parts: Iterable[object]) -> Iterator[T]:
    for one in parts:
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            yield loads(kind, _text(one))


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
