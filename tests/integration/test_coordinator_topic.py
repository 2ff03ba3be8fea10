"""Lines of brokers' logs in a topic of a real broker, as log shippers write them: each is kept once, over restarts."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import broker, postgres
from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.polling.coordinator_log import PART, followed
from rebalance_monitor.streaming.spark.clusters import follower_of
from rebalance_monitor.streaming.store.coordinator_reasons import ReasonsKeeper
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.integration.watched import own_lab
from tests.streaming.core.coordinator_log.lines import LOGS, reasons_of
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.integration
TOPIC, RELEASES = "kafka-logs", ("3.9.1", "4.3.1")
Kept = set[tuple[str, int, str, str | None]]


class Stage:
    """A broker, a database, and what the part said last."""

    def __init__(self, address: str, dsn: str) -> None:
        self.client = {"bootstrap.servers": address, "log_level": 0}
        self._section = ClusterSection.model_validate(
            {"name": "c", "bootstrap_servers": address, "coordinator_log": {"topic": TOPIC}}
        )
        self._store, self.dsn = PostgresStore(dsn), dsn
        self._store.migrate()
        self.said: dict[str, str | None] = {}
        self.admin = AdminClient(self.client)

    def part(self, name: str, problem: str | None) -> None:
        self.said[name] = problem

    @contextmanager
    def job(self) -> Iterator[None]:
        """What a job does with the topic, from its start to its end."""
        keeper = ReasonsKeeper(self.dsn)
        self.said.clear()
        try:
            with followed("c", follower_of(self._section, self._store.claim(), keeper), self):
                yield
        finally:
            keeper.close()

    def create(self, partitions: int) -> None:
        self.admin.create_topics([NewTopic(TOPIC, partitions, 1)])[TOPIC].result(PATIENCE_S)

    def kept(self) -> Kept:
        with self._store.database.session() as connection:
            rows = connection.execute(
                'select "group", old_generation, text, client_reason from rebalance_monitor.coordinator_reasons'
            ).fetchall()
        return {(str(one[0]), int(one[1]), str(one[2]), one[3]) for one in rows}

    def positions(self) -> int:
        """Over all partitions."""
        with self._store.database.session() as connection:
            ((found,),) = connection.execute(
                "select coalesce(sum(next_byte), 0) from rebalance_monitor.coordinator_log_positions"
            ).fetchall()
        return int(found)


def expected(*releases: str) -> Kept:
    return {
        (one.group, one.old_generation, one.text, one.client_reason) for name in releases for one in reasons_of(name)
    }


def lines_of(release: str) -> Sequence[str]:
    return (LOGS / f"{release}.log").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with own_lab("coordinator-topic") as lab:
        started = broker.start_anywhere(lab)
        yield Stage(started.address, postgres.start(lab, synced=False).dsn)


def test_lines_of_a_topic_are_kept_once_over_restarts(stage: Stage) -> None:
    with stage.job():
        until(lambda: "there is no such topic" in (stage.said.get(PART) or ""))
        stage.create(2)
        until(lambda: PART in stage.said and stage.said[PART] is None)

        plain = Producer({**stage.client, "compression.type": "lz4"})
        for line in lines_of("3.9.1"):
            plain.produce(TOPIC, line.encode(), partition=0)
        plain.produce(TOPIC, b"\xff Preparing to rebalance group ", partition=0)
        plain.produce(TOPIC, b"x" * 500_000, partition=0)
        assert plain.flush(PATIENCE_S) == 0
        until(lambda: stage.kept() == expected("3.9.1"))
        until(lambda: stage.positions() == len(lines_of("3.9.1")) + 2)

    # While no job runs; the transaction of the first half is aborted, that of the second stays open.
    wrapped = Producer({**stage.client, "compression.type": "zstd", "transactional.id": "shipper"})
    wrapped.init_transactions(PATIENCE_S)
    lines = [json.dumps({"@timestamp": 1.5, "message": line}).encode() for line in lines_of("4.3.1")]
    for half in (lines[: len(lines) // 2], lines[len(lines) // 2 :]):
        wrapped.begin_transaction()
        for value in half:
            wrapped.produce(TOPIC, value, partition=1)
        assert wrapped.flush(PATIENCE_S) == 0
        if half[0] is lines[0]:
            wrapped.abort_transaction()
    with stage.job():
        until(lambda: stage.kept() == expected(*RELEASES))

    before = stage.kept()
    with stage.job():
        until(lambda: PART in stage.said)
        assert stage.said[PART] is None
    assert stage.kept() == before


def test_a_topic_that_is_made_anew_is_read_from_its_beginning(stage: Stage) -> None:
    with stage.job():
        until(lambda: PART in stage.said)
        stage.admin.delete_topics([TOPIC])[TOPIC].result(PATIENCE_S)
        until(lambda: TOPIC in (stage.said.get(PART) or ""))
        stage.create(1)
        again = Producer(stage.client)
        again.produce(TOPIC, lines_of("2.8.2")[0].encode())
        for line in lines_of("2.8.2"):
            again.produce(TOPIC, line.encode())
        assert again.flush(PATIENCE_S) == 0
        until(lambda: stage.kept() >= expected("2.8.2"))
        until(lambda: stage.positions() == len(lines_of("2.8.2")) + 1)
        assert stage.said[PART] is None
