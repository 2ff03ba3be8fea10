"""States that an earlier release left in the database, brought into the present layout before they are read.

A group's state is what its records have taught and cannot teach again: the configuration so far, what leaders have in
mind, what jobs run where. So a release that changes the layout reads those before. Older states, and states of newer
releases after a way back, are not read: the group begins anew, as if it were seen for the first time. Only the
incidents they left open are taken out, to be ended: nobody else would ever end them. What still holds is found again.

    2    facts of a job were an object, leaders' minds carried their jobs as lists
    3    one object: the fields of all lifecycles side by side, and two books of incidents
    4    an envelope and one body per lifecycle, each a line, and a row for each waiting record
         (`streaming.core.fold.state`); the book holds incidents and their parts, before, each finding was an
         incident of its own

Layouts 2 and 3 know two lifecycles, which their names and fields below stand for.
"""

import json
from dataclasses import fields, replace
from typing import Any

from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.streaming.core.connect.leader.packed import by_connector
from rebalance_monitor.streaming.core.fold.parts import left_open
from rebalance_monitor.streaming.core.fold.state import NOTHING, STATE_VERSION, Envelope, Queue, Saved, Waiting, stored
from rebalance_monitor.streaming.core.fold.waiting import WaitingRecords
from rebalance_monitor.streaming.core.incidents.transitions import key_of
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.results import Part, Subject

READABLE = (2, 3, STATE_VERSION)
_ENVELOPE = frozenset(
    {"incarnation", "generation", "deleted", "seen_from_start", "member_ids", "next_offsets", "topic_ids"}
    | {"historic", "behind_ms", "least_behind_ms", "unread", "lost", "orphans", "written", "failing"}
)
_CONSUMER = frozenset({"holds", "last_join"})
_CONNECT = frozenset({"last", "processes", "session_ms"})
"""What only a Connect group's records leave, the first until it is deleted; rows of topics leave others."""
RENUMBERED = {"CONSUMER-C10": "CONSUMER-C12"}
"""C-10 is another law of the description of the protocol (consumer.md 9)."""
_PAGE = ("open", "lingering")
_PART = frozenset(one.name for one in fields(Part))


def present(version: int, state: Saved) -> Saved | None:
    """The state in the present layout; None if this release cannot read it."""
    if version == STATE_VERSION:
        return state
    if version not in READABLE:
        return None
    try:
        whole: dict[str, Any] = json.loads(state.lines)
        return _since_3(whole if version == 3 else _since_2(whole))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def unreadable(version: int) -> str:
    """One sentence for people about a state that is not read."""
    return (
        f"the group's stored state has layout {version}, this release reads {READABLE[0]} to {READABLE[-1]}: "
        "what was known of it is built anew from the records that follow, and its open incidents end"
    )


def begun_anew(state: Saved) -> Saved | None:
    """An empty state with the open incidents of one that cannot be read, as far as these can be; None without any."""
    orphans = left_open(state.lines)
    return stored(Envelope(orphans=orphans), {}) if orphans else None


def _since_3(whole: dict[str, Any]) -> Saved:
    """Fields to the part that they belong to; waiting records out of the state; incidents into parts."""
    waiting = whole.pop("waiting", [])
    timeline = whole.get("timeline", {})
    pages = {
        lane: {name: part.pop(old) for name, old in zip(_PAGE, ("incidents", "lingering"), strict=True) if old in part}
        for lane, part in (("records", whole), ("events", timeline))
    }
    envelope = {name: whole.pop(name) for name in _ENVELOPE & whole.keys()}
    consumer = {name: whole.pop(name) for name in _CONSUMER & whole.keys()}
    if _CONNECT & whole.keys():
        envelope["lifecycle"] = "connect"
    elif consumer or "generation" in envelope:
        envelope["lifecycle"] = "consumer"
    envelope["book"] = {lane: _with_parts(page) for lane, page in pages.items() if page}
    bodies = [("connect", whole), ("consumer", consumer)]
    queue = WaitingRecords(Queue(), NOTHING, _waiting_of)
    for record in waiting:
        queue.append(_waiting_of(_text(record).encode("utf-8", "surrogatepass")))
    announced = sum(one.get("announced", False) for one in waiting)
    envelope["queue"] = json.loads(dumps(replace(queue.queue, announced=announced)))
    lines = [_text(envelope), *(f"{name} {_text(body)}" for name, body in bodies if body)]
    return Saved("\n".join(lines).encode("utf-8", "surrogatepass"), queue.stored())


def _waiting_of(text: bytes) -> Waiting:
    return loads(Waiting, text.decode("utf-8", "surrogatepass"))


def _with_parts(page: dict[str, Any]) -> dict[str, Any]:
    """Each incident under the code that its rule has now, as its own one part. The keys are made anew: layouts before 4
    did not tell apart names with a `|`."""
    incidents: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for name, held in page.items():
        renumbered = [{**one, "code": RENUMBERED.get(one["code"], one["code"])} for one in held.values()]
        incidents.update((one["incident_id"], one) for one in renumbered)
        parts[name] = {_key(one): {field: one[field] for field in _PART & one.keys()} for one in renumbered}
    return {**parts, "incidents": incidents}


def _key(incident: dict[str, Any]) -> str:
    return key_of(incident["code"], (Subject(one["type"], one["id"]) for one in incident["subjects"]))


def _since_2(whole: dict[str, Any]) -> dict[str, Any]:
    """Facts of a job were an object, minds carried their jobs as lists, each with a memory of its own."""
    jobs = whole.get("timeline", {}).get("jobs", {})
    jobs.update({job: _text(facts) for job, facts in jobs.items()})
    for process in whole.get("processes", {}).values():
        _pack_minds(process)
    return whole


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
