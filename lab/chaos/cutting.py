"""A job whose history is cut as soon as FOLDER/`CUT` is there, and that can be killed between two steps of a cut.

FOLDER holds a file with the step's name; the job takes it away and ends itself.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rebalance_monitor.streaming.store import archive, history, retention
from rebalance_monitor.streaming.store.retention import HistoryCut, Retention

CUT = "cut"
HALF_A_FILE, DETACHED = "half-a-file", "detached"
LOOK_S = 0.5


@contextmanager
def cutting(folder: Path) -> Iterator[None]:
    """While this lasts, a job of this process does so."""
    cut, rows, finish = Retention.cut, archive._rows, retention._finish

    def when_asked(own: Retention, now_ms: int) -> HistoryCut:
        return cut(own, now_ms) if (folder / CUT).exists() else HistoryCut()

    def half(connection: Any, day: int) -> Iterator[Sequence[Any]]:
        for row in rows(connection, day):
            yield row
            _kill_at(folder / HALF_A_FILE)

    def detached(connection: Any, day: int) -> None:
        _kill_at(folder / DETACHED)
        finish(connection, day)

    named: tuple[tuple[Any, str, object], ...] = (
        (Retention, "cut", when_asked), (archive, "_rows", half), (retention, "_finish", detached),
        (history, "FIRST_CUT_S", 0.0), (history, "CUT_EVERY_S", LOOK_S), (history, "LOOK_EVERY_S", LOOK_S),
    )  # fmt: skip
    with ExitStack() as stack:
        for owner, name, value in named:
            stack.enter_context(patch.object(owner, name, value))
        yield


def _kill_at(step: Path) -> None:
    if step.exists():
        step.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
