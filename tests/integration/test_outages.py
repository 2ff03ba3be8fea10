"""What the job depends on goes away and comes back: it says so, waits, goes on, and nothing is lost."""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from lab.cluster import postgres
from lab.process import Child
from lab.sessions import members
from tests.integration.watched import Watched
from tests.profile import size
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration


@contextmanager
def ready(watched: Watched, name: str) -> Iterator[Child]:
    """A job that is ready; its log must not hold a trace at the end, whatever happened."""
    with watched.job(name) as made:
        watched.wait_ready(made)
        yield made
    assert_clean(made)


@pytest.fixture
def job(watched: Watched, request: pytest.FixtureRequest) -> Iterator[Child]:
    with ready(watched, request.node.name) as made:
        yield made


@pytest.fixture(scope="class")
def one_job(watched: Watched) -> Iterator[Child]:
    with ready(watched, "one-job") as made:
        yield made


def assert_clean(job: Child) -> None:
    said = job.log.read_text()
    assert not [word for word in ("Traceback", "Exception", "StackOverflow") if word in said], said


def has_java(job: Child) -> bool:
    return bool(spark_of(job))


def says(job: Child, event: str) -> bool:
    return f'"{event}"' in job.log.read_text()


def spark_of(job: Child) -> list[int]:
    """The job's Java process, once there is one."""
    found = []
    for pid in members(job.pid):
        with suppress(OSError):
            if b"org.apache.spark" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def end(watched: Watched, job: Child, *numbers: signal.Signals) -> int:
    """Send signals, each once the one before is noticed; the exit code."""
    job.process.send_signal(numbers[0])
    for number in numbers[1:]:
        noticed = partial(says, job, "asked_to_end")
        watched.lab.wait_for("the first signal noticed", noticed, job, PATIENCE_S)
        job.process.send_signal(number)
    return job.process.wait(PATIENCE_S)


def test_where_no_group_ever_was_it_is_ready_and_degraded_and_reads_the_first_one(watched: Watched) -> None:
    """On a new cluster `__consumer_offsets` does not exist. First test: later ones make it."""
    with watched.job("first") as job:
        watched.wait_ready(job)
        assert watched.readiness()[1]["degraded"] == {"own": ["__consumer_offsets: no_such_topic"]}
        (degraded,) = [line for line in watched.metric("rebalance_monitor_degraded") if "no_such_topic" in line]
        assert degraded.endswith(" 1.0")
        (beat,) = watched.metric("rebalance_monitor_heartbeat_timestamp_seconds{")
        assert float(beat.split()[1]) > 0, "a clock that stands still would page"
        watched.rebalance("first")
        watched.wait_for_group("first", job)
        watched.lab.wait_for("nothing degraded", lambda: "degraded" not in watched.readiness()[1], job, PATIENCE_S)
        assert end(watched, job, signal.SIGTERM) == 0


def test_a_start_with_history_is_ready_only_when_it_is_in_the_database(watched: Watched) -> None:
    watched.rebalance("while-stopped")
    with watched.job("history") as job:
        while watched.readiness()[0] != 200:
            assert job.running()
        assert "while-stopped" in watched.groups()
        assert end(watched, job, signal.SIGTERM) == 0


class TestOneJob:
    """What one job lives through, in this order: a start takes most of the processor's time of each of these tests."""

    def test_a_lost_database_is_waited_for_and_nothing_is_lost(self, watched: Watched, one_job: Child) -> None:
        postgres.stop_server(watched.postgres.data)
        watched.rebalance("during-the-database's-absence")
        watched.wait_not_ready(one_job, "PostgreSQL at")
        postgres.start_again(watched.postgres)
        watched.wait_for_group("during-the-database's-absence", one_job)
        watched.wait_ready(one_job)
        restarts = [line for line in one_job.log.read_text().splitlines() if '"event": "query_restarts"' in line]
        pauses = [json.loads(line)["pause_s"] for line in restarts]
        assert pauses == sorted(pauses), "pauses grow"

    def test_a_lost_broker_is_waited_for_and_nothing_is_lost(self, watched: Watched, one_job: Child) -> None:
        watched.broker.child.kill()
        watched.wait_not_ready(one_job, "the cluster gives no answer")
        watched.start_broker()
        watched.rebalance("after-the-broker's-return")
        watched.wait_for_group("after-the-broker's-return", one_job)
        watched.wait_ready(one_job)

    def test_a_taken_port_is_one_sentence_and_code_2(self, watched: Watched, one_job: Child) -> None:
        with watched.job("second") as second:
            assert second.process.wait(PATIENCE_S) == 2
        said = (
            f"rebalance-monitor: can't listen on 127.0.0.1:{watched.http_port} (Address already in use); set http.host"
        )
        assert second.log.read_text().startswith(said)

    def test_a_dead_java_process_ends_the_job_in_one_sentence(self, watched: Watched, one_job: Child) -> None:
        (java,) = spark_of(one_job)
        os.kill(java, signal.SIGKILL)
        assert one_job.process.wait(PATIENCE_S) == 2
        assert one_job.log.read_text().splitlines()[-1].startswith("rebalance-monitor: Spark's Java process has ended")
        assert members(one_job.pid) == []


