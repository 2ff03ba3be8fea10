"""A process that only has stderr says there what its lines hold; whoever started it relays them."""

import logging
import os
import threading
from collections.abc import Iterator

import pytest

from rebalance_monitor.streaming.spark.relayed_stderr import (
    log_in_spark_process,
    relayed,
    stop_relaying,
    without_traces,
)
from tests.waiting import until


@pytest.fixture
def log() -> logging.Logger:
    return logging.getLogger("rebalance_monitor.parts")


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    ours = logging.getLogger("rebalance_monitor")
    before = list(ours.handlers)
    yield
    ours.handlers[:] = before


def test_a_line_has_its_fields(log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    log_in_spark_process()
    log_in_spark_process()
    log.error("part_failed", extra={"fields": {"part": "sampler", "stack": ["sampling.py:1 step"]}})
    log.warning("part_goes_on")
    assert capsys.readouterr().err == (
        'part_failed {"part": "sampler", "stack": ["sampling.py:1 step"]}\npart_goes_on\n'
    ), "once each"


TRACE = """26/11/28 07:03:11 WARN of Java
java.io.IOException: it broke
    at org.apache.spark.Thing.run(Thing.scala:1)
    ... 4 more
Caused by: java.net.SocketException: gone
Traceback (most recent call last):
  File "daemon.py", line 264, in manager
    code = worker(sock)
           ^^^^^^^^^^^^
BrokenPipeError: [Errno 32] Broken pipe

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "util.py", line 822, in connect

OSError: no such file
the end
"""


def test_of_a_trace_stays_what_went_wrong() -> None:
    assert list(without_traces(TRACE.splitlines(keepends=True))) == [
        "26/11/28 07:03:11 WARN of Java",
        "java.io.IOException: it broke",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "OSError: no such file",
        "the end",
    ]


def test_what_is_ended_is_heard_no_more(caplog: pytest.LogCaptureFixture) -> None:
    with relayed("it says") as writing:
        os.write(writing, b"one\n")
        until(lambda: caplog.messages == ["it says"])
        stop_relaying("it says")
        os.write(writing, b"two\n")
    for relay in [one for one in threading.enumerate() if one.name == "it says"]:
        relay.join()
    with relayed("it says") as writing:
        os.write(writing, b"three\n")
        until(lambda: len(caplog.messages) == 2)
    assert [one.fields["text"] for one in caplog.records] == ["one", "three"]  # type: ignore[attr-defined]
