"""The status half of family `connect-topics-wire`: what Connect's status store holds after a log, traces included."""

from base64 import b64decode
from typing import Any

from rebalance_monitor.schemas.connect_json import NotJson, java_int, parse, split_task
from rebalance_monitor.schemas.connect_topics import STATUS_CONNECTOR, STATUS_TASK, STATUS_TOPIC

Values = dict[str, Any]

STATES = frozenset({"UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "DESTROYED", "RESTARTING", "STOPPED"})
_SEPARATOR = ":connector-"


FIRST_GUARDED = (3, 6)
"""From this release on a task's late UNASSIGNED does not hide a RUNNING of the same or a newer generation."""


def read_statuses(log: list[Values], release: str) -> Values:
    """Connector name -> `connector`, `tasks` and `topics`, whichever exist, as the REST interface of a worker of this
    release would show them."""
    guarded = tuple(map(int, release.split(".")[:2])) >= FIRST_GUARDED
    connectors: dict[str, Values] = {}
    tasks: dict[str, dict[int, Values]] = {}
    topics: dict[str, set[str]] = {}
    for record in log:
        key, value = record["key"] or "", record["value"]
        if key.startswith(STATUS_CONNECTOR):
            name = key.removeprefix(STATUS_CONNECTOR)
            _put(connectors, name, name, value, guarded=False)
            if value is None:
                tasks.pop(name, None)  # the deletion of a connector's status takes those of its tasks with it
        elif key.startswith(STATUS_TASK):
            task = split_task(key, 2)
            if task is not None:
                _put(tasks.setdefault(task[0], {}), task[1], f"{task[0]}-{task[1]}", value, guarded=guarded)
        elif key.startswith(STATUS_TOPIC):
            _topic(topics, key.removeprefix(STATUS_TOPIC), value)
    return {
        name: _shown(name, connectors, tasks, topics)
        for name in sorted({*connectors, *tasks, *topics})
        if connectors.get(name) or tasks.get(name) or topics.get(name)
    }


def _shown(
    name: str, connectors: dict[str, Values], tasks: dict[str, dict[int, Values]], topics: dict[str, set[str]]
) -> Values:
    shown: Values = {}
    if name in connectors:
        shown["connector"] = connectors[name]
    if tasks.get(name):
        shown["tasks"] = {str(number): tasks[name][number] for number in sorted(tasks[name])}
    if topics.get(name):
        shown["topics"] = sorted(topics[name])
    return shown


def _put(held: dict[Any, Values], at: Any, id_: str, value: str | None, *, guarded: bool) -> None:
    if value is None:
        held.pop(at, None)
        return
    status = _status(id_, value)
    if status is None:
        return
    before = held.get(at)
    # A late UNASSIGNED of a former owner must not hide that the task runs elsewhere.
    late = (
        guarded and before is not None and before["state"] == "RUNNING" and before["generation"] >= status["generation"]
    )
    if not (late and status["state"] == "UNASSIGNED"):
        held[at] = status


def _status(id_: str, value: str) -> Values | None:
    """One status, None for a value the store can't use."""
    try:
        parsed = parse(b64decode(value))
    except NotJson:
        return None
    if not isinstance(parsed, dict) or parsed.get("state") not in tuple(STATES):
        return None
    generation = java_int(parsed.get("generation"))
    texts = [parsed.get(name) for name in ("trace", "worker_id", "version")]
    if generation is None or not all(text is None or isinstance(text, str) for text in texts):
        return None
    trace, worker_id, version = texts
    return {
        "id": id_,
        "state": parsed["state"],
        "trace": trace,
        "workerId": worker_id,
        "generation": generation,
        "version": version,
    }


def _topic(topics: dict[str, set[str]], key: str, value: str | None) -> None:
    topic, colon, _ = key.partition(":")
    name = key[len(topic) + len(_SEPARATOR) :]
    if not (topic and colon and name):
        return
    if value is None:
        topics.get(name, set()).discard(topic)
        return
    entry = _topic_entry(value)
    if entry is not None:
        topics.setdefault(entry["connector"], set()).add(entry["topic"])


def _topic_entry(value: str) -> Values | None:
    try:
        parsed = parse(b64decode(value))
    except NotJson:
        return None
    inner = parsed.get("topic") if isinstance(parsed, dict) else None
    if not isinstance(inner, dict):
        return None
    texts = [inner.get("name"), inner.get("connector")]
    numbers = [java_int(inner.get("task")), java_int(inner.get("discoverTimestamp"))]
    if not all(isinstance(text, str) for text in texts) or None in numbers:
        return None
    return {"topic": texts[0], "connector": texts[1], "task": numbers[0], "at": inner["discoverTimestamp"]}


def written_status(records: list[Values]) -> Values:
    """The call on the status store that writes this record.

    The record does not say whether the guarded `putSafe` was used: assumed for the states that workers write with it.
    Nor does a tombstone say who wrote it.
    """
    key, value = records[0]["key"], records[0]["value"]
    if key.startswith(STATUS_TOPIC):
        entry = _topic_entry(value) if value is not None else None
        if entry is None:
            return {"call": "deleteTopic"}
        at = entry.pop("at")
        return {"call": "putTopic", **entry, "discoverTimestamp": at}
    task = split_task(key, 2) if key.startswith(STATUS_TASK) else None
    id_ = key.removeprefix(STATUS_CONNECTOR) if task is None else f"{task[0]}-{task[1]}"
    status = _status(id_, value) if value is not None else None
    if status is None:
        status = {"id": id_, "state": "DESTROYED", "trace": None, "workerId": None, "generation": None, "version": None}
    call = "putSafe" if status["state"] in ("UNASSIGNED", "FAILED") else "put"
    return {"call": call, "connector" if task is None else "task": status}
