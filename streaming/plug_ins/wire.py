"""Messages between the job and the process of a plug-in.

A message is four bytes with its length, then that many bytes. Requests are pickled: the process trusts the job that
started it. Replies are JSON with one object, and what is in it is checked: a plug-in may have written them.

    {"number": 7, "outcome": "assigned", "read": ["lags"], "clients": [[PROCESS, DEADLINE, MOST, [[0, 1, "", true]]]]}

A client's tasks are sub-topology, partition, name of the topology, and whether it is active.
"""

import json
import signal
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    AssignmentError,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.task_assignor import GroupAssignment, GroupSubscription
from rebalance_monitor.assignors.streams.tasks import TaskId

HEAD = struct.Struct(">I")
MOST_REPLY_BYTES = 64 * 1024 * 1024
MOST_TEXT = 300
MOST_PROCESSES = 32
"""That may run at one time beside the plug-in's process, and that it may start in one call."""
BEGINS, IS_OVER = signal.SIGUSR1, signal.SIGUSR2
"""What the plug-in's process sends its keeper about a call."""
_INT_32, _INT_64 = 1 << 31, 1 << 63


class Outcome(StrEnum):
    """What became of one request."""

    LOADED = "loaded"
    NOT_LOADED = "not_loaded"
    ASSIGNED = "assigned"
    NO_ASSIGNMENT = "no_assignment"
    TOLD = "told"
    RAISED = "raised"
    OUT_OF_MEMORY = "out_of_memory"
    TOO_MANY_PROCESSES = "too_many_processes"
    NONSENSE = "nonsense"


class HowEnded(StrEnum):
    """Why the keeper has ended a plug-in's process and all that descends from it; EXIT is followed by the exit code, or
    by the number of the signal, negative."""

    EXIT = "exit"
    PROCESSES = "processes"
    MEMORY = "memory"
    WANTED = "wanted"


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The class is loaded; the first request."""

    number: int
    name: str
    path: tuple[str, ...]
    configs: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AssignRequest:
    """A new instance: `configure`, then `assign`."""

    number: int
    state: ApplicationState


@dataclass(frozen=True, slots=True)
class ComputedRequest:
    """`on_assignment_computed` of the newest instance."""

    number: int
    assignment: GroupAssignment
    subscription: GroupSubscription
    error: AssignmentError


Request = LoadRequest | AssignRequest | ComputedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to a request. `name` and `text` say what was raised; `read` what of the state was looked at."""

    number: int
    outcome: Outcome
    name: str = ""
    text: str = ""
    read: frozenset[str] = frozenset()
    assignment: TaskAssignment | None = None


class Nonsense(ValueError):
    """What a plug-in returned, or what came as a reply, is none."""


def one_line(text: str) -> str:
    """At most 300 characters of one line, for a message."""
    plain = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return plain if len(plain) <= MOST_TEXT else plain[: MOST_TEXT - 1] + "…"


def framed(payload: bytes) -> bytes:
    return HEAD.pack(len(payload)) + payload


def clients_of(answer: object) -> list[object]:
    """What `assign` returned, as a reply has it. Raises Nonsense."""
    if not isinstance(answer, TaskAssignment):
        raise Nonsense(f"assign returned {_kind(answer)}, not a TaskAssignment")
    return [_client(one) for one in answer.assignment]


def _client(client: object) -> list[object]:
    if not isinstance(client, KafkaStreamsAssignment):
        raise Nonsense(f"the TaskAssignment holds {_kind(client)}, not a KafkaStreamsAssignment")
    deadline = client.followup_rebalance_deadline_ms
    if not isinstance(client.process_id, UUID):
        raise Nonsense(f"a process id is {_kind(client.process_id)}, not a UUID")
    if deadline is not None and not _whole(deadline, _INT_64):
        raise Nonsense("a follow-up deadline is no whole number of milliseconds")
    tasks, most = client.insertions()
    return [str(client.process_id), deadline, most, [_task(task) for task in tasks]]


def _task(task: object) -> list[object]:
    if not isinstance(task, AssignedTask) or not isinstance(task.id, TaskId) or not isinstance(task.type, TaskType):
        raise Nonsense("an assigned task is no AssignedTask of a TaskId and a TaskType")
    subtopology, partition, topology = task.id
    if not _whole(subtopology, _INT_32) or not _whole(partition, _INT_32) or not isinstance(topology, str):
        raise Nonsense("a TaskId holds other values than two whole numbers and a text")
    return [int(subtopology), int(partition), str(topology), task.type is TaskType.ACTIVE]


def reply_of(payload: bytes) -> Reply:
    """The reply in these bytes. Raises Nonsense."""
    try:
        raw = json.loads(payload)
        clients = raw.get("clients")
        return Reply(
            number=_number(raw["number"]),
            outcome=Outcome(raw["outcome"]),
            name=one_line(_text(raw.get("name", ""))),
            text=one_line(_text(raw.get("text", ""))),
            read=frozenset(map(_text, raw.get("read", ()))),
            assignment=None if clients is None else TaskAssignment(tuple(map(_restored, clients))),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as why:
        raise Nonsense(f"its reply cannot be read: {one_line(str(why))}") from None


def _restored(raw: object) -> KafkaStreamsAssignment:
    if not isinstance(raw, list):
        raise TypeError("a client is no list")
    process, deadline, most, tasks = raw
    return KafkaStreamsAssignment.restored(
        UUID(_text(process)),
        [
            AssignedTask(
                TaskId(_number(subtopology), _number(partition), _text(topology)),
                TaskType.ACTIVE if active is True else TaskType.STANDBY,
            )
            for subtopology, partition, topology, active in tasks
        ],
        min(_number(most), _INT_32),
        None if deadline is None else _number(deadline),
    )


def _number(value: object) -> int:
    if not _whole(value, _INT_64):
        raise TypeError(f"{_kind(value)} in place of a number")
    assert isinstance(value, int)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_kind(value)} in place of a text")
    return value


def _whole(value: object, bound: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
