"""A real consumer that stops in the midst of its work, under a real job: found, explained, and over when it goes on."""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import yaml
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from lab.cluster import jars, java, jvm
from rebalance_monitor.streaming.polling.asking_progress import KafkaProgress
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.web.reader import Reader
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP, TOPIC, PARTITIONS = "orders-readers", "orders", 4
RULE = "partitions_not_advancing"
PATIENT_MS = 5_000
SECTIONS = {
    "polling": {"progress_every_ms": 1_000, "progress_groups": ["orders-*"]},
    "alerting": {"damping": {RULE: {"for_ms": PATIENT_MS}}},
}


class Readers:
    """Two consumers in this process, and somebody who writes to every partition. One that is `busy` does not poll."""

    def __init__(self, watched: Watched) -> None:
        address = watched.broker.address
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE_S)
        self._producer = Producer({"bootstrap.servers": address, "log_level": 0})
        self._written_s = 0.0
        self.busy: set[str] = set()
        self.consumers = {name: self._consumer(address, name) for name in ("quick", "slow")}

    def _consumer(self, address: str, name: str) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": address, "group.id": GROUP, "client.id": name, "auto.offset.reset": "earliest",
                "partition.assignment.strategy": "range", "session.timeout.ms": 10_000, "heartbeat.interval.ms": 500,
                "auto.commit.interval.ms": 500, "log_level": 0,
            }
        )  # fmt: skip
        consumer.subscribe([TOPIC])
        return consumer

    def go_on(self) -> None:
        """Everybody who is not busy reads; each partition gets a record now and then."""
        if time.monotonic() - self._written_s > 0.2:
            self._written_s = time.monotonic()
            for number in range(PARTITIONS):
                self._producer.produce(TOPIC, b"value", partition=number)
            self._producer.flush(5)
        for name, consumer in self.consumers.items():
            if name not in self.busy:
                consumer.consume(100, 0.05)

    def read(self, for_s: float) -> None:
        """So long."""
        until_s = time.monotonic() + for_s
        while time.monotonic() < until_s:
            self.go_on()

    def settled(self) -> bool:
        self.go_on()
        return [len(one.assignment()) for one in self.consumers.values()] == [PARTITIONS // 2] * 2


@contextmanager
def readers(watched: Watched) -> Iterator[Readers]:
    made = Readers(watched)
    try:
        yield made
    finally:
        for consumer in made.consumers.values():
            consumer.close()


def incident(watched: Watched) -> dict[str, Any] | None:
    """The one incident of the rule, as it is now; more than one is an error."""
    with psycopg.connect(watched.postgres.dsn) as database:
        rows = database.execute("select document from rebalance_monitor.incidents where rule = %s", (RULE,)).fetchall()
    assert len(rows) <= 1, rows
    return dict(rows[0][0]) if rows else None


def members(watched: Watched) -> dict[str, dict[str, Any]]:
    """How far each has come, as it is shown now."""
    return {one["member"]: one for one in group(watched)["members"]}


def group(watched: Watched) -> dict[str, Any]:
    """How far the group has come, as it is shown now."""
    with psycopg.connect(watched.postgres.dsn) as database:
        rows = database.execute(
            'select document from rebalance_monitor.group_progress where "group" = %s', (GROUP,)
        ).fetchall()
    return dict(rows[0][0])


def published(watched: Watched) -> dict[str, tuple[int, int]]:
    return {one["partition"]: (one["committed"], one["end"]) for one in group(watched)["partitions"]}


def kafkas(watched: Watched) -> dict[str, tuple[int, int]]:
    """Committed offsets and end offsets as Kafka's own tool asks for them: the high watermarks."""
    admin = AdminClient({"bootstrap.servers": watched.broker.address, "log_level": 0})
    told = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)])[GROUP].result(PATIENCE_S)
    committed = {one.partition: one.offset for one in told.topic_partitions}
    asked = admin.list_offsets({TopicPartition(TOPIC, number): OffsetSpec.latest() for number in committed})
    ends = {place.partition: answer.result(PATIENCE_S).offset for place, answer in asked.items()}
    return {f"{TOPIC}-{number}": (offset, ends[number]) for number, offset in committed.items()}


def described(watched: Watched) -> dict[str, tuple[int, int, int]]:
    """Committed offset, end offset and lag by `kafka-consumer-groups --describe`."""
    runtime = java.find()
    command = jvm.command(
        runtime, watched.lab.folder / "described", jars.fetch(runtime), 128,
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", watched.broker.address,
        "--describe", "--group", GROUP, "--timeout", str(int(PATIENCE_S * 1000)),
    )  # fmt: skip
    done = subprocess.run(command, env=runtime.environment(), capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(f"{GROUP} ")]
    return {f"{topic}-{number}": (int(at), int(end), int(lag)) for _, topic, number, at, end, lag, *_ in lines}


