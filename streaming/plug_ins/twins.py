"""One plug-in while it runs: two processes, whose sets are in different orders, and a pause after failures in a row.

Both processes get every request, and their answers must be the same, or the plug-in's answer rests on the order of a
set. Replies that are late, none at all or nonsense end both processes; the next request starts new ones. After three
generations in a row with such a failure the plug-in is paused for a second, then for two, four … up to five minutes.
"""

import logging
import pickle
from collections.abc import Callable

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import AssignmentError
from rebalance_monitor.assignors.streams.task_assignment_utils import validate_task_assignment
from rebalance_monitor.assignors.streams.task_assignor import GroupAssignment, GroupSubscription
from rebalance_monitor.streaming.core.model.settings import PlugIn
from rebalance_monitor.streaming.core.streams.plug_ins import (
    Assigned,
    AssignOutcome,
    FailureKind,
    NoAssignment,
    PlugInFailed,
    Threw,
)
from .channel import MOST_OUTPUT, TOO_MANY_PROCESSES, PlugInProcess, exchange
from .wire import AssignRequest, ComputedRequest, LoadRequest, Nonsense, Outcome, Reply, Request, reply_of

log = logging.getLogger("rebalance_monitor.plug_ins")
log.addHandler(logging.NullHandler())

SEEDS = (0, 1)
LOAD_BUDGET_MS = 10_000
"""Starting Python and importing the module: at least so long."""
BUDGETS_OF_A_GENERATION = 10
"""All calls of `assign` for one generation together, which are one for each possible value of what is not known."""
UNUSABLE = frozenset({Outcome.OUT_OF_MEMORY, Outcome.NONSENSE, Outcome.TOO_MANY_PROCESSES})
PATIENT_FAILURES = 3
LONGEST_PAUSE_S = 300.0
MOST_DOUBLINGS = 9
"""After so many doublings of a second the pause is the longest."""


