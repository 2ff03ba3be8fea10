"""What another process writes to its stderr, as lines of this log: one for each thing it says, without its traces."""

import json
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

LONGEST = 500
_OF_A_TRACE = ("at ", "...", "Caused by:", "Suppressed:")
_PYTHONS_TRACE = "Traceback (most recent call last):"
"""Indented lines follow it, and then the error itself."""
_BETWEEN_TRACES = ("During handling of the above exception", "The above exception was the direct cause")
_NO_NEWS = ("WARNING: Using incubator modules", "WARNING: A terminally deprecated", "WARNING: sun.misc.Unsafe")
log = logging.getLogger("rebalance_monitor.job")
_not_relayed: set[str] = set()


@contextmanager
def relayed(event: str) -> Iterator[int]:
    """A descriptor for a process that is started within the block; a thread logs what comes until the process ends."""
    _not_relayed.discard(event)
    reading, writing = os.pipe()
    threading.Thread(target=_relay, args=(event, reading), name=event, daemon=True).start()
    try:
        yield writing
    finally:
        os.close(writing)


def stop_relaying(event: str) -> None:
    """From now on nothing that is said so is logged: who says it is being ended, which interrupts what it does."""
    _not_relayed.add(event)


class _OnStderr(logging.Handler):
    """One line each: the event, then its fields as JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        fields = getattr(record, "fields", None)
        told = f" {json.dumps(fields, ensure_ascii=False, default=str)}" if fields else ""
        print(f"{record.getMessage()}{told}", file=sys.stderr, flush=True)


def log_in_spark_process() -> None:
    """For a process that Spark starts: the job's log is another process's, which relays what is said on stderr."""
    ours = logging.getLogger("rebalance_monitor")
    if not ours.handlers:
        ours.addHandler(_OnStderr())


def _relay(event: str, reading: int) -> None:
    with open(reading, encoding="utf-8", errors="replace") as lines:
        for text in without_traces(lines):
            if event not in _not_relayed:
                log.warning(event, extra={"fields": {"text": text[:LONGEST]}})


def without_traces(lines: Iterable[str]) -> Iterator[str]:
    """What lines say, without traces: of Java's the first line stays, of Python's the last one."""
    in_trace = False
    for line in lines:
        text = line.strip()
        if text == _PYTHONS_TRACE:
            in_trace = True
            continue
        in_trace = in_trace and (not text or line[:1].isspace())
        if text and not in_trace and not text.startswith((*_OF_A_TRACE, *_NO_NEWS, *_BETWEEN_TRACES)):
            yield text
