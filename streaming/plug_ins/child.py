"""What the process of a plug-in does: it reads requests from its standard input and writes replies to its standard
output, as both are at the start. Then the plug-in gets others: nothing to read, and standard error in place of standard
output. It ends when the job closes the pipe.
"""

import json
import os
import pickle
import resource
from collections.abc import Mapping
from typing import assert_never
from uuid import UUID

from rebalance_monitor.assignors.streams.task_assignor import TaskAssignmentException, TaskAssignor
from rebalance_monitor.assignors.streams.tasks import TaskId
from .loading import NotLoaded, load
from .starting import Starts
from .watching import WatchedState
from .wire import (
    BEGINS,
    HEAD,
    IS_OVER,
    AssignRequest,
    ComputedRequest,
    LoadRequest,
    Nonsense,
    Outcome,
    Request,
    clients_of,
    framed,
    one_line,
)

MIB = 1024 * 1024


def answer_requests(memory_mib: int) -> None:
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = memory_mib * MIB if hard == resource.RLIM_INFINITY else min(memory_mib * MIB, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    _hash_by_seed()
    plugged, starts, own, keeper = _Plugged(), Starts(), os.getpid(), os.getppid()
    while (request := _read(requests)) is not None:
        os.kill(keeper, BEGINS)
        starts.begin()
        answer = plugged.answer(request)
        if os.getpid() != own:
            os._exit(0)  # a copy that the plug-in made of this process
        if starts.too_many:
            answer = {"outcome": Outcome.TOO_MANY_PROCESSES}
        _write(replies, framed(json.dumps({"number": request.number, **answer}).encode()))
        os.kill(keeper, IS_OVER)


def _hash_by_seed() -> None:
    """Let sets of process ids and of tasks, too, have an order of this process alone. Python's hash of numbers has no
    seed: an answer that rests on the order of such a set would be the same in both processes, and not Java's."""
    seed = hash("the seed of this process")
    setattr(UUID, "__hash__", lambda process: hash((seed, process.int)))  # noqa: B010 - mypy allows no assignment
    setattr(TaskId, "__hash__", lambda task: hash((seed, *task)))  # noqa: B010


class _Plugged:
    """The class, and its newest instance."""

    def __init__(self) -> None:
        self._made: type[TaskAssignor] | None = None
        self._instance: TaskAssignor | None = None
        self._configs: Mapping[str, object] = {}

    def answer(self, request: Request) -> dict[str, object]:
        """What a reply says; whatever the plug-in raises is part of it."""
        try:
            return self._answer(request)
        except MemoryError:
            self._instance = None
            return {"outcome": Outcome.OUT_OF_MEMORY}
        except NotLoaded as why:
            return {"outcome": Outcome.NOT_LOADED, "text": str(why)}
        except Nonsense as why:
            return {"outcome": Outcome.NONSENSE, "text": str(why)}
        except BaseException as why:  # SystemExit, too
            return _raised(why)

    def _answer(self, request: Request) -> dict[str, object]:
        match request:
            case LoadRequest():
                self._made, self._configs = load(request.name, request.path), request.configs
                return {"outcome": Outcome.LOADED}
            case AssignRequest():
                return self._assign(request)
            case ComputedRequest():
                assert self._instance is not None  # the job asks only after an assignment
                self._instance.on_assignment_computed(request.assignment, request.subscription, request.error)
                return {"outcome": Outcome.TOLD}
            case _:
                assert_never(request)

    def _assign(self, request: AssignRequest) -> dict[str, object]:
        assert self._made is not None  # loading is the first request
        state = WatchedState(request.state)
        try:
            self._instance = self._made()
            self._instance.configure(dict(self._configs))
            clients = clients_of(self._instance.assign(state))
        except TaskAssignmentException as why:
            return {"outcome": Outcome.NO_ASSIGNMENT, "text": _text(why), "read": sorted(state.read)}
        except (MemoryError, Nonsense):
            raise
        except BaseException as why:
            return {**_raised(why), "read": sorted(state.read)}
        return {"outcome": Outcome.ASSIGNED, "clients": clients, "read": sorted(state.read)}


def _raised(why: BaseException) -> dict[str, object]:
    return {"outcome": Outcome.RAISED, "name": type(why).__name__, "text": _text(why)}


def _text(why: BaseException) -> str:
    try:
        return one_line(str(why))
    except Exception:
        return "its text cannot be told"


def _read(source: int) -> Request | None:
    head = _exactly(source, HEAD.size)
    payload = None if head is None else _exactly(source, HEAD.unpack(head)[0])
    if payload is None:
        return None
    request: Request = pickle.loads(payload)
    return request


def _exactly(source: int, count: int) -> bytes | None:
    """So many bytes; None where the job has closed the pipe."""
    found = bytearray()
    while len(found) < count:
        part = os.read(source, min(count - len(found), MIB))
        if not part:
            return None
        found += part
    return bytes(found)


def _write(target: int, message: bytes) -> None:
    left = memoryview(message)
    while left:
        left = left[os.write(target, left) :]