def test_a_start_while_no_broker_answers_waits_and_says_so(watched: Watched) -> None:
    watched.broker.child.kill()
    with watched.job("before-the-broker") as job:
        watched.wait_not_ready(job, "no broker answers at")
        watched.start_broker()
        watched.wait_ready(job)
        assert end(watched, job, signal.SIGTERM) == 0
    with watched.job("nobody", clusters=[{"name": "own", "bootstrap_servers": NOBODY}]) as job:
        watched.wait_not_ready(job, f"no broker answers at {NOBODY}")
        assert end(watched, job, signal.SIGTERM) == 0
    assert_clean(job)


def test_a_signal_while_spark_starts_ends_it_at_once(watched: Watched) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with watched.job(f"starting-{number.name}") as job:
            watched.lab.wait_for("a start", partial(has_java, job), job, PATIENCE_S)
            assert end(watched, job, number) == 0
        assert members(job.pid) == []
        assert_clean(job)


def test_stopping_in_the_middle_of_a_batch_leaves_a_clean_log(watched: Watched) -> None:
    """What `query.stop()` interrupts is told to nobody: a long trace once overflowed the stack of Java."""
    for turn in range(size(1, 2)):
        watched.rebalance(f"turn-{turn}")
        with watched.job(f"interrupted-{turn}") as job:
            # The first batch takes seconds, most of it in the call that the stop then interrupts.
            watched.lab.wait_for("a query", partial(says, job, "query_starts"), job, PATIENCE_S)
            assert end(watched, job, signal.SIGTERM) == 0
        assert_clean(job)


SECRET = "open-sesame"
NOBODY = "127.0.0.1:1"  # nothing ever listens on port 1


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        (
            {"database": {"dsn": f"postgresql://u:{SECRET}@{NOBODY}/x"}},
            rf"PostgreSQL at {NOBODY}/x can't be used \(Conn",
        ),
        ({"database": {"dsn": "nonsense"}}, r"database.dsn is not a PostgreSQL connection text; write it like"),
        (
            {"clusters": [{"name": "own", "bootstrap_servers": NOBODY, "client": {"no.such.key": SECRET}}]},
            r"cluster own: clusters\[\].client is not accepted \(No such configuration property.*\); correct it",
        ),
        ({"clusters": []}, r".*monitor.yaml: clusters is empty, so there is nothing to watch; list at least one"),
        ({"surprise": {"a": 1}}, r".*monitor.yaml: surprise: this key is unknown; remove it or correct its spelling"),
        (
            {"spark": {"checkpoint_dir": "/proc/nowhere"}},
            r"can't write to /proc/nowhere \(.*\); set spark.checkpoint_dir",
        ),
        (
            {"spark": {"java_home": "/nowhere"}},
            r"spark.java_home is /nowhere, but .* does not run; Spark needs Java 17",
        ),
    ],
    ids=["database", "dsn", "client", "clusters", "unknown-key", "folder", "java"],
)
def test_a_start_that_cannot_be_is_one_sentence_and_code_2(
    watched: Watched, sections: dict[str, object], sentence: str, request: pytest.FixtureRequest
) -> None:
    with watched.job(request.node.name, **sections) as job:
        assert job.process.wait(PATIENCE_S) == 2
    said = job.log.read_text()
    assert re.match(f"rebalance-monitor: {sentence}", said.splitlines()[-1]), said
    assert SECRET not in said
    assert_clean(job)


@pytest.mark.parametrize(
    ("numbers", "code"),
    size(
        [((signal.SIGTERM,), 0), ((signal.SIGTERM, signal.SIGINT), 130)],
        [
            ((signal.SIGTERM,), 0),
            ((signal.SIGINT,), 0),
            ((signal.SIGTERM, signal.SIGTERM), 143),
            ((signal.SIGTERM, signal.SIGINT), 130),
        ],
    ),
    ids=lambda given: "-".join(one.name for one in given) if isinstance(given, tuple) else "",
)
def test_one_signal_ends_it_gracefully_and_a_second_one_at_once(
    watched: Watched, job: Child, numbers: tuple[signal.Signals, ...], code: int
) -> None:
    if len(numbers) > 1:
        (java,) = spark_of(job)
        os.kill(java, signal.SIGSTOP)  # so that the graceful end never comes
    assert end(watched, job, *numbers) == code
    # Python workers leave by themselves when their Java process is gone.
    watched.lab.wait_for("no process left", lambda: not members(job.pid))
    assert list((watched.lab.folder / "spark").iterdir()) == []
    last = job.log.read_text().splitlines()[-1]
    assert json.loads(last)["event"] == ("stopped" if code == 0 else "ended_at_once")
