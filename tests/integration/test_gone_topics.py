"""What the monitor reads is taken away while groups work: what the log, /readyz, metrics, database and page say of it.

One broker that asks for rights, and one job on it, with a restart in between. Each step takes something else away.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from lab.asking import local
from lab.cluster import config_topic
from lab.process import Child
from lab.simulated_group.members import SimulatedGroup
from lab.simulated_group.rehearsal import TIMING
from tests.integration.gaps_told import Gap, agree, degraded, events, gaps, in_log, value
from tests.integration.secured import Secured, client, secured
from tests.integration.taking_away import admin, all_read, delete, ends, truncate, ungrant
from tests.integration.watched import TOPIC, Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP, CONFIGS, STATUSES, OFFSETS = "sinks", "sinks-configs", "sinks-status", "__consumer_offsets"
LOAD = "load"
USER, PASSWORD = "monitor", "open sesame"


@pytest.fixture(scope="module")
def stage() -> Iterator[Secured]:
    with secured("gone-topics", {USER: PASSWORD}) as made:
        yield made


@contextmanager
def load(watched: Watched) -> Iterator[None]:
    """One group whose only member joins, commits and leaves, again and again."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    ending = threading.Event()

    def work() -> None:
        while not ending.is_set():
            assigned = threading.Event()
            consumer = Consumer({"bootstrap.servers": watched.broker.address, "group.id": LOAD, "log_level": 0})
            consumer.subscribe([TOPIC], on_assign=lambda _, __, assigned=assigned: assigned.set())
            with suppress(KafkaException):
                while not assigned.is_set() and not ending.is_set():
                    consumer.poll(0.1)
                for offset in range(20):
                    consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=True)
            with suppress(KafkaException):
                consumer.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(60)


