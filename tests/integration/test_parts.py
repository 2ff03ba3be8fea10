"""Every process and thread of the job is frozen, killed or made to fail in turn: each is named, and comes back.

The threads that fail by an exception are put to the test where their classes are: test_supervision.py for the loop that
all of them share, test_ends.py for the sampler.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lab.hook_receiver import HookReceiver
from lab.process import Child
from lab.sessions import members
from streaming.spark import stacks
from streaming.spark.watchdog import READER, TASK
from tests.integration.watched import PATIENCE_S, Watched

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def job(watched: Watched) -> Iterator[Child]:
    with HookReceiver() as receiver:
        alerting = {"heartbeat_url": f"{receiver.url}/beat", "heartbeat_every_ms": 1_000}
        watched.rebalance("before")
        with watched.job("parts", alerting=alerting, ready={"max_lag_s": 5}) as made:
            watched.wait_ready(made)
            yield made


def scratch(watched: Watched) -> Path:
    (folder,) = (watched.lab.folder / "spark").iterdir()
    return folder


def events(job: Child, name: str) -> list[dict[str, object]]:
    lines = (json.loads(line) for line in job.log.read_text().splitlines() if line.startswith("{"))
    return [line for line in lines if line["event"] == name]


def wait(watched: Watched, what: str, condition: Callable[[], bool], job: Child) -> None:
    watched.lab.wait_for(what, condition, job, PATIENCE_S)


def failures(watched: Watched, part: str) -> float:
    lines = watched.metric("rebalance_monitor_part_failures_total{")
    return sum(float(line.split()[-1]) for line in lines if f'part="{part}"' in line)


def page_of(job: Child) -> int:
    """The page is the child in a session of its own that runs `serve`."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                status = (folder / "status").read_text()
                if b"serve" in words and f"PPid:\t{job.pid}\n" in status:
                    return int(folder.name)
    raise AssertionError("the job has no page")


def test_a_frozen_reader_and_a_frozen_page_are_named_and_started_again(watched: Watched, job: Child) -> None:
    (reader,) = stacks.offering(scratch(watched), READER)
    page = page_of(job)
    began_s = time.monotonic()
    os.kill(reader, signal.SIGSTOP)
    os.kill(page, signal.SIGSTOP)
    wait(watched, "not ready", lambda: watched.readiness()[0] == 503, job)
    assert time.monotonic() - began_s < 15, "within ready.max_lag_s and what a look takes"
    wait(watched, "the reader named", lambda: bool(events(job, "process_hangs")), job)
    (hangs,) = events(job, "process_hangs")
    assert (hangs["part"], hangs["pid"], str(hangs["state"])[0]) == (READER, reader, "T")
    assert any("ends" in str(line) or "sampler" in str(line) or "wait" in str(line) for line in hangs["stacks"])  # type: ignore[attr-defined]
    wait(watched, "another reader", lambda: stacks.offering(scratch(watched), READER) not in ([], [reader]), job)
    watched.wait_ready(job)
    assert failures(watched, READER) == 1
    wait(watched, "the page named", lambda: bool(events(job, "page hangs")), job)
    wait(watched, "another page", lambda: len(events(job, "page")) == 2, job)
    assert failures(watched, "page") >= 1
    watched.rebalance("after-the-freeze")
    watched.wait_for_group("after-the-freeze", job)


def test_killed_readers_and_workers_come_back_and_nothing_is_lost(watched: Watched, job: Child) -> None:
    for name in (READER, TASK):
        for pid in stacks.offering(scratch(watched), name):
            os.kill(pid, signal.SIGKILL)
        watched.rebalance(f"after-{name}")
        watched.wait_for_group(f"after-{name}", job)
        watched.wait_ready(job)
    assert "parts" not in watched.readiness()[1]
    said = job.log.read_text()
    assert "no cause message" not in said
    assert not [line for line in said.splitlines() if not line.startswith("{")], "every line is one object"


def test_a_killed_job_leaves_its_folder_to_the_next_start(watched: Watched, job: Child) -> None:
    """Last of this job."""
    left = scratch(watched)
    job.process.send_signal(signal.SIGKILL)
    job.process.wait(PATIENCE_S)
    watched.lab.wait_for("its processes gone", lambda: not members(job.pid))
    assert left.exists()
    with watched.job("next") as following:
        watched.lab.wait_for("a folder", lambda: "metrics" in following.log.read_text(), following, PATIENCE_S)
        wait(watched, "the old folder gone", lambda: not left.exists(), following)
