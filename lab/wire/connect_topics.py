"""Family `connect-topics-wire`: what Connect's stores make of whole logs, configurations and traces included.

The product decodes these topics with `schemas.connect_topics`, which keeps names and states only. This reader sees
everything, so it stays out of the product. It keeps no session keys.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass, field
from typing import Any

from lab.wire.connect_statuses import read_statuses, written_status
from rebalance_monitor.schemas.connect_json import NotJson, java_int, parse, split_task
from rebalance_monitor.schemas.connect_topics import COMMIT, CONNECTOR, TARGET_STATE, TARGET_STATES, TASK, properties

Values = dict[str, Any]
Event = list[Any]

RESTART, FENCING, SESSION_KEY, LOGGER = "restart-connector-", "tasks-fencing-", "session-key", "logger-cluster-"


class ReaderThrows(Exception):
    """The real reader throws here: the record has no effect, but its offset counts."""

    def __init__(self, java_class: str) -> None:
        super().__init__(java_class)
        self.java_class = java_class


NEWEST = "4.3.1"
"""The release of a case that names none."""


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case."""
    given = case["input"]
    match case["kind"]:
        case "config-log":
            store = _read_configs(given["log"])
            return {"state": store.as_json(), "events": store.events, "threw": store.threw}
        case "config-write":
            records = given["records"]
            store = _read_configs([[at, r["key"], r["value"]] for at, r in enumerate(records)])
            return {"call": _written_config(records), "events": store.events}
        case "status-log":
            return {"state": read_statuses(given["log"], case.get("release") or NEWEST)}
        case "status-write":
            return {"call": written_status(given["records"])}
        case kind:
            return {"error": f"unknown kind {kind}"}


@dataclass(slots=True)
class _Connector:
    """What the config store holds under one connector name."""

    config: Values | None = None
    target_state: str | None = None
    task_count: int | None = None
    task_configs: dict[int, Values] = field(default_factory=dict)
    staged: dict[int, Values] | None = None
    generation: int | None = None
    count_record: int | None = None
    pending_fencing: bool = False
    inconsistent: bool = False

    def remove(self) -> None:
        """What the deletion of a connector clears; the rest stays for good."""
        self.config = self.task_count = self.staged = None
        self.task_configs = {}

    def as_json(self) -> Values:
        shown: Values = {}
        if self.config is not None:
            shown["config"] = self.config
        if self.target_state is not None:
            shown["targetState"] = self.target_state
        if self.task_count is not None:
            shown["taskCount"] = self.task_count
            shown["tasks"] = [] if self.inconsistent else list(range(self.task_count))
        if self.task_configs:
            shown["taskConfigs"] = {str(n): self.task_configs[n] for n in sorted(self.task_configs)}
        if self.generation is not None:
            shown["taskConfigGeneration"] = self.generation
        if self.count_record is not None:
            shown["taskCountRecord"] = self.count_record
        if self.pending_fencing:
            shown["pendingFencing"] = True
        if self.inconsistent:
            shown["inconsistent"] = True
        return shown


