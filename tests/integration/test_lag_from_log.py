"""Lag from the commits of the log, under a real job: as Kafka's own tool says, also while transactions are open."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer, TopicPartition

from lab.process import Child
from tests.integration.test_slow_member import TOPIC, described, group, kafkas, published, readers
from tests.integration.test_slow_member import with_lag as lag_by_the_monitor
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
SECTIONS = {
    "polling": {"progress_every_ms": 1_000, "progress_groups": ["orders-*"]},
    "lag": {"from": "log"},
}
SAMPLES = 4


def told_by_the_log(watched: Watched) -> bool:
    return watched.metric("rebalance_monitor_groups_with_offsets_from_log") == [
        'rebalance_monitor_groups_with_offsets_from_log{cluster="own"} 1.0'
    ]


def always(watched: Watched, job: Child, holds: Callable[[], bool]) -> None:
    """While some more samples come."""
    seen: set[int] = set()

    def several() -> bool:
        assert holds()
        seen.add(group(watched)["answered_ms"])
        return len(seen) > SAMPLES

    watched.lab.wait_for("some samples", several, job, PATIENCE_S)


def test_lag_from_the_log_is_what_kafkas_own_tool_says(watched: Watched) -> None:
    def waits_for(what: str, done: Callable[[], bool]) -> None:
        watched.lab.wait_for(what, done, job, PATIENCE_S)

    with watched.job("lag-from-log", **SECTIONS) as job, readers(watched) as working:
        watched.wait_ready(job)
        waits_for("a settled group", working.settled)
        working.read(for_s=5)
        working.busy.add("slow")
        working.read(for_s=5)
        waits_for("the lag that Kafka says", lambda: published(watched) == kafkas(watched))
        waits_for("what Kafka's own tool says", lambda: described(watched) == lag_by_the_monitor(watched))
        assert group(watched)["lag"] > 0
        waits_for("brokers are not asked for it", lambda: told_by_the_log(watched))
        always(watched, job, lambda: published(watched) == kafkas(watched))
        assert told_by_the_log(watched)

        # A commit in a transaction is a record of the log before the transaction is over.
        quick = working.consumers["quick"]
        metadata, number = quick.consumer_group_metadata(), quick.assignment()[0].partition
        producer = Producer({"bootstrap.servers": watched.broker.address, "transactional.id": "t", "log_level": 0})
        producer.init_transactions(PATIENCE_S)
        place = f"{TOPIC}-{number}"
        before = kafkas(watched)[place][0]

        def stands_at(offset: int) -> Callable[[], bool]:
            return lambda: published(watched)[place][0] == offset

        for over in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            producer.send_offsets_to_transaction([TopicPartition(TOPIC, number, before - 1)], metadata, PATIENCE_S)
            always(watched, job, stands_at(before))
            over(PATIENCE_S)
            if over is producer.abort_transaction:
                always(watched, job, stands_at(before))
        waits_for("the commit", stands_at(before - 1))
        assert not told_by_the_log(watched), "brokers are asked for a while"
        assert "parts" not in watched.readiness()[1]
