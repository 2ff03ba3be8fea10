"""What another process writes to its stderr, as lines of this log: one for each thing it says, without its traces."""

import json
import logging
import os
import sys
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


class _OnStderr(logging.Handler):
    """One line each: the event, then its fields as JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        fields = getattr(record, "fields", None)
        told = f" {json.dumps(fields, ensure_ascii=False, default=str)}" if fields else ""
        print(f"{record.getMessage()}{told}", file=sys.stderr, flush=True)


def say_on_stderr() -> None:
    """For a process that Spark starts: the job's log is another process's, which relays what is said on stderr."""
    ours = logging.getLogger("rebalance_monitor")
    if not ours.handlers:
        ours.addHandler(_OnStderr())


def _relay(event: str, reading: int) -> None:
    with open(reading, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = line.rstrip()
            if text.strip() and not text.lstrip().startswith((*_OF_A_TRACE, *_NO_NEWS)):
                log.warning(event, extra={"fields": {"text": text.strip()[:LONGEST]}})
