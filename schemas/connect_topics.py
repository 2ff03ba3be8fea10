"""Records of Connect's config and status topics, reduced to what may be kept: names, counts and states.

Connector and task configurations, session keys and traces never leave the decoders: nothing here holds them, and no
outcome carries bytes or text of a value.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

from .connect_json import NotJson, java_int, parse, split_task
from .errors import unreadable
from .java_text import decode_utf8
from .outcomes import Decoded, Ignored, Outcome, Unreadable


@dataclass(frozen=True, slots=True)
class ConnectorConfigured:
    """`connector-<name>`: the connector exists. Its configuration is never kept."""

    name: str
    tasks_max: int | None = None


@dataclass(frozen=True, slots=True)
class ConnectorDeleted:
    """Tombstone of `connector-<name>`."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskStaged:
    """`task-<name>-<number>`: staged until the commit."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class TasksCommitted:
    """`commit-<name>`: `count` is None where the value has no usable integer. That has no effect, except that any
    commit for a connector without configuration removes what is left of it."""

    name: str
    count: int | None


@dataclass(frozen=True, slots=True)
class TargetState:
    """`target-state-<name>`: STARTED, PAUSED, STOPPED; None when removed."""

    name: str
    state: str | None


@dataclass(frozen=True, slots=True)
class OtherConfig:
    """A record without effect on the job set (session key, restart, fencing, logger, unknown key, ignored value).

    `advances` is False where Kafka's reader does not even count the record for its offset (a value it cannot parse).
    Of such a value its size and a keyed digest are kept: enough to see whether two are the same, not what they say.
    """

    what: str
    advances: bool = True
    size_bytes: int = 0
    digest: str = ""


ConfigRecord: TypeAlias = (
    ConnectorConfigured | ConnectorDeleted | TaskStaged | TasksCommitted | TargetState | OtherConfig
)


@dataclass(frozen=True, slots=True)
class StatusRecord:
    """`status-connector-…` (`task` None) or `status-task-…-n`. `state` None is the tombstone. No trace is kept."""

    connector: str
    task: int | None
    state: str | None
    worker_id: str | None = None
    generation: int | None = None


NOT_JSON = "not_json"
TARGET_STATES = frozenset({"STARTED", "PAUSED", "STOPPED"})
# Tried in this order: "task-" would not match "tasks-fencing-", but a connector may be called anything.
TARGET_STATE, CONNECTOR, TASK, COMMIT = "target-state-", "connector-", "task-", "commit-"
_WITHOUT_EFFECT = {
    "restart-connector-": "restart",
    "tasks-fencing-": "tasks_fencing",
    "logger-cluster-": "logger",
}


def decode_config_record(key: bytes | None, value: bytes | None, digest_key: bytes = b"") -> Outcome[ConfigRecord]:
    """One record of the config topic. A value that the converter can't parse is `OtherConfig(NOT_JSON, …)`, with a
    digest if there is a key for it (up to 64 bytes, random and known to nobody)."""
    try:
        parsed = None if value is None else parse(value)
    except NotJson:
        size = len(value or b"")
        return Decoded(OtherConfig(NOT_JSON, advances=False, size_bytes=size, digest=_digest(value, digest_key)))
    if key is None:
        return Decoded(OtherConfig("null_key"))
    return Decoded(_config(decode_utf8(key), parsed))


def _digest(value: bytes | None, key: bytes) -> str:
    """Without the key a short value could be found by trying: hence none without one."""
    return blake2b(value or b"", key=key, digest_size=16).hexdigest() if key else ""


def _config(key: str, value: Any) -> ConfigRecord:
    if key.startswith(TARGET_STATE):
        return _target_state(key.removeprefix(TARGET_STATE), value)
    if key.startswith(CONNECTOR):
        return _connector(key.removeprefix(CONNECTOR), value)
    if key.startswith(TASK):
        task = split_task(key, 1)
        usable = task is not None and properties(value) is not None
        return TaskStaged(*task) if task is not None and usable else OtherConfig("task_ignored")
    if key.startswith(COMMIT):
        count = java_int(value.get("tasks")) if isinstance(value, dict) else None
        return TasksCommitted(key.removeprefix(COMMIT), count)
    if key == "session-key":
        return OtherConfig("session_key")
    for prefix, what in _WITHOUT_EFFECT.items():
        if key.startswith(prefix):
            return OtherConfig(what)
    return OtherConfig("unknown_key")


def target_state_of(value: Any) -> str | None:
    """The state a target-state value asks for, `state.v2` before `state`; None if the reader ignores the value."""
    if not isinstance(value, dict):
        return None
    state = value.get("state.v2")
    if state is None:
        state = value.get("state")
    return state if isinstance(state, str) and state in TARGET_STATES else None


def properties(value: Any) -> dict[str, Any] | None:
    """The `properties` of a connector or task value, None if the reader ignores the value."""
    inner = value.get("properties") if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else None


def _target_state(name: str, value: Any) -> ConfigRecord:
    if value is None:
        return TargetState(name, None)
    state = target_state_of(value)
    return OtherConfig("target_state_ignored") if state is None else TargetState(name, state)


def _connector(name: str, value: Any) -> ConfigRecord:
    if value is None:
        return ConnectorDeleted(name)
    config = properties(value)
    if config is None:
        return OtherConfig("connector_ignored")
    limit = config.get("tasks.max")
    # Only a plain decimal: a variable such as ${file:…} is part of a configuration and stays out.
    if isinstance(limit, str) and limit.isascii() and limit.isdecimal() and len(limit) <= 9:
        return ConnectorConfigured(name, int(limit))
    return ConnectorConfigured(name)


STATUS_CONNECTOR, STATUS_TASK, STATUS_TOPIC = "status-connector-", "status-task-", "status-topic-"


def decode_status_record(key: bytes | None, value: bytes | None) -> Outcome[StatusRecord]:
    """One record of the status topic; topic entries and foreign keys are `Ignored`."""
    if key is None:
        return Unreadable("null_key")
    text = decode_utf8(key)
    task: int | None = None
    if text.startswith(STATUS_CONNECTOR):
        name = text.removeprefix(STATUS_CONNECTOR)
    elif text.startswith(STATUS_TASK):
        split = split_task(text, 2)
        if split is None:
            return Unreadable("malformed_key")
        name, task = split
    else:
        return Ignored("topic_status" if text.startswith(STATUS_TOPIC) else "unknown_key")
    if value is None:
        return Decoded(StatusRecord(name, task, None))
    try:
        parsed = parse(value)
    except NotJson as why:
        return unreadable(why)
    return _status(name, task, parsed)


def _status(name: str, task: int | None, value: Any) -> Outcome[StatusRecord]:
    if not isinstance(value, dict):
        return Unreadable("not_an_object")
    state, worker_id = value.get("state"), value.get("worker_id")
    generation = java_int(value.get("generation"))
    if not isinstance(state, str) or generation is None:
        return Unreadable("malformed_status")
    return Decoded(StatusRecord(name, task, state, worker_id if isinstance(worker_id, str) else None, generation))
