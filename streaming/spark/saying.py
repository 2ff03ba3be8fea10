"""What another process writes to its stderr, as lines of this log: one for each thing it says, without its traces."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 500
_OF_A_TRACE = ("at ", "...", "Caused by:", "Suppressed:")
_NO_NEWS = ("WARNING: Using incubator modules", "WARNING: A terminally deprecated", "WARNING: sun.misc.Unsafe")
log = logging.getLogger("rebalance_monitor.job")


@contextmanager
def said_elsewhere(event: str) -> Iterator[int]:
    """A descriptor for a process that is started within the block; a thread logs what comes until the process ends."""
    reading, writing = os.pipe()
    threading.Thread(target=_relay, args=(event, reading), name=event, daemon=True).start()
    try:
        yield writing
    finally:
        os.close(writing)


def _relay(event: str, reading: int) -> None:
    with open(reading, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = line.rstrip()
            if text.strip() and not text.lstrip().startswith((*_OF_A_TRACE, *_NO_NEWS)):
                log.warning(event, extra={"fields": {"text": text.strip()[:LONGEST]}})
