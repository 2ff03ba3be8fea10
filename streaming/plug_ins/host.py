"""Runs plug-ins: two processes for each, whose sets are in different orders, and a pause after failures in a row.

Both processes get every request, and their answers must be the same, or the plug-in's answer rests on the order of a
set. Replies that are late, none at all or nonsense end both processes; the next request starts new ones. After three
such failures in a row the plug-in is not called for a second, then for two, four … up to five minutes.
"""

import logging
import os
import pickle
import threading
import time
from collections.abc import Callable

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import AssignmentError
from rebalance_monitor.assignors.streams.task_assignment_utils import validate_task_assignment
from rebalance_monitor.assignors.streams.task_assignor import GroupAssignment, GroupSubscription
from rebalance_monitor.streaming.core.model.streams_settings import PlugIn
from rebalance_monitor.streaming.core.streams.plug_ins import (
    Assigned,
    AssignOutcome,
    FailureKind,
    NoAssignment,
    PlugInFailed,
    Threw,
)
from rebalance_monitor.streaming.plug_ins.channel import PlugInProcess, exchange
from rebalance_monitor.streaming.plug_ins.wire import (
    AssignRequest,
    ComputedRequest,
    LoadRequest,
    Nonsense,
    Outcome,
    Reply,
    Request,
    reply_of,
)

log = logging.getLogger("rebalance_monitor.plug_ins")
log.addHandler(logging.NullHandler())

SEEDS = (0, 1)
LOAD_BUDGET_MS = 10_000
"""Starting Python and importing the module: at least so long."""
BUDGETS_OF_A_GENERATION = 10
"""All calls of `assign` for one generation together, which are one for each possible value of what is not known."""
PATIENT_FAILURES = 3
LONGEST_PAUSE_S = 300.0
MOST_DOUBLINGS = 9
"""After so many doublings of a second the pause is the longest."""