@dataclass(slots=True)
class _ConfigStore:
    next_offset: int = -1
    has_session_key: bool = False
    connectors: dict[str, _Connector] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    threw: list[list[Any]] = field(default_factory=list)

    def named(self, name: str) -> _Connector:
        return self.connectors.setdefault(name, _Connector())

    def as_json(self) -> Values:
        listed = {name: self.connectors[name].as_json() for name in sorted(self.connectors)}
        return {
            "nextOffset": self.next_offset,
            "hasSessionKey": self.has_session_key,
            "connectors": {name: shown for name, shown in listed.items() if shown},
        }

    def read(self, key: str, value: Any) -> None:
        """Apply one record whose value could be parsed."""
        if key.startswith(TARGET_STATE):
            self._target_state(key.removeprefix(TARGET_STATE), value)
        elif key.startswith(CONNECTOR):
            self._connector(key.removeprefix(CONNECTOR), value)
        elif key.startswith(TASK):
            self._task(key, value)
        elif key.startswith(COMMIT):
            self._commit(key.removeprefix(COMMIT), value)
        elif key.startswith(RESTART):
            self._restart(key.removeprefix(RESTART), value)
        elif key.startswith(FENCING):
            self._fencing(key.removeprefix(FENCING), value)
        elif key == SESSION_KEY:
            self._session_key(value)
        elif key.startswith(LOGGER) and isinstance(_get(value, "level"), str):
            self.events.append(["onLoggingLevelUpdate", key.removeprefix(LOGGER), value["level"]])

    def _target_state(self, name: str, value: Any) -> None:
        connector = self.named(name)
        if value is None:
            connector.target_state = None if connector.config is None else "STARTED"
            return
        state = _get(value, "state.v2")
        if state is None:
            state = _get(value, "state")
        if not isinstance(state, str) or state not in TARGET_STATES:
            return
        before, connector.target_state = connector.target_state, state
        if connector.config is not None and before != state:
            self.events.append(["onConnectorTargetStateChange", name])

    def _connector(self, name: str, value: Any) -> None:
        connector = self.named(name)
        if value is None:
            connector.remove()
            self.events.append(["onConnectorConfigRemove", name])
            return
        config = properties(value)
        if config is None:
            return
        connector.config = config
        connector.target_state = connector.target_state or "STARTED"
        self.events.append(["onConnectorConfigUpdate", name])

    def _task(self, key: str, value: Any) -> None:
        task, config = split_task(key, 1), properties(value)
        if task is None or config is None:
            return
        connector = self.named(task[0])
        connector.staged = {**(connector.staged or {}), task[1]: config}

    def _commit(self, name: str, value: Any) -> None:
        connector = self.named(name)
        if connector.config is None:
            connector.remove()
            return
        if not isinstance(value, dict):
            return
        count = _java_int(value.get("tasks"))
        staged = connector.staged
        updated: list[str] = []
        connector.inconsistent = not set(range(count)) <= set(staged or ())
        if staged is not None:
            if not connector.inconsistent:
                connector.task_configs.update(staged)
                updated = [f"{name}-{number}" for number in sorted(staged)]
                connector.generation = 0 if connector.generation is None else connector.generation + 1
            connector.staged = {}
        connector.task_count = count
        connector.pending_fencing = True
        self.events.append(["onTaskConfigUpdate", updated])

    def _restart(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            self.events.append(["onRestartRequest", _restart_request(name, value)])

    def _fencing(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            connector = self.named(name)
            connector.count_record = _java_int(value.get("task-count"))
            connector.pending_fencing = False

    def _session_key(self, value: Any) -> None:
        sound = (
            isinstance(_get(value, "key"), str)
            and isinstance(_get(value, "algorithm"), str)
            and java_int(_get(value, "creation-timestamp")) is not None
        )
        if not sound:
            return
        try:
            b64decode(value["key"], validate=True)
        except (Base64Error, ValueError):
            raise ReaderThrows("IllegalArgumentException") from None
        self.has_session_key = True
        self.events.append(["onSessionKeyUpdate", "secret"])


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _java_int(value: Any) -> int:
    number = java_int(value)
    if number is None:
        raise ReaderThrows("ConnectException")
    return number


def _restart_request(name: str, value: Values) -> Values:
    return {
        "connector": name,
        "onlyFailed": value.get("only-failed") is True,
        "includeTasks": value.get("include-tasks") is True,
    }


def _read_configs(log: list[list[Any]]) -> _ConfigStore:
    store = _ConfigStore()
    parsed = [_parsed(value) for _, _, value in log]
    # One converter reads the whole log. If it expects schemas, values without one are as bad as broken JSON.
    with_schemas = any(_enveloped(value) for value in parsed)
    for (offset, key, raw), value in zip(log, parsed, strict=True):
        enveloped = _enveloped(value)
        if isinstance(value, NotJson) or (with_schemas and raw is not None and not enveloped):
            continue  # skipped before the offset is counted
        store.next_offset = offset + 1
        try:
            if key is None:
                raise ReaderThrows("NullPointerException")
            # A value with a schema becomes a struct, which the store takes for the wrong format.
            store.read(key, "a struct" if enveloped else value)
        except ReaderThrows as why:
            store.threw.append([offset, why.java_class])
    return store


def _parsed(value: str | None) -> Any:
    try:
        return None if value is None else parse(b64decode(value))
    except NotJson as why:
        return why


def _enveloped(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"schema", "payload"}


def _payload(value: str | None) -> Any:
    """The object in a value, with or without the envelope of a converter that writes schemas."""
    parsed: Any = None if value is None else parse(b64decode(value))
    return parsed["payload"] if _enveloped(parsed) else parsed


def _written_config(records: list[Values]) -> Values:
    """The call on the config store that writes these records."""
    values = {record["key"]: _payload(record["value"]) for record in records}
    last, value = next(reversed(values.items()))
    state = next((v for k, v in values.items() if k.startswith(TARGET_STATE)), None)
    wanted = None if state is None else state.get("state.v2") or state.get("state")
    first = next(iter(values))
    if first.startswith(CONNECTOR) and values[first] is None:
        return {"call": "removeConnectorConfig", "connector": first.removeprefix(CONNECTOR)}
    if last.startswith(CONNECTOR):
        name = last.removeprefix(CONNECTOR)
        written = {"call": "putConnectorConfig", "connector": name, "config": value["properties"]}
        return {**written, "targetState": wanted}
    if last.startswith(TARGET_STATE):
        return {"call": "putTargetState", "connector": last.removeprefix(TARGET_STATE), "targetState": wanted}
    if last.startswith(COMMIT):
        tasks = [v["properties"] for k, v in values.items() if k.startswith(TASK)]
        return {"call": "putTaskConfigs", "connector": last.removeprefix(COMMIT), "tasks": tasks}
    return _written_other(last, value)


def _written_other(key: str, value: Values) -> Values:
    if key == SESSION_KEY:
        return {"call": "putSessionKey", "creationTimestamp": value["creation-timestamp"]}
    if key.startswith(FENCING):
        name = key.removeprefix(FENCING)
        return {"call": "putTaskCountRecord", "connector": name, "taskCount": value["task-count"]}
    if key.startswith(RESTART):
        return {"call": "putRestartRequest", "request": _restart_request(key.removeprefix(RESTART), value)}
    return {"call": "putLoggerLevel", "namespace": key.removeprefix(LOGGER), "level": value["level"]}
