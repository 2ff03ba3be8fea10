"""Whether the processes that read still work, and what is done where they do not: their stacks, their end, a new query.

reader   samples the cluster and reports about once a second; silent for SILENT_S it hangs or is gone
task     reads the ranges of a batch; nothing in it waits longer than `source.read_timeout_ms`
         then it folds: before each record it shows that it goes on, and none takes longer than FOLDING_S

Tasks on other machines cannot be seen: one that does not go on ends itself, and Spark runs it again.
"""

import faulthandler
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from . import stacks

SILENT_S = 30.0  # longer than all requests of one sample may take together
FIRST_WORD_S = 120.0  # Python and its packages start on a machine that starts Java as well
READING_S = 60.0
FOLDING_S = 300.0  # far more than one record may take, on a busy machine, and the commit after the last one
ENDS_ITSELF_S = FOLDING_S + 60.0  # on this machine the job sees it first, and logs where it stood
SHOWN_EVERY_S = 1.0
PAUSED_S = 10.0  # looks are a second apart; a longer pause between two means that the job itself did not run
READER, TASK = "reader", "task"

log = logging.getLogger("rebalance_monitor.job")


@contextmanager
def folding(folder: Path, ends_itself_s: float = ENDS_ITSELF_S) -> Iterator[Callable[[], None]]:
    """While a task folds; to be called whenever it goes on, else its process writes its stacks and ends. Without room
    for the file it goes on without."""
    shown = folder / f"folding-{os.getpid()}"
    last_s = 0.0

    def goes_on() -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= SHOWN_EVERY_S:
            last_s = now_s
            faulthandler.dump_traceback_later(ends_itself_s, exit=True)
            with suppress(OSError):
                shown.touch()

    goes_on()
    try:
        yield goes_on
    finally:
        faulthandler.cancel_dump_traceback_later()
        with suppress(OSError):
            shown.unlink(missing_ok=True)


def _folds_since_s(folder: Path) -> float | None:
    """For how long no folding task of this machine has shown that it goes on; None where none folds."""
    ages = []
    for shown in folder.glob("folding-*"):
        with suppress(OSError):
            ages.append(time.time() - shown.stat().st_mtime)
    return min(ages, default=None)


class Hangs(Exception):
    """A process that reads does not go on; the sentence says which and for how long."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name


class Watchdog:
    """One query's life. Times are those of a clock that only goes forward, in seconds."""

    def __init__(self, cluster: str, folder: Path, read_timeout_ms: int, began_s: float, *, here: bool = True) -> None:
        """`here`: tasks run on this machine, so it is seen that they fold."""
        self._cluster, self._folder = cluster, folder
        self._reading_at_most_s = read_timeout_ms / 1000 + READING_S + (0.0 if here else FOLDING_S)
        self._heard_s, self.has_reported = began_s, False
        self._last_at_ms = 0
        self._reading_since_s: float | None = None
        self._looked_s: float | None = None

    def reported(self, at_ms: int, now_s: float) -> None:
        """The reader's last report is of `at_ms`."""
        if at_ms and at_ms != self._last_at_ms:
            self._last_at_ms, self._heard_s, self.has_reported = at_ms, now_s, True

    def silent_s(self, now_s: float) -> float:
        return now_s - self._heard_s

    def reading(self, since_s: float | None) -> None:
        """A batch is being read since then; None: it is read."""
        self._reading_since_s = since_s

    def look(self, now_s: float) -> None:
        """Hangs, after the stacks were logged and the process was killed.

        While the job itself is frozen (SIGSTOP, a paused container), nobody can report to it: that time does not count.
        """
        paused_s = now_s - self._looked_s if self._looked_s is not None else 0.0
        self._looked_s = now_s
        if paused_s > PAUSED_S:
            self._heard_s = min(now_s, self._heard_s + paused_s)
            if self._reading_since_s is not None:
                self._reading_since_s = min(now_s, self._reading_since_s + paused_s)
        silent_s = self.silent_s(now_s)
        if silent_s > (SILENT_S if self.has_reported else FIRST_WORD_S):
            self._end(READER, f"the reader has said nothing for {silent_s:.0f} s")
        since_s = self._reading_since_s
        if since_s is None or now_s - since_s <= self._reading_at_most_s:
            return
        folds_since_s = _folds_since_s(self._folder)
        if folds_since_s is None or folds_since_s > FOLDING_S:
            self._end(TASK, f"a batch is being read for {now_s - since_s:.0f} s")

    def _end(self, name: str, why: str, kill: Callable[[Path, str, int], None] = stacks.end) -> None:
        pids = stacks.offering(self._folder, name)
        for pid in pids:
            state, lines = stacks.ask(self._folder, name, pid)
            fields = {"cluster": self._cluster, "part": name, "pid": pid, "state": state, "stacks": lines, "why": why}
            log.error("process_hangs", extra={"fields": fields})
            kill(self._folder, name, pid)
        if not pids:
            fields = {"cluster": self._cluster, "part": name, "state": "gone", "why": why}
            log.error("process_hangs", extra={"fields": fields})
        raise Hangs(name, why)