def written_ms(watched: Watched, name: str) -> int:
    """When the first record was written that the group has not read yet of this partition."""
    partition = name.removeprefix("partition ")
    number = int(partition.rpartition("-")[2])
    reader = Consumer(
        {
            "bootstrap.servers": watched.broker.address,
            "group.id": "looks-at-one-record",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    reader.assign([TopicPartition(TOPIC, number, kafkas(watched)[partition][0])])
    message = reader.poll(PATIENCE_S)
    reader.close()
    assert message is not None
    return int(message.timestamp()[1])


def with_log(watched: Watched) -> dict[str, Any]:
    """The one cluster of these tests, with its broker's log."""
    (cluster,) = yaml.safe_load(watched.configuration().read_text())["clusters"]
    return {"clusters": [{**cluster, "coordinator_log": {"files": [f"{watched.broker.child.log}*"]}}]}


def told(watched: Watched) -> dict[int, list[str]]:
    """What is certain, by the coordinator, of each generation as the page's reader shows it."""
    reader = Reader([Database(watched.postgres.dsn)], DatabaseUnreachable)
    shown = [one.document for one in reader.generations({"cluster": "own", "group": GROUP}, None, 100).items]
    reader.close()
    return {
        one["generation"]: [f"{cause['certainty']} {cause['kind']} {cause['evidence'][0]['text']}"]
        for one in shown
        for cause in one["cause"][:1]
    }


def kafkas_words(watched: Watched) -> dict[int, list[str]]:
    """The same from the log itself, by a search for the words alone: consumers only joined."""
    begun = re.findall(
        rf"rebalance group {GROUP} in state \w+ with old generation (\d+) \(reason: (Adding .*)\)\.",
        watched.broker.child.log.read_text(),
    )
    shown = set(told(watched))
    return {
        int(old) + 1: [f"certain member_joined the coordinator says: {why}"]
        for old, why in begun
        if int(old) + 1 in shown
    }


def with_lag(watched: Watched) -> dict[str, tuple[int, int, int]]:
    """What is published, with the lag that follows."""
    return {name: (committed, end, end - committed) for name, (committed, end) in published(watched).items()}


def test_a_consumer_that_stops_is_found_and_explained(watched: Watched) -> None:
    def firing() -> bool:
        working.go_on()
        found = incident(watched)
        return found is not None and bool(found["firing"]) and found["open_parts"] == PARTITIONS // 2

    def over() -> bool:
        working.go_on()
        found = incident(watched)
        assert found is not None
        return found["resolved_at_ms"] is not None

    with readers(watched) as working, watched.job("slow-member", **SECTIONS, **with_log(watched)) as job:
        watched.wait_ready(job)
        watched.lab.wait_for("a settled group", working.settled, job, PATIENCE_S)
        working.read(for_s=2 * PATIENT_MS / 1000)
        assert incident(watched) is None, "everybody reads"

        working.busy.add("slow")
        watched.lab.wait_for("an incident", firing, job, PATIENCE_S)
        found = incident(watched)
        assert found is not None
        slow = working.consumers["slow"]
        held = {f"partition {TOPIC}-{one.partition}" for one in slow.assignment()}
        named = {f"{one['type']} {one['id']}" for one in found["subjects"]}
        assert named == {*held, f"member {slow.memberid()}"}
        assert (found["alert"], found["certainty"]) == ("warning", "likely")
        assert "since generation" in found["message"]
        assert f"{slow.memberid()} holds {TOPIC}-" in found["message"]
        lags = members(watched)
        assert lags[slow.memberid()]["standing"] == PARTITIONS // 2
        assert lags[slow.memberid()]["lag"] > lags[working.consumers["quick"].memberid()]["lag"]

        # While nobody writes or reads, what is published equals what Kafka's admin client and its own tool say.
        working.read(for_s=PATIENT_MS / 1000)
        watched.lab.wait_for("the lag that Kafka says", lambda: published(watched) == kafkas(watched), job, PATIENCE_S)
        # A consumer commits by itself half a second after its last record: what was equal may change once more.
        watched.lab.wait_for(
            "what Kafka's own tool says", lambda: described(watched) == with_lag(watched), job, PATIENCE_S
        )
        assert group(watched)["lag"] == sum(end - committed for committed, end in kafkas(watched).values())
        truth = {name: written_ms(watched, name) for name in sorted(held)}
        shown = group(watched)
        for one in shown["partitions"]:
            if f"partition {one['partition']}" in truth:
                behind_ms = shown["answered_ms"] - truth[f"partition {one['partition']}"]
                assert behind_ms > PATIENT_MS
                assert one["lag_ms"] == pytest.approx(behind_ms, rel=0.2, abs=1_500)

        working.busy.clear()
        watched.lab.wait_for("its end", over, job, PATIENCE_S)
        watched.lab.wait_for("the coordinator's words", lambda: told(watched) == kafkas_words(watched), job, PATIENCE_S)
        assert told(watched), "members joined, so there is something to say"
        assert "parts" not in watched.readiness()[1]


def test_brokers_tell_what_they_know_and_leave_out_the_rest(watched: Watched) -> None:
    """Of a group that is not there, and of a partition that is not there."""
    ask = KafkaProgress({"bootstrap.servers": watched.broker.address})
    assert set(ask.committed(GROUP)) == {(TOPIC, number) for number in range(PARTITIONS)}
    assert ask.committed("nobody") == {}
    answer = ask.ends({(TOPIC, 0), (TOPIC, PARTITIONS), ("no-such-topic", 0)})
    assert set(answer.ends) == {(TOPIC, 0)}
    assert answer.ends[TOPIC, 0] >= ask.committed(GROUP)[TOPIC, 0]
