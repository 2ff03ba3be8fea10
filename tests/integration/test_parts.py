"""Every part of a real job is frozen, killed or made to raise in turn: each is named, and comes back.

sampler     raises; frozen and killed with the process it runs in, the reader
task        killed, frozen
delivery, heartbeat, gaps, the page's state, the metrics endpoint   raise: they are threads of the job
page        killed, frozen
audit       killed, frozen, raises
job         killed, last: what it left behind is found by the next start
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from lab.paths import ROOT
from lab.process import Child
from lab.receivers.hook_receiver import HookReceiver, Inbox
from lab.sessions import members
from rebalance_monitor.streaming.metrics.endpoint import PART as ENDPOINT
from rebalance_monitor.streaming.spark import stacks
from rebalance_monitor.streaming.spark.watchdog import READER, TASK
from tests.integration.raising_job import SAMPLER
from tests.integration.watched import Watched
from tests.streaming.notify.receiver import Receiver, receiving
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
DELIVERY, HEARTBEAT, AUDIT, PAGE = "delivery to webhook:hook", "heartbeat", "audit", "page"
POISONED = "poisoned"
MAX_LAG_S = 5
AUDIT_EVERY_MS = 20_000
# Much more than an audit takes on a busy machine.
AUDIT_TIMEOUT_MS = 180_000
# On a machine that is busier still, several audits in a row are killed by that before one ends well.
AUDITS_S = 5 * AUDIT_TIMEOUT_MS / 1_000


@dataclass(frozen=True, slots=True)
class Running:
    """The job, what it tells, and the folder that says which part raises."""

    watched: Watched
    job: Child
    inbox: Inbox
    beats: Receiver
    raising: Path

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        self.watched.lab.wait_for(what, condition, self.job, AUDITS_S)

    def events(self, name: str, **fields: object) -> list[dict[str, object]]:
        lines = (json.loads(line) for line in self.job.log.read_text().splitlines() if line.startswith("{"))
        return [line for line in lines if line["event"] == name and fields.items() <= line.items()]

    def failing(self) -> dict[str, str]:
        """Parts that fail now, by /readyz."""
        said: dict[str, str] = self.watched.readiness()[1].get("parts", {})
        return said

    def value(self, metric: str, label: str) -> float:
        """The sum of the samples with this label; 0 where there is none."""
        return sum(float(line.split()[-1]) for line in self.watched.metric(f"{metric}{{") if label in line)

    def failures(self, part: str) -> float:
        return self.value("rebalance_monitor_part_failures_total", f'part="{part}"')

    def scratch(self) -> Path:
        (folder,) = (self.watched.lab.folder / "spark").iterdir()
        return folder

    def of_cluster(self) -> Path:
        """Where the processes that serve the one cluster show themselves."""
        return self.scratch() / "cluster-0"

    def child(self, command: str) -> int | None:
        """The child in a session of its own that runs this command of ours."""
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                with suppress(OSError):
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                    if command.encode() in words and f"PPid:\t{self.job.pid}\n" in (folder / "status").read_text():
                        return int(folder.name)
        return None

    def found(self, command: str) -> int:
        """The child, once it is there."""
        pids: list[int] = []

        def there() -> bool:
            pid = self.child(command)
            pids.extend([] if pid is None else [pid])
            return bool(pids)

        self.wait(f"the process of {command}", there)
        return pids[0]

    def unsent(self) -> int:
        """Notifications that wait for the webhook."""
        with psycopg.connect(self.watched.postgres.dsn) as database:
            row = database.execute("select count(*) from rebalance_monitor.outbox where not done").fetchone()
        return 0 if row is None else int(row[0])

    def audits(self) -> tuple[float, float]:
        """When the last audit ended, and whether it came to its end well."""
        names = ("rebalance_monitor_audit_last_run_timestamp_seconds", "rebalance_monitor_audit_success")
        last, well = (self.value(name, "") for name in names)
        return last, well


@pytest.fixture(scope="module")
def running(watched: Watched) -> Iterator[Running]:
    with ExitStack() as stack:
        receiver, beats = stack.enter_context(HookReceiver()), stack.enter_context(receiving("/beat"))
        raising = watched.lab.folder / "raising"
        raising.mkdir()
        config = watched.configuration(
            alerting={
                "heartbeat_url": f"{beats.url}/beat",
                "heartbeat_every_ms": 1_000,
                "webhooks": [{"name": "hook", "url": f"{receiver.url}/hook"}],
            },
            ready={"max_lag_s": MAX_LAG_S},
            audit={"every_ms": AUDIT_EVERY_MS, "timeout_ms": AUDIT_TIMEOUT_MS},
            source={"heartbeat_ms": 2_000, "read_timeout_ms": 5_000},
        )
        command = [sys.executable, "-m", "tests.integration.raising_job", str(config), str(raising), POISONED]
        watched.rebalance("before")
        job = watched.lab.start("parts", command, environment={**os.environ, "PYTHONPATH": str(ROOT)})
        stack.callback(job.stop)
        watched.wait_ready(job)
        yield Running(watched, job, receiver.inbox, beats, raising)


@pytest.fixture(scope="module")
def frozen_audit(running: Running) -> int:
    """An audit that stands still. It is missed only when its time is over, so the other parts come in between."""
    pids: list[int] = []

    def frozen() -> bool:
        """Whether it stands still, and has not ended meanwhile."""
        with suppress(OSError):
            pid = running.found(AUDIT)
            os.kill(pid, signal.SIGSTOP)
            pids.append(pid)
            return "State:\tT" in Path(f"/proc/{pid}/status").read_text()
        return False

    running.wait("an audit frozen", frozen)
    return pids[-1]


@pytest.mark.usefixtures("frozen_audit")
@pytest.mark.parametrize("part", [DELIVERY, HEARTBEAT, "gaps", "page's state"])
def test_a_thread_that_raises_is_named_and_goes_on(running: Running, part: str) -> None:
    raises(running, part)


def raises(running: Running, part: str) -> None:
    watched, before = running.watched, running.failures(part)
    going_on = len(running.events("part_goes_on", part=part))
    (running.raising / part).touch()
    running.wait(f"{part} named", lambda: running.failing().get(part, "").startswith("Planted at raising_job.py"))
    watched.wait_ready(running.job)  # what is read and judged does not depend on it
    assert part in running.failing()
    assert running.value("rebalance_monitor_part_failing", f'part="{part}"') == 1
    assert running.failures(part) > before
    failed = running.events("part_failed", part=part)[-1]
    assert str(failed["why"]).startswith("Planted at raising_job.py")
    if part == DELIVERY:
        watched.rebalance(POISONED)
        running.wait("something to send", lambda: bool(running.unsent()))
        assert not running.inbox.raw()
    beats = len(running.beats.requests)
    (running.raising / part).unlink()
    running.wait(f"{part} goes on", lambda: part not in running.failing())
    running.wait("its line", lambda: len(running.events("part_goes_on", part=part)) > going_on)
    assert running.value("rebalance_monitor_part_failing", f'part="{part}"') == 0
    if part == DELIVERY:
        running.wait("all sent", lambda: not running.unsent())
        assert running.inbox.raw()
        assert set(running.inbox.raw().values()) == {1}
    if part == HEARTBEAT:
        running.wait("the heartbeat", lambda: len(running.beats.requests) > beats + 2)


def test_a_metrics_endpoint_that_raises_is_named_and_answers_again(running: Running) -> None:
    """Nobody can ask it meanwhile, so the log says it first."""
    (running.raising / ENDPOINT).touch()

    def silent() -> bool:
        return running.watched.readiness()[0] == 0 and bool(running.events("part_failed", part=ENDPOINT))

    running.wait("the endpoint named", silent)
    assert str(running.events("part_failed", part=ENDPOINT)[0]["why"]).startswith("Planted at raising_job.py")
    (running.raising / ENDPOINT).unlink()
    running.watched.wait_ready(running.job)
    running.wait("its line", lambda: bool(running.events("part_goes_on", part=ENDPOINT)))
    running.wait("the endpoint well", lambda: ENDPOINT not in running.failing())
    assert running.failures(ENDPOINT) >= 1
    assert running.value("rebalance_monitor_part_failing", f'part="{ENDPOINT}"') == 0


def test_a_sampler_that_raises_makes_the_job_not_ready(running: Running) -> None:
    watched = running.watched
    (running.raising / SAMPLER).touch()
    watched.wait_not_ready(running.job, "the reader takes no samples (Planted at raising_job.py")
    withheld = running.value("rebalance_monitor_heartbeats_sent_total", 'outcome="withheld"')
    watched.rebalance("unseen")
    running.wait(
        "heartbeats withheld",
        lambda: running.value("rebalance_monitor_heartbeats_sent_total", 'outcome="withheld"') > withheld + 1,
    )
    assert "unseen" not in watched.groups()
    (running.raising / SAMPLER).unlink()
    watched.wait_ready(running.job)
    watched.wait_for_group("unseen", running.job)
    assert not running.events("query_restarts"), "the thread itself goes on"
    said = [str(line["text"]) for line in running.events("spark says") if "part_failed" in str(line["text"])]
    assert any("raising_job.py" in line and "sampling.py" in line for line in said), "with the place it came from"


def test_a_frozen_reader_and_a_frozen_page_are_named_and_started_again(running: Running) -> None:
    watched = running.watched
    (reader,) = stacks.offering(running.of_cluster(), READER)
    page = running.found("serve")
    pages = len(running.events("page"))
    os.kill(reader, signal.SIGSTOP)
    os.kill(page, signal.SIGSTOP)
    running.wait("not ready", lambda: watched.readiness()[0] == 503)
    assert not running.events("process_hangs"), "not ready by the lag, long before the watchdog acts"
    running.wait("the reader named", lambda: bool(running.events("process_hangs")))
    (hangs,) = running.events("process_hangs")
    assert (hangs["part"], hangs["pid"], str(hangs["state"])[0]) == (READER, reader, "T")
    assert "supervision.py" in str(hangs["stacks"]), "the sampler's thread, wherever it was"
    running.wait("another reader", lambda: stacks.offering(running.of_cluster(), READER) not in ([], [reader]))
    watched.wait_ready(running.job)
    assert running.failures(READER) == 1
    running.wait("the page named", lambda: bool(running.events("page hangs")))
    running.wait("another page", lambda: len(running.events("page")) > pages)
    assert running.failures(PAGE) >= 1
    watched.rebalance("after-the-freeze")
    watched.wait_for_group("after-the-freeze", running.job)


def test_a_killed_page_is_started_again(running: Running) -> None:
    page, before, pages = running.found("serve"), running.failures(PAGE), len(running.events("page"))
    os.kill(page, signal.SIGKILL)
    running.wait("the page named", lambda: running.failures(PAGE) > before)
    running.wait("another page", lambda: len(running.events("page")) > pages)
    assert running.found("serve") != page
    assert running.events("page ended", code=-signal.SIGKILL)
    running.wait("it goes on", lambda: PAGE not in running.failing())
    running.watched.wait_ready(running.job)


def test_frozen_tasks_are_named_and_started_again(running: Running) -> None:
    watched, before = running.watched, len(running.events("process_hangs"))
    tasks = stacks.offering(running.of_cluster(), TASK)
    for pid in tasks:
        os.kill(pid, signal.SIGSTOP)
    running.wait("not ready", lambda: watched.readiness()[0] == 503)
    running.wait("the tasks named", lambda: len(running.events("process_hangs")) > before)
    hang = running.events("process_hangs")[before:]
    assert {one["part"] for one in hang} == {TASK}
    assert {one["pid"] for one in hang} <= set(tasks)
    watched.wait_ready(running.job)
    assert running.failures(TASK) >= 1
    watched.rebalance("after-the-tasks")
    watched.wait_for_group("after-the-tasks", running.job)


def test_killed_readers_and_workers_come_back_and_nothing_is_lost(running: Running) -> None:
    watched = running.watched
    for name in (READER, TASK):
        for pid in stacks.offering(running.of_cluster(), name):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        watched.rebalance(f"after-{name}")
        watched.wait_for_group(f"after-{name}", running.job)
        watched.wait_ready(running.job)
    running.wait("no part of these fails", lambda: not {READER, TASK} & running.failing().keys())
    said = running.job.log.read_text()
    assert "no cause message" not in said
    assert not [line for line in said.splitlines() if not line.startswith("{")], "every line is one object"
    assert set(running.inbox.raw().values()) == {1}, "nothing was told twice"


def test_a_frozen_audit_is_named_and_the_next_one_comes(running: Running, frozen_audit: int) -> None:
    reason = f"the audit did not end within {AUDIT_TIMEOUT_MS // 1000} s and was killed"
    # On a slow machine the tests in between take longer than that, and the next audit is over before this one begins.
    running.wait("the audit named", lambda: bool(running.events("part_failed", part=AUDIT, why=reason)))
    assert running.child(AUDIT) != frozen_audit
    running.wait("the next one", lambda: running.audits()[1] == 1)
    running.wait("no part fails", lambda: not running.failing())


def test_a_killed_audit_is_told_and_the_next_one_comes(running: Running) -> None:
    running.wait("an audit", lambda: running.audits()[1] == 1)

    def killed() -> bool:
        """One that was found at its end may have ended well: then the next."""
        with suppress(ProcessLookupError):
            os.kill(running.found(AUDIT), signal.SIGKILL)
        return running.audits()[1] == 0

    running.wait("told", killed)
    assert running.events("audit could not be made", code=-signal.SIGKILL)
    running.wait("the next one", lambda: running.audits()[1] == 1)


def test_an_audit_that_raises_is_named_and_goes_on(running: Running) -> None:
    raises(running, AUDIT)


def test_a_killed_job_leaves_its_folder_to_the_next_start(running: Running) -> None:
    """Last of this job."""
    watched, job, left = running.watched, running.job, running.scratch()
    job.process.send_signal(signal.SIGKILL)
    job.process.wait(PATIENCE_S)
    watched.lab.wait_for("its processes gone", lambda: not members(job.pid))
    assert left.exists()
    with watched.job("next") as following:
        watched.lab.wait_for("a folder", lambda: "metrics" in following.log.read_text(), following, PATIENCE_S)
        watched.lab.wait_for("the old folder gone", lambda: not left.exists(), following, PATIENCE_S)