def statuses(watched: Watched) -> None:
    """A status of a connector that no worker runs: something to lose."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": watched.broker.address, "log_level": 0})
    value = json.dumps({"state": "UNASSIGNED", "trace": None, "worker_id": "w:1", "generation": 1}).encode()
    for number in range(5):
        producer.produce(STATUSES, key=f"status-task-alpha-{number}".encode(), value=value)
    assert producer.flush(PATIENCE_S) == 0


def generations(watched: Watched, group: str) -> int:
    with psycopg.connect(watched.postgres.dsn) as database:
        row = database.execute(
            'select count(*) from rebalance_monitor.generations where "group" = %s', (group,)
        ).fetchone()
    return int(row[0]) if row is not None else 0


def page(job: Child, group: str) -> str:
    """The page of a group."""
    url = events(job, "page")[-1]["url"].rstrip("/")
    answer = local().get(f"{url}/group", params={"cluster": "own", "group": group}, timeout=PATIENCE_S)
    assert answer.status_code == 200, answer.text
    return answer.text


def command(watched: Watched, *arguments: str) -> str:
    """What `rebalance-monitor gaps` prints."""
    program = str(Path(sys.executable).parent / "rebalance-monitor")
    config = str(watched.lab.folder / "monitor.yaml")
    done = subprocess.run(
        [program, "gaps", *arguments, "--config", config], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait(watched: Watched, what: str, condition: Callable[[], bool], job: Child) -> None:
    watched.lab.wait_for(what, condition, job, PATIENCE_S)


def blind(watched: Watched, job: Child, why: str) -> None:
    """Not ready, the metric, and one line of the log."""
    before = len(events(job, "blind"))
    watched.wait_not_ready(job, f"blind: {OFFSETS} ({why}) can't be read, so nothing is judged")
    assert value(watched, "rebalance_monitor_blind") == 1
    said = [line["why"] for line in events(job, "blind")][before:]
    assert said == [f"blind: {OFFSETS} ({why}) can't be read, so nothing is judged"]


def sees(watched: Watched, job: Child) -> None:
    watched.wait_ready(job)
    wait(watched, "the metric", lambda: value(watched, "rebalance_monitor_blind") == 0, job)
    assert events(job, "reads_again")


def made_anew(watched: Watched, job: Child, topic: str) -> None:
    """A topic of Connect is deleted while nothing of it is unread, and comes back with other records."""
    (before,) = ends(watched, topic).values()
    delete(watched, topic)
    wait(watched, "missing", lambda: f"{topic}: no_such_topic" in degraded(watched), job)
    assert watched.readiness()[0] == 200, "the other topics are read on"
    config_topic.create(watched.broker.address, {topic: 1})
    anew = (topic, 0, before, before, "topic_made_anew")
    wait(watched, f"{topic} made anew", lambda: anew in gaps(watched), job)
    wait(watched, "no longer missing", lambda: f"{topic}: no_such_topic" not in degraded(watched), job)
    assert anew in in_log(watched, job, {anew})
    agree(watched, job, {anew}, topic)
    text = page(job, GROUP)
    assert f"from offset {before} on" in text
    assert "made anew" in text


def test_what_is_taken_away_is_said_before_and_after_a_restart(stage: Secured) -> None:
    watched, address = stage.watched, stage.watched.broker.address
    config_topic.create(address, {CONFIGS: 1, STATUSES: 1})
    log = config_topic.ConfigLog(address, CONFIGS)
    log.create("alpha", 2)
    watched.rebalance(LOAD)  # makes the topic that the load reads, and the offsets topic
    for topic in (OFFSETS, CONFIGS, STATUSES):
        stage.grant(USER, topic, "read")
    with SimulatedGroup(address, GROUP, workers=1, config=log, status_topic=STATUSES, timing=TIMING) as group:
        watched.lab.wait_for("a calm group", group.calm, timeout_s=PATIENCE_S)
    topics = {"config_topic": CONFIGS, "status_topic": STATUSES}
    clusters = [
        {
            "name": "own",
            "bootstrap_servers": stage.address,
            "client": client(USER, PASSWORD),
            "connect": {GROUP: topics},
        }
    ]
    with watched.job("first", clusters=clusters) as job:
        watched.wait_ready(job)
        watched.wait_for_group(GROUP, job)
        assert value(watched, "rebalance_monitor_blind") == 0
        assert not gaps(watched)
        with load(watched):
            the_right(stage, job)
            truncated(stage, job)
            made_anew(watched, job, CONFIGS)
            made_anew(watched, job, STATUSES)
            of_the_offsets_topic(watched, job)
        # No group works, so nobody makes the topic anew; all of it is read, so nothing more is gone with it.
        wait(watched, "all is read", lambda: all_read(watched, OFFSETS), job)
        delete(watched, OFFSETS)
        blind(watched, job, "no_such_topic")
        assert "Gaps" in page(job, GROUP)
        before, degraded_before = gaps(watched), degraded(watched)
        assert not events(job, "does_not_read"), "a topic that is deleted is no failure of the cluster"
        assert not events(job, "fold_failed")
    assert job.process.returncode == 0
    with watched.job("second", clusters=clusters) as job:
        watched.wait_not_ready(job, f"blind: {OFFSETS} (no_such_topic)")
        wait(watched, "its line", lambda: len(events(job, "blind")) == 1, job)
        assert [one for one in degraded_before if ": records were gone" in one] == [
            one for one in degraded(watched) if ": records were gone" in one
        ]
        for topic in (OFFSETS, CONFIGS, STATUSES):
            agree(watched, job, {row for row in before if row[0] == topic}, topic)
        assert "Gaps" in page(job, GROUP)
        watched.rebalance("after")
        watched.wait_for_group("after", job)
        sees(watched, job)
        listed = [json.loads(line) for line in command(watched, "list", "-o", "json").splitlines()]
        assert len(listed) == len(gaps(watched))
        command(watched, "acknowledge")
        wait(watched, "not degraded", lambda: not degraded(watched), job)
        for topic in (OFFSETS, CONFIGS, STATUSES):
            assert value(watched, "rebalance_monitor_gaps_not_acknowledged", topic) == 0
        assert command(watched, "list") == "no gap that nobody has acknowledged\n"
        assert "acknowledged" in page(job, GROUP)
    assert job.process.returncode == 0


def the_right(stage: Secured, job: Child) -> None:
    """Read is taken away and given back: what came meanwhile is read then, so there is no gap."""
    watched = stage.watched
    ungrant(stage, USER, OFFSETS)
    blind(watched, job, "not_authorized")
    count, at = generations(watched, LOAD), sum(ends(watched, OFFSETS).values())
    watched.lab.wait_for("the load goes on", lambda: sum(ends(watched, OFFSETS).values()) > at + 50)
    assert generations(watched, LOAD) == count, "nothing is judged"
    stage.grant(USER, OFFSETS, "read")
    sees(watched, job)
    wait(watched, "the load is judged again", lambda: generations(watched, LOAD) > count, job)
    assert not gaps(watched)
    assert not degraded(watched)


def truncated(stage: Secured, job: Child) -> None:
    """Statuses that the monitor may not read are deleted before it may again. Kafka refuses this of its own topics."""
    watched = stage.watched
    (before,) = ends(watched, STATUSES).values()
    ungrant(stage, USER, STATUSES)
    wait(watched, "not authorized", lambda: f"{STATUSES}: not_authorized" in degraded(watched), job)
    assert watched.readiness()[0] == 200, "the other topics are read on"
    statuses(watched)
    (low,) = truncate(watched, STATUSES).values()
    statuses(watched)
    stage.grant(USER, STATUSES, "read")
    lost = (STATUSES, 0, before, low, "deleted_before_read")
    wait(watched, "a gap", lambda: bool(gaps(watched)), job)
    assert gaps(watched) == [lost]
    assert in_log(watched, job, {lost}) == {lost}
    agree(watched, job, {lost}, STATUSES)
    text = page(job, GROUP)
    assert f"offsets {before} to {low - 1}" in text
    assert "deleted before read" in text


def of_the_offsets_topic(watched: Watched, job: Child) -> None:
    """The next request of a group makes it anew."""
    before = {row for row in gaps(watched) if row[0] == OFFSETS}
    admin(watched).delete_topics([OFFSETS])[OFFSETS].result(PATIENCE_S)

    def anew() -> set[Gap]:
        return {row for row in gaps(watched) if row[0] == OFFSETS and row[4] == "topic_made_anew"} - before

    wait(watched, "made anew", lambda: bool(anew()), job)
    watched.rebalance("later")
    watched.wait_for_group("later", job)
    watched.wait_ready(job)
    assert anew() <= in_log(watched, job, anew())
    agree(watched, job, anew(), OFFSETS)
