"""How the job ends: the first signal asks for a graceful end, the second one ends it at once. SIGHUP ends nothing."""

import logging
import os
import shutil
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from rebalance_monitor.streaming.config.sections import SparkSection
from .session import jvm_started, kill_jvm, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LOOK_EVERY_S = 0.25
LAST_WRITES = 20


class Stopping(ABC):
    """True once somebody has asked for the end."""

    @abstractmethod
    def __bool__(self) -> bool: ...

    @property
    @abstractmethod
    def why(self) -> str | int:
        """A signal's number, or a reason in words."""

    @property
    @abstractmethod
    def at_once(self) -> bool:
        """Whether the process is about to end: what a thread would say is not wanted any more."""

    def wait(self, seconds: float) -> None:
        """Sleep in slices, as whoever asks only notes it."""
        until_s = time.monotonic() + seconds
        while not self and (left := until_s - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_EVERY_S))


@dataclass(slots=True)
class Stop(Stopping):
    """True after the first signal. The second one calls `end_at_once` with its number. `hang_ups`: how often the job
    was asked to read its configuration anew."""

    end_at_once: Callable[[int], None]
    signals: list[int] = field(default_factory=list)
    hang_ups: int = 0

    def __bool__(self) -> bool:
        return bool(self.signals)

    @property
    def why(self) -> int:
        return self.signals[0]

    @property
    def at_once(self) -> bool:
        return len(self.signals) > 1

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signals.append(number)
        if self.at_once:
            self.end_at_once(number)

    def _hang_up(self, _number: int, _frame: FrameType | None) -> None:
        self.hang_ups += 1

    @contextmanager
    def on_signals(self) -> Iterator["Stop"]:
        """Listen until the block ends."""
        before = {number: signal.signal(number, self._note) for number in SIGNALS}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._hang_up)
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class ClusterStop(Stopping):
    """True once the job is to end, or this cluster of it."""

    def __init__(self, job: Stop) -> None:
        self._job, self._own = job, ""

    def ask(self, why: str) -> None:
        self._own = why

    def __bool__(self) -> bool:
        return bool(self._job) or bool(self._own)

    @property
    def why(self) -> str | int:
        return self._job.why if self._job else self._own

    @property
    def at_once(self) -> bool:
        return self._job.at_once


def end_at_once(scratch: Path, number: int) -> None:
    """Leave without waiting for the batch under way: its transaction is rolled back, and the next start repeats it.

    Called from a signal handler, so it raises nothing: an exception would surface as a trace in whichever call of
    Spark the signal interrupted. Exit code 128 + number, as the shell has it.
    """
    logging.getLogger("rebalance_monitor.job").info("ended_at_once", extra={"fields": {"signal": number}})
    kill_jvm()
    for _ in range(LAST_WRITES):
        # Python workers notice the end of their Java process a moment later and may write once more.
        shutil.rmtree(scratch, ignore_errors=True)
        if not scratch.exists():
            break
        time.sleep(0.05)
    os._exit(128 + number)


def start_session_aside(section: SparkSection, scratch: Path, sockets: Path, stop: Stop) -> "SparkSession | None":
    """Start the session in a thread of its own; None when a signal came first: then there is nothing to end gracefully.

    On the main thread PySpark would put a handler of its own on SIGINT. Raises what `start_session` raises.
    """
    outcome: list[SparkSession | BaseException] = []

    def start() -> None:
        try:
            outcome.append(start_session(section, scratch, sockets))
        except BaseException as why:
            outcome.append(why)

    thread = threading.Thread(target=start, name="session", daemon=True)
    thread.start()
    while thread.is_alive() and not (stop and jvm_started()):
        thread.join(LOOK_EVERY_S)
    if stop:
        kill_jvm()
        thread.join()
        return None
    (found,) = outcome
    if isinstance(found, BaseException):
        raise found
    return found
