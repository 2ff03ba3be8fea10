"""One way to keep a background part going: whatever goes wrong in it is stated as a problem, and it goes on.

A part is a thread that makes one step after the other. A step that raises is logged with the place it came from and
handed to whoever answers for the monitor's state; the next one follows after a pause that grows while steps fail. So it
is where the pause itself raises. A thread that ends all the same, although nobody stopped it, is started anew by who
looks (`look_after_all`).
"""

import logging
import threading
import traceback
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
MOST_PLACES = 8
log = logging.getLogger("rebalance_monitor.parts")


class PartFailed(Exception):
    """A part cannot go on as it is; the text is one sentence without a secret. `again_in_s`: the pause, if not the
    growing one."""

    def __init__(self, text: str, again_in_s: float | None = None) -> None:
        super().__init__(text)
        self.again_in_s = again_in_s


class Answerable(Protocol):
    """Who is told how a part is doing."""

    def part(self, name: str, problem: str | None) -> None:
        """`problem`: why the part fails now, at every failed step; None: its last step came to its end."""


class Supervised:
    """A thread of the given name from `start` to `stop`.

    `step` returns how many seconds later the next one follows; None ends the thread. `fields`: what each line of its
    log says beside its name.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], float | None],
        told: Answerable | None,
        *,
        stop: threading.Event | None = None,
        first_pause_s: float = FIRST_PAUSE_S,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self.name, self._step, self._told, self._at_end = name, step, told, at_end
        self._first_pause_s, self.pause_s = first_pause_s, first_pause_s
        self._failing: str | None = None
        self.stopped = stop if stop is not None else threading.Event()
        self.fields: dict[str, str] = {}
        self._thread = self._new_thread()
        self._ended = False

    def start(self) -> None:
        """Returns at once."""
        self._thread.start()
        _STARTED.add(self)

    def look_after(self) -> None:
        """Starts it anew if its thread is gone although it was neither stopped nor came to its end."""
        if self._thread.is_alive() or self._ended or self.stopped.is_set():
            return
        log.error("part_ended", extra={"fields": {"part": self.name, **self.fields}})
        self._failing = "its thread had ended"
        self._tell(self._failing)
        self._thread = self._new_thread()
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """No further step; waits for the one under way, so long at most."""
        self.stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def well(self) -> None:
        """To be called in a long step: it works again, so the next pause is the shortest one."""
        if self._failing is not None:
            log.warning("part_goes_on", extra={"fields": {"part": self.name, **self.fields}})
            self._failing = None
        self.pause_s = self._first_pause_s
        self._tell(None)

    def _new_thread(self) -> threading.Thread:
        return threading.Thread(target=self._run, name=self.name, daemon=True)

    def _run(self) -> None:
        while not self.stopped.is_set():
            try:
                pause_s = self._once()
                if pause_s is None:
                    break
                self.stopped.wait(pause_s)
            except BaseException as why:
                with suppress(BaseException):
                    self._failed(why)
                with suppress(BaseException):
                    self.stopped.wait(FIRST_PAUSE_S)
        self._ended = True
        if self._at_end is not None:
            self._at_end()

    def _once(self) -> float | None:
        try:
            pause_s = self._step()
        except BaseException as why:  # the thread must outlive whatever it was
            if self.stopped.is_set():
                return 0.0
            return self._failed(why)
        self.well()
        return pause_s

    def _failed(self, why: BaseException) -> float:
        problem = sentence(why)
        if problem != self._failing:
            fields = {"part": self.name, **self.fields, "why": problem, "stack": places(why)}
            log.error("part_failed", extra={"fields": fields})
        self._failing = problem
        self._tell(problem)
        pause_s, self.pause_s = self.pause_s, min(self.pause_s * 2, LONGEST_PAUSE_S)
        asked_s = why.again_in_s if isinstance(why, PartFailed) else None
        return pause_s if asked_s is None else asked_s

    def _tell(self, problem: str | None) -> None:
        if self._told is None:
            return
        try:
            self._told.part(self.name, problem)
        except Exception as why:
            log.error("part_failed", extra={"fields": {"part": self.name, "why": sentence(why), "stack": places(why)}})


_STARTED: "weakref.WeakSet[Supervised]" = weakref.WeakSet()


def look_after_all() -> None:
    """Every part of this process that was started and whose thread is gone."""
    for one in list(_STARTED):
        one.look_after()


def sentence(why: BaseException) -> str:
    """What is shown of an error. Texts of libraries may hold an address with a password, so they are left out."""
    if isinstance(why, PartFailed):
        return str(why)
    if isinstance(why, OSError) and why.strerror:
        return f"{type(why).__name__}, {why.strerror}"
    return f"{type(why).__name__} at {places(why)[-1] if places(why) else 'an unknown place'}"


def places(why: BaseException) -> list[str]:
    """Where it came from, outermost first: file, line and function of the innermost frames."""
    frames = traceback.extract_tb(why.__traceback__)[-MOST_PLACES:]
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
