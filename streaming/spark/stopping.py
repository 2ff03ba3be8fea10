"""How the job ends: the first signal asks for a graceful end, the second one ends it at once."""

import logging
import os
import shutil
import signal
import threading
import time
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


@dataclass(slots=True)
class Stop:
    """True after the first signal. The second one calls `at_once` with its number."""

    at_once: Callable[[int], None]
    signals: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.signals)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signals.append(number)
        if len(self.signals) > 1:
            self.at_once(number)

    @contextmanager
    def on_signals(self) -> Iterator["Stop"]:
        """Listen until the block ends."""
        before = {number: signal.signal(number, self._note) for number in SIGNALS}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def wait(self, seconds: float) -> None:
        """Sleep in slices, as the handler only notes the first signal."""
        until_s = time.monotonic() + seconds
        while not self and (left := until_s - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_EVERY_S))


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


def start_session_aside(section: SparkSection, scratch: Path, stop: Stop) -> "SparkSession | None":
    """Start the session in a thread of its own; None when a signal came first: then there is nothing to end gracefully.

    On the main thread PySpark would put a handler of its own on SIGINT. Raises what `start_session` raises.
    """
    outcome: list[SparkSession | BaseException] = []

    def start() -> None:
        try:
            outcome.append(start_session(section, scratch))
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
