"""The blobs a Connect worker and its leader exchange: worker state and assignment.

Workers and leaders read every version with one tolerant reader: any version from 0 on is accepted, the fields at the
end may be missing (but not begun and cut), bytes behind the last field are left unread.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from .compiled import row_reader
from .errors import SchemaError, UnsupportedVersion, unreadable
from .frozen import maker
from .fused import Blob
from .layouts import Array, Field, Group, Kind, Layout, Values
from .outcomes import Decoded, Outcome
from .struct_writers import writer

TaskId = tuple[str, int]
# (connector, task numbers) in wire order; the number -1 is the connector itself.
Entries: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]

THE_CONNECTOR = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectAssignment:
    """One worker's share. Lists keep wire order and repeats. V1 and later carry the increment, V0 everything."""

    version: int
    error: int = 0
    leader: str
    leader_url: str
    config_offset: int
    connectors: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[TaskId, ...] = ()
    delay_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """What a worker sends when it joins. `allocation` is None if it holds no assignment object at all."""

    version: int
    url: str
    config_offset: int
    allocation: ConnectAssignment | None = None
    static_connectors: tuple[str, ...] = ()
    static_tasks: tuple[TaskId, ...] = ()


_ENTRIES = Array(Group((Field("connector", Kind.STRING), Field("tasks", Array(Kind.INT32)))))

# Kafka reads any version with one layout, so these are not keyed by the version in the bytes: layout 0 is the strict
# V0 reader and writer, layout 1 everything else.
WORKER_STATE = Layout(
    "WorkerState",
    newest=1,
    fields=(
        Field("version", Kind.INT16),
        Field("url", Kind.STRING),
        Field("config_offset", Kind.INT64),
        Field("allocation", Kind.BYTES, since=1, nullable=True, optional=True),
    ),
)
ASSIGNMENT = Layout(
    "Assignment",
    newest=1,
    fields=(
        Field("version", Kind.INT16),
        Field("error", Kind.INT16),
        Field("leader", Kind.STRING),
        Field("leader_url", Kind.STRING),
        Field("config_offset", Kind.INT64),
        Field("assigned", _ENTRIES, until=0, apart=THE_CONNECTOR),
        Field("assigned", _ENTRIES, since=1, nullable=True, optional=True, apart=THE_CONNECTOR),
        Field("revoked", _ENTRIES, since=1, nullable=True, optional=True, apart=THE_CONNECTOR),
        Field("delay_ms", Kind.INT32, since=1, optional=True, default=0),
    ),
)
# Fields 5 and 6 of a worker state in a group whose chosen protocol is `static`.
STATIC_PART = Layout(
    "StaticPart",
    fields=(
        Field("connectors", Array(Kind.STRING), nullable=True, optional=True),
        Field("tasks", _ENTRIES, nullable=True, optional=True),
    ),
)


# Any version, and mostly the same leader's header.
ASSIGNMENT_BLOB = Blob(ASSIGNMENT, 1, ConnectAssignment, lowest=0, highest=0x7FFF, shared=5)
# As members of a group with another protocol than `static` send it.
WORKER_STATE_BLOB = Blob(
    WORKER_STATE, 1, WorkerState, lowest=0, highest=0x7FFF, shared=0, holds={"allocation": ASSIGNMENT_BLOB}
)

_make_state = maker(WorkerState)
_READ_STATE = {strict: row_reader(WORKER_STATE, 0 if strict else 1) for strict in (True, False)}
# Each of the layout's arrays stands for two fields of the value, names and tasks.
_READ_ASSIGNMENT = {strict: row_reader(ASSIGNMENT, 0 if strict else 1, ConnectAssignment) for strict in (True, False)}


def decode_worker_state(blob: bytes, *, strict_v0: bool = False, static: bool = False) -> Outcome[WorkerState]:
    """A subscription blob. `static` reads the static settings of V3, else version 3 is read as Kafka's class does;
    `strict_v0` is the reader of the eager protocol's own class, which sees no allocation."""
    try:
        state, end = read_worker_state(blob, strict_v0, static)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(state, len(blob) - end)