class PlugInHost:
    """All plug-ins of this process. One call at a time; sent to another process it is that one's own."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._running: dict[PlugIn, _Twins] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def __reduce__(self) -> tuple[Callable[[], "PlugInHost"], tuple[()]]:
        return shared_host, ()

    def begin(self, plug_in: PlugIn) -> None:
        """The calls for another generation follow."""
        with self._lock:
            self._of(plug_in).spent_s = 0.0

    def assign(self, plug_in: PlugIn, state: ApplicationState) -> AssignOutcome:
        """A new instance: `configure`, then `assign`."""
        with self._lock:
            return self._of(plug_in).assign(state)

    def computed(
        self, plug_in: PlugIn, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> PlugInFailed | None:
        """`on_assignment_computed` of one of the two instances that assigned last."""
        with self._lock:
            return self._of(plug_in).computed(assignment, subscription, error)

    def loaded(self, plug_in: PlugIn) -> PlugInFailed | None:
        """Whether the plug-in can be loaded; None if so."""
        with self._lock:
            return self._of(plug_in).start()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            for twins in self._running.values():
                twins.end()
            self._running.clear()

    def _of(self, plug_in: PlugIn) -> "_Twins":
        if self._process != os.getpid():  # forked: the pipes are the other process's
            for twins in self._running.values():
                twins.forget()
            self._running, self._process = {}, os.getpid()
        found = self._running.get(plug_in)
        if found is None:
            found = self._running[plug_in] = _Twins(plug_in, self._clock_s)
        return found


_SHARED = PlugInHost()


def shared_host() -> PlugInHost:
    """The host of this process, to which all hosts that are sent here lead."""
    return _SHARED


class _Twins:
    """The two processes of one plug-in, while they run."""

    def __init__(self, plug_in: PlugIn, clock_s: Callable[[], float]) -> None:
        self._plug_in, self._clock_s = plug_in, clock_s
        self._channels: list[PlugInProcess] = []
        self._number = 0
        self._failures = 0
        self._paused_until_s = 0.0
        self._last: PlugInFailed | None = None
        self.spent_s = 0.0

    def start(self) -> PlugInFailed | None:
        """Start them if they do not run, and load the class; None if it is there."""
        if self._channels:
            return None
        if self._last is not None and self._clock_s() < self._paused_until_s:
            text = f"it is not called for a while, after failures in a row; the last: {self._last.text}"
            return PlugInFailed(FailureKind.PAUSED, text)
        plug_in = self._plug_in
        try:
            for seed in SEEDS:
                self._channels.append(PlugInProcess(seed, plug_in.memory_mib))
        except OSError as why:
            return self._lost(PlugInFailed(FailureKind.NOT_LOADED, f"its process cannot be started: {why}"))
        request = LoadRequest(self._next(), plug_in.name, plug_in.path, dict(plug_in.configs))
        replies = self._ask(request, max(plug_in.budget_ms, LOAD_BUDGET_MS))
        if isinstance(replies, PlugInFailed):
            return replies
        failed = next((one for one in replies if one.outcome is not Outcome.LOADED), None)
        if failed is None:
            return None
        text = failed.text
        if failed.outcome is not Outcome.NOT_LOADED:
            text = f"it cannot be loaded: {failed.name}: {failed.text}" if failed.name else "it cannot be loaded"
        return self._lost(PlugInFailed(FailureKind.NOT_LOADED, text))

    def assign(self, state: ApplicationState) -> AssignOutcome:
        """The answer, if it is the same in both."""
        failed = self.start()
        if failed is not None:
            return failed
        most_ms = BUDGETS_OF_A_GENERATION * self._plug_in.budget_ms
        if self.spent_s * 1000 >= most_ms:
            text = f"its calls for one generation take longer than {most_ms} ms together"
            return PlugInFailed(FailureKind.TIMED_OUT, text)
        began_s = self._clock_s()
        replies = self._ask(AssignRequest(self._next(), state), self._plug_in.budget_ms)
        self.spent_s += self._clock_s() - began_s
        if isinstance(replies, PlugInFailed):
            return replies
        first, second = replies
        for reply in replies:
            if reply.outcome in (Outcome.OUT_OF_MEMORY, Outcome.NONSENSE):
                return self._lost(self._unusable(reply))
        self._failures, self._last = 0, None
        if _essence(first, state) != _essence(second, state):
            text = "two runs on the same input, in which Python's sets are in other orders, gave other answers"
            return PlugInFailed(FailureKind.NOT_DETERMINISTIC, text)
        read = first.read | second.read
        if first.assignment is not None:
            return Assigned(first.assignment, read)
        if first.outcome is Outcome.NO_ASSIGNMENT:
            return NoAssignment(first.text, read)
        return Threw(first.name, first.text, read)

    def computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> PlugInFailed | None:
        """Tell the first of them alone: a plug-in that keeps a record of it keeps one."""
        if not self._channels:
            return None
        request = ComputedRequest(self._next(), assignment, subscription, error)
        replies = self._ask(request, self._plug_in.budget_ms, self._channels[:1])
        if isinstance(replies, PlugInFailed):
            return _in_callback(replies)
        (reply,) = replies
        if reply.outcome is Outcome.TOLD:
            return None
        if reply.outcome is Outcome.OUT_OF_MEMORY:
            return _in_callback(self._lost(self._unusable(reply)))
        return _in_callback(PlugInFailed(FailureKind.RAISED, f"it raised {reply.name}: {reply.text}"))

    def end(self) -> None:
        """End both processes."""
        for channel in self._channels:
            channel.end()
        self._channels = []

    def forget(self) -> None:
        """Leave both processes to the process that started them."""
        for channel in self._channels:
            channel.forget()
        self._channels = []

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _ask(
        self, request: Request, budget_ms: int, channels: list[PlugInProcess] | None = None
    ) -> list[Reply] | PlugInFailed:
        """The replies of all; the first failure ends both processes, as does a call that is broken off."""
        asked = self._channels if channels is None else channels
        payload = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        try:
            came = exchange([(channel, payload) for channel in asked], budget_ms)
        except BaseException:
            self.end()
            raise
        self._say(asked)
        replies: list[Reply] = []
        for piece in came:
            if isinstance(piece, PlugInFailed):
                return self._lost(piece)
            try:
                reply = reply_of(piece)
            except Nonsense as why:
                return self._lost(PlugInFailed(FailureKind.NONSENSE, str(why)))
            if reply.number != request.number or (reply.outcome is Outcome.ASSIGNED) != (reply.assignment is not None):
                return self._lost(PlugInFailed(FailureKind.NONSENSE, "its reply is that of another request"))
            replies.append(reply)
        return replies

    def _say(self, asked: list[PlugInProcess]) -> None:
        """What was printed, into the log."""
        for channel in asked[:1]:
            if channel.output:
                text = channel.output.decode(errors="replace")
                log.info("plug_in_printed", extra={"fields": {"plug_in": self._plug_in.name, "text": text}})

    def _unusable(self, reply: Reply) -> PlugInFailed:
        if reply.outcome is Outcome.OUT_OF_MEMORY:
            text = f"it needs more than {self._plug_in.memory_mib} MiB of memory"
            return PlugInFailed(FailureKind.OUT_OF_MEMORY, text)
        return PlugInFailed(FailureKind.NONSENSE, reply.text)

    def _lost(self, failed: PlugInFailed) -> PlugInFailed:
        """Both processes are ended; after some failures in a row the next are started later."""
        self.end()
        self._failures, self._last = self._failures + 1, failed
        if self._failures >= PATIENT_FAILURES:
            self._paused_until_s = self._clock_s() + pause_s(self._failures)
        fields = {"plug_in": self._plug_in.name, "kind": failed.kind.value, "why": failed.text}
        log.warning("plug_in_failed", extra={"fields": fields})
        return failed


def pause_s(failures: int) -> float:
    """How long a plug-in is not called after so many failures in a row, at least PATIENT_FAILURES: seconds."""
    doublings = min(failures - PATIENT_FAILURES, MOST_DOUBLINGS)
    return min(2.0**doublings, LONGEST_PAUSE_S)


def _in_callback(failed: PlugInFailed) -> PlugInFailed:
    return PlugInFailed(failed.kind, f"in on_assignment_computed {failed.text}")


def _essence(reply: Reply, state: ApplicationState) -> object:
    """What two equal answers have in common. The order of clients decides only which error Kafka finds first. A
    deadline may be made from a clock, so only its kind counts."""
    if reply.assignment is None:
        return reply.outcome, reply.name
    clients = {
        one.process_id: (tuple(one.tasks.values()), _kind(one.followup_rebalance_deadline_ms))
        for one in reply.assignment.assignment
    }
    return clients, validate_task_assignment(state, reply.assignment)


def _kind(deadline_ms: int | None) -> int | None:
    """None, at once, or at some time."""
    return None if deadline_ms is None else int(deadline_ms > 0)
