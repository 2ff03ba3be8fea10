"""What a real broker says of changelogs' end offsets: with their ids, as leaders are told them, and of one topic."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import broker
from rebalance_monitor.streaming.polling.asking import REQUESTS, BrokersAnswer, KafkaTopics
from tests.integration.watched import own_lab
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
CHANGELOG = "app-counts-changelog"
MOST_ANSWERS = 200


class Changelog:
    """A changelog of two partitions on a broker, and who asks for it."""

    def __init__(self, address: str) -> None:
        self._client = {"bootstrap.servers": address}
        self.ask = KafkaTopics(self._client)
        self._admin = AdminClient(self._client)

    def create(self) -> None:
        made = self._admin.create_topics([NewTopic(name, 2, 1) for name in (CHANGELOG, "other")])
        made[CHANGELOG].result(PATIENCE_S)

    def delete(self) -> None:
        self._admin.delete_topics([CHANGELOG])[CHANGELOG].result(PATIENCE_S)

    def write(self, partition: int, records: int, *, transaction: str | None = None) -> None:
        """With a transaction the records stay uncommitted, and below no last stable offset."""
        producer = Producer({**self._client, **({"transactional.id": transaction} if transaction else {})})
        if transaction:
            producer.init_transactions(30)
            producer.begin_transaction()
        for _ in range(records):
            producer.produce(CHANGELOG, b"value", partition=partition)
        assert producer.flush(PATIENCE_S) == 0

    def until_told(self) -> BrokersAnswer:
        """Brokers learn of a topic one after the other."""
        return next(one for one in (self.ask() for _ in range(MOST_ANSWERS)) if CHANGELOG in one.ends)


@pytest.fixture(scope="module")
def changelog() -> Iterator[Changelog]:
    with own_lab("changelog-ends") as lab:
        started = broker.start_anywhere(lab)
        yield Changelog(started.address)


def test_end_offsets_are_told_with_the_id_that_the_topic_had_all_the_time(changelog: Changelog) -> None:
    assert changelog.ask().ends == {}
    assert changelog.ask().requests == REQUESTS
    changelog.create()
    first = changelog.until_told()
    assert first.ends == {CHANGELOG: (0, 0)}, "of other topics nobody asks"
    assert first.requests > REQUESTS
    changelog.write(1, 7)
    assert changelog.ask().ends == {CHANGELOG: (0, 7)}
    changelog.write(0, 3, transaction="open")
    assert changelog.ask().ends == {CHANGELOG: (3, 7)}, "a leader is told the high watermark, too"
    changelog.delete()
    changelog.create()
    again = changelog.until_told()
    assert again.ends == {CHANGELOG: (0, 0)}
    assert again.ids[CHANGELOG] != first.ids[CHANGELOG]