class Twins:
    """The two processes of one plug-in, while they run."""

    def __init__(self, plug_in: PlugIn, clock_s: Callable[[], float], counted: bool) -> None:
        self._plug_in, self._clock_s, self._counted = plug_in, clock_s, counted
        self._channels: list[PlugInProcess] = []
        self._number = 0
        self._generations = 0
        self._failures = 0
        self._paused_until = 0.0
        self._last: PlugInFailed | None = None
        self._answered, self._failed = False, False
        self._spent_s = 0.0
        self._logged_bytes = 0

    def begin(self) -> None:
        """The calls for another generation follow."""
        if self._answered and not self._failed:
            self._failures, self._last = 0, None
        self._answered, self._failed = False, False
        self._generations += 1
        self._spent_s, self._logged_bytes = 0.0, 0
        for channel in self._channels:
            channel.printed_bytes = 0

    def _now(self) -> float:
        """By what pauses are measured."""
        return self._generations if self._counted else self._clock_s()

    def start(self) -> PlugInFailed | None:
        """Start them if they do not run, and load the class; None if it is there."""
        if self._channels:
            return None
        if self._last is not None and self._now() < self._paused_until:
            pause = f"{pause_s(self._failures):.0f} {'generations' if self._counted else 's'}"
            text = f"it is paused for {pause} after {self._failures} failures in a row; the last: {self._last.text}"
            return PlugInFailed(FailureKind.PAUSED, text)
        plug_in = self._plug_in
        try:
            for seed in SEEDS:
                self._channels.append(PlugInProcess(seed, plug_in.memory_mib))
        except OSError as why:
            return self._lost(PlugInFailed(FailureKind.NOT_LOADED, f"its process cannot be started: {why}"))
        request = LoadRequest(self._next(), plug_in.name, plug_in.path, dict(plug_in.configs))
        most_ms = max(plug_in.budget_ms, LOAD_BUDGET_MS)
        replies = self._ask(request, self._channels, most_ms / 1000, _late(most_ms))
        if isinstance(replies, PlugInFailed):
            return replies
        failed = next((one for one in replies if one.outcome is not Outcome.LOADED), None)
        return None if failed is None else self._lost(self._unusable(failed))

    def assign(self, state: ApplicationState) -> AssignOutcome:
        """The answer, if it is the same in both."""
        failed = self.start()
        if failed is not None:
            return failed
        replies = self._timed(AssignRequest(self._next(), state), self._channels)
        if isinstance(replies, PlugInFailed):
            return replies
        first, second = replies
        for reply in replies:
            if reply.outcome in UNUSABLE:
                return self._lost(self._unusable(reply))
        self._answered = True
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
        replies = self._timed(request, self._channels[:1])
        if isinstance(replies, PlugInFailed):
            return _in_callback(replies)
        (reply,) = replies
        if reply.outcome is Outcome.TOLD:
            return None
        if reply.outcome in UNUSABLE:
            return _in_callback(self._lost(self._unusable(reply)))
        return _in_callback(PlugInFailed(FailureKind.RAISED, f"it raised {reply.name}: {reply.text}"))

    def end(self) -> None:
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

    def _timed(self, request: Request, asked: list[PlugInProcess]) -> list[Reply] | PlugInFailed:
        """The replies within the time of one call, and within what is left of the generation's time."""
        budget_ms = self._plug_in.budget_ms
        most_ms = BUDGETS_OF_A_GENERATION * budget_ms
        left_s, late = budget_ms / 1000, _late(budget_ms)
        if most_ms / 1000 - self._spent_s < left_s:
            left_s = most_ms / 1000 - self._spent_s
            text = f"its calls for one generation take longer than {most_ms} ms together"
            late = PlugInFailed(FailureKind.TIMED_OUT, text)
        if left_s <= 0:
            return self._lost(late)
        began_s = self._clock_s()
        replies = self._ask(request, asked, left_s, late)
        self._spent_s += self._clock_s() - began_s
        return replies

    def _ask(
        self, request: Request, asked: list[PlugInProcess], budget_s: float, late: PlugInFailed
    ) -> list[Reply] | PlugInFailed:
        """The replies of all; the first failure ends both processes, as does a call that is broken off."""
        payload = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        try:
            came = exchange([(channel, payload) for channel in asked], budget_s, late)
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
        """What was printed, into the log: so much for one generation as is kept of one call."""
        output = asked[0].output[: MOST_OUTPUT - self._logged_bytes]
        if output:
            self._logged_bytes += len(output)
            fields = {"plug_in": self._plug_in.name, "text": output.decode(errors="replace")}
            log.info("plug_in_printed", extra={"fields": fields})

    def _unusable(self, reply: Reply) -> PlugInFailed:
        match reply.outcome:
            case Outcome.OUT_OF_MEMORY:
                text = f"it needs more than {self._plug_in.memory_mib} MiB of memory"
                return PlugInFailed(FailureKind.OUT_OF_MEMORY, text)
            case Outcome.TOO_MANY_PROCESSES:
                return TOO_MANY_PROCESSES
            case Outcome.NOT_LOADED:
                return PlugInFailed(FailureKind.NOT_LOADED, reply.text)
            case Outcome.RAISED:
                text = f"it cannot be loaded: {reply.name}: {reply.text}"
                return PlugInFailed(FailureKind.NOT_LOADED, text)
            case _:
                return PlugInFailed(FailureKind.NONSENSE, reply.text)

    def _lost(self, failed: PlugInFailed) -> PlugInFailed:
        """Both processes are ended; after some failures in a row the next are started later."""
        self.end()
        self._failed, self._failures, self._last = True, self._failures + 1, failed
        fields: dict[str, object] = {"plug_in": self._plug_in.name, "kind": failed.kind.value, "why": failed.text}
        log.warning("plug_in_failed", extra={"fields": fields})
        if self._failures >= PATIENT_FAILURES:
            pause = pause_s(self._failures)
            self._paused_until = self._now() + pause + self._counted  # the generation that is under way counts not
            fields |= {"failures_in_a_row": self._failures, f"pause_{'generations' if self._counted else 's'}": pause}
            log.warning("plug_in_paused", extra={"fields": fields})
        return failed


def pause_s(failures: int) -> float:
    """How long a plug-in is not called after so many failures in a row, at least PATIENT_FAILURES: seconds."""
    doublings = min(failures - PATIENT_FAILURES, MOST_DOUBLINGS)
    return min(2.0**doublings, LONGEST_PAUSE_S)


def _late(budget_ms: int) -> PlugInFailed:
    return PlugInFailed(FailureKind.TIMED_OUT, f"it did not answer within {budget_ms} ms and was killed")


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