def decode_assignment(blob: bytes, *, strict_v0: bool = False) -> Outcome[ConnectAssignment]:
    """An assignment blob; `strict_v0` is the reader of the eager protocol's own class."""
    try:
        value, end = read_assignment(blob, strict_v0)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(value, len(blob) - end)


def read_worker_state(blob: bytes, strict_v0: bool = False, static: bool = False) -> tuple[WorkerState, int]:
    """As `decode_worker_state`, for the hot path: the value and its end, or SchemaError."""
    (version, url, config_offset, held), end = _READ_STATE[strict_v0](blob, 0)
    if version < 0:
        raise UnsupportedVersion(version)
    allocation = None if held is None else read_assignment(held)[0]
    if static and version >= 3:
        (named, numbered), end = row_reader(STATIC_PART, 0)(blob, end)
        connectors = tuple(dict.fromkeys(named or ()))
        # A negative number has no meaning here: the sentinel for the connector is not used.
        tasks = tuple(dict.fromkeys(task for task in numbered or () if task[1] >= 0))
        return _make_state(version, url, config_offset, allocation, connectors, tasks), end
    return _make_state(version, url, config_offset, allocation, (), ()), end


def read_assignment(blob: bytes, strict_v0: bool = False) -> tuple[ConnectAssignment, int]:
    """As `decode_assignment`, for the hot path: the value and its end, or SchemaError."""
    made: tuple[ConnectAssignment, int] = _READ_ASSIGNMENT[strict_v0](blob, 0)
    if made[0].version < 0:
        raise UnsupportedVersion(made[0].version)
    return made


def encode_assignment(value: ConnectAssignment, assigned: Entries, revoked: Entries = ()) -> bytes:
    """Header fields from `value`, the arrays from the entries as they are ordered. V0 has neither revocations nor
    delay. Raises SchemaError for a string that doesn't fit."""
    out = bytearray()
    fields = {
        "version": value.version,
        "error": value.error,
        "leader": value.leader,
        "leader_url": value.leader_url,
        "config_offset": value.config_offset,
        "assigned": _entries(assigned),
        "revoked": _entries(revoked),
        "delay_ms": value.delay_ms,
    }
    writer(ASSIGNMENT, min(value.version, 1))(out, fields)
    return bytes(out)


def encode_worker_state(
    state: WorkerState, assigned: Entries = (), revoked: Entries = (), *, allocation_version: int | None = None
) -> bytes:
    """The entries are those of the allocation, whose version is written as the state's own unless given (releases
    before 3.3.0 always write 1). V3 adds the static settings, sorted, null for none. Raises SchemaError for a string
    that doesn't fit."""
    allocation = None
    if state.allocation is not None and state.version >= 1:
        inner = state.version if allocation_version is None else allocation_version
        allocation = encode_assignment(replace(state.allocation, version=inner), assigned, revoked)
    out = bytearray()
    outer = {"version": state.version, "url": state.url, "config_offset": state.config_offset, "allocation": allocation}
    writer(WORKER_STATE, min(state.version, 1))(out, outer)
    if state.version >= 3:
        writer(STATIC_PART, 0)(out, _static_part(state))
    return bytes(out)


def _entries(entries: Entries) -> list[Values]:
    return [{"connector": name, "tasks": list(numbers)} for name, numbers in entries]


def _static_part(state: WorkerState) -> Values:
    def java_order(name: str) -> bytes:
        return name.encode("utf-16-be", "surrogatepass")

    numbers: dict[str, set[int]] = {}
    for name, number in state.static_tasks:
        numbers.setdefault(name, set()).add(number)
    tasks: list[dict[str, Any]] = [
        {"connector": name, "tasks": sorted(numbers[name])} for name in sorted(numbers, key=java_order)
    ]
    return {"connectors": sorted(set(state.static_connectors), key=java_order) or None, "tasks": tasks or None}
