"""Runs plug-ins: all of one process, one call at a time."""

import os
import threading
import time
from collections.abc import Callable

from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import AssignmentError
from rebalance_monitor.assignors.streams.task_assignor import GroupAssignment, GroupSubscription
from rebalance_monitor.streaming.core.model.settings import PlugIn
from rebalance_monitor.streaming.core.streams.plug_ins import AssignOutcome, PlugInFailed
from .twins import Twins


class PlugInHost:
    """All plug-ins of this process. One call at a time; sent to another process it is that one's own."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic, counted: bool = False) -> None:
        """`counted`: a pause lasts as many generations as it would last seconds. What is read again is judged alike
        then, however fast."""
        self._clock_s, self._counted = clock_s, counted
        self._running: dict[PlugIn, Twins] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def __reduce__(self) -> tuple[Callable[[], "PlugInHost"], tuple[()]]:
        return shared_host, ()

    def begin(self, plug_in: PlugIn) -> None:
        with self._lock:
            self._of(plug_in).begin()

    def assign(self, plug_in: PlugIn, state: ApplicationState) -> AssignOutcome:
        with self._lock:
            return self._of(plug_in).assign(state)

    def computed(
        self, plug_in: PlugIn, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> PlugInFailed | None:
        with self._lock:
            return self._of(plug_in).computed(assignment, subscription, error)

    def loaded(self, plug_in: PlugIn) -> PlugInFailed | None:
        """Whether the plug-in can be loaded; None if so."""
        with self._lock:
            return self._of(plug_in).start()

    def close(self) -> None:
        with self._lock:
            for twins in self._running.values():
                twins.end()
            self._running.clear()

    def _of(self, plug_in: PlugIn) -> "Twins":
        if self._process != os.getpid():  # forked: the pipes are the other process's
            for twins in self._running.values():
                twins.forget()
            self._running, self._process = {}, os.getpid()
        found = self._running.get(plug_in)
        if found is None:
            found = self._running[plug_in] = Twins(plug_in, self._clock_s, self._counted)
        return found


_SHARED = PlugInHost()


def shared_host() -> PlugInHost:
    """The host of this process, to which all hosts that are sent here lead."""
    return _SHARED
