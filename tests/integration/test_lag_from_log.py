"""Lag from the commits of the log, under a real job: as Kafka's own tool says, with fewer questions, and in transactions
as far as they have come."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.integration.test_slow_member import GROUP, PARTITIONS, TOPIC, described, group, kafkas, published, readers
from tests.integration.test_slow_member import with_lag as lag_by_the_monitor
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
EVERY_MS = 1_000
SECTIONS = {"polling": {"progress_every_ms": EVERY_MS, "progress_groups": ["orders-*"]}, "lag": {"from": "log"}}
ENDS_REQUESTS, ALL_REQUESTS = 2, 4
"""Of a sample of one group at one broker: for its ends, and with its commits."""
SAMPLES = 5


def requests(watched: Watched) -> float:
    """That were made for lag so far."""
    (line,) = [one for one in watched.metric("rebalance_monitor_poll_requests_total") if 'poller="progress"' in one]
    return float(line.rpartition(" ")[2])


def requests_of_a_sample(watched: Watched) -> float:
    """The mean of some samples."""
    began = requests(watched)
    seen = {group(watched)["answered_ms"]}
    until_s = time.monotonic() + PATIENCE_S
    while len(seen) <= SAMPLES and time.monotonic() < until_s:
        time.sleep(0.05)
        seen.add(group(watched)["answered_ms"])
    assert len(seen) > SAMPLES, "samples go on"
    return (requests(watched) - began) / (len(seen) - 1)


@contextmanager
def transactions(watched: Watched) -> Iterator[Producer]:
    producer = Producer({"bootstrap.servers": watched.broker.address, "transactional.id": "t", "log_level": 0})
    producer.init_transactions(PATIENCE_S)
    yield producer


def test_lag_from_the_log_is_what_kafkas_own_tool_says(watched: Watched) -> None:
    def says_the_same() -> bool:
        return published(watched) == kafkas(watched)

    with watched.job("lag-from-log", **SECTIONS) as job:
        with readers(watched) as working:
            watched.wait_ready(job)
            watched.lab.wait_for("a settled group", working.settled, job, PATIENCE_S)
            working.read(for_s=5)
            working.busy.add("slow")
            working.read(for_s=5)
            watched.lab.wait_for("the lag that Kafka says", says_the_same, job, PATIENCE_S)
            watched.lab.wait_for(
                "what Kafka's own tool says", lambda: described(watched) == lag_by_the_monitor(watched), job, PATIENCE_S
            )
            assert group(watched)["lag"] > 0
            assert requests_of_a_sample(watched) < (ENDS_REQUESTS + ALL_REQUESTS) / 2, "no commit is asked for"
            metadata = working.consumers["quick"].consumer_group_metadata()
            mine = working.consumers["quick"].assignment()[0]

            # An open transaction: its offset is a record of the log, and not committed.
            with transactions(watched) as producer:
                before = kafkas(watched)
                place = f"{TOPIC}-{mine.partition}"
                behind = TopicPartition(TOPIC, mine.partition, before[place][0] - 1)
                for committed in (False, True):
                    producer.begin_transaction()
                    producer.send_offsets_to_transaction([behind], metadata, PATIENCE_S)
                    requests_of_a_sample(watched)
                    assert published(watched)[place][0] == before[place][0], "the transaction is open"
                    if committed:
                        producer.commit_transaction(PATIENCE_S)
                    else:
                        producer.abort_transaction(PATIENCE_S)
                    requests_of_a_sample(watched)
                    assert published(watched)[place][0] == before[place][0] - committed
            assert requests_of_a_sample(watched) > (ENDS_REQUESTS + ALL_REQUESTS) / 2, "for a while brokers are asked"
        assert set(published(watched)) == {f"{TOPIC}-{number}" for number in range(PARTITIONS)}
        assert GROUP in watched.groups()
        assert "parts" not in watched.readiness()[1]
