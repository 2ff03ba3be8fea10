"""How the job ends: the first signal asks for a graceful end, the second one ends it at once."""

import logging
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from streaming.spark.session import kill_jvm

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LOOK_EVERY_S = 0.25


@dataclass(slots=True)
class Stop:
    """True after the first signal. The second one calls `at_once` with its number."""

    at_once: Callable[[int], None]
    signals: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.signals)

    def listen(self) -> None:
        """Handle the signals here; again after Spark's start, which takes SIGINT for itself."""
        for number in SIGNALS:
            signal.signal(number, self._note)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signals.append(number)
        if len(self.signals) > 1:
            self.at_once(number)

    @contextmanager
    def on_signals(self) -> Iterator["Stop"]:
        """Listen until the block ends."""
        before = {number: signal.getsignal(number) for number in SIGNALS}
        self.listen()
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
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(128 + number)
