"""Ranges that no reader gets whole: transaction markers, deleted records, a truncated log. On a real broker."""

import shutil
from collections.abc import Iterator
from itertools import count

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import broker
from lab.cluster.broker import Broker
from lab.paths import BUILD
from lab.ports import free_ports
from lab.process import Lab, Progress
from rebalance_monitor.streaming.spark.ends import ClusterError, KafkaView
from rebalance_monitor.streaming.spark.offsets import SourcePartition, Span
from rebalance_monitor.streaming.spark.reading import Reading, ReadSpans, read_spans
from rebalance_monitor.streaming.spark.rows import Reached
from rebalance_monitor.streaming.spark.sampling import Sampler
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.integration
FOLDER = BUILD / "reading"
TOPIC, PLACE = "some-configs", ("some-configs", 0)


@pytest.fixture(scope="module")
def server() -> Iterator[Broker]:
    shutil.rmtree(FOLDER, ignore_errors=True)
    with Lab(FOLDER, Progress(quiet=True)) as lab:
        yield broker.start_anywhere(lab)


def transactions(producer: Producer, count: int) -> None:
    """Five records each, the first committed, the second aborted, and so on."""
    for number in range(count):
        producer.begin_transaction()
        for connector in range(5):
            producer.produce(TOPIC, partition=0, key=f"connector-{connector}", value=b'{"properties":{}}')
        producer.flush()  # an abort would drop what was not sent yet
        if number % 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()


def outline(read: ReadSpans) -> tuple[list[tuple[int, str]], Reached]:
    """Offset and body's class of each row, and how far the one partition was read."""
    (one,) = read.reached.values()
    return [(row.offset, row.kind) for row in read.rows], one


def test_ranges_end_by_position(server: Broker) -> None:
    client = {"bootstrap.servers": server.address}
    admin, view = AdminClient(client), KafkaView(client)
    admin.create_topics([NewTopic(TOPIC, num_partitions=1)])[TOPIC].result()
    producer = Producer({**client, "transactional.id": "test"})
    producer.init_transactions()
    transactions(producer, 4)
    end = 24  # four times five records and a marker
    assert view.ends((PLACE,), committed=True) == {PLACE: end}

    reading = Reading("kafka", client, 10_000, {TOPIC: "config"})
    key = SourcePartition(TOPIC, "id", 0)

    def read(start: int, to: int) -> tuple[list[tuple[int, str]], Reached]:
        return outline(read_spans(reading, [Span(key, start, to)]))

    rows, reached = read(0, end)
    assert [offset for offset, _ in rows] == [0, 1, 2, 3, 4, 12, 13, 14, 15, 16]
    assert (reached.start, reached.end, reached.records) == (0, end, 10)
    # A range of nothing but aborted records and markers still ends.
    assert read(5, 12) == ([], Reached(5, 12, 12))

    # Of the coordinator's log every record is read, aborted or not: what is not there are the markers.
    log = Reading("kafka", client, 10_000, {TOPIC: "offsets"})
    _, reached = outline(read_spans(log, [Span(key, 0, end)]))
    assert (reached.records, reached.holes, reached.hole) == (20, 4, end)

    for deleted in admin.delete_records([TopicPartition(TOPIC, 0, 14)]).values():
        deleted.result(PATIENCE_S)
    rows, reached = read(0, end)
    assert rows == [(0, "Gap"), *((offset, "ConfigChange") for offset in (14, 15, 16))]
    assert reached.end == end
    assert read(0, 5)[0] == [(0, "Gap")]
    assert read(end + 10, end + 20)[0] == [(end + 10, "Gap")]

    # An open transaction holds the end back for Connect's readers, so it does for this one.
    producer.begin_transaction()
    producer.produce(TOPIC, partition=0, key=b"connector-0", value=b"{}")
    producer.flush()
    assert view.ends((PLACE,), committed=True) == {PLACE: end}
    assert view.ends((PLACE,), committed=False) == {PLACE: end + 1}
    producer.abort_transaction()


def test_topics_and_partitions_are_found_while_running(server: Broker) -> None:
    client = {"bootstrap.servers": server.address}
    admin = AdminClient(client)
    wanted: dict[str, str] = {"grows": "status"}
    sampler = Sampler(KafkaView(client), lambda: wanted, (), 0.5, lambda: 1, lambda _: None)
    sampler.refresh(0.0)
    assert sampler.topics.missing == {"grows": "no_such_topic"}
    assert sampler.sample is not None
    assert not sampler.sample.complete
    admin.create_topics([NewTopic("grows", num_partitions=2)])["grows"].result()
    moments = count(1)

    def both_are_there() -> bool:
        """Brokers may need a moment to know of the topic, and of its leaders."""
        sampler.refresh(10.0 * next(moments))
        assert sampler.sample is not None
        return len(sampler.sample.bounds) == 2 and sampler.sample.complete

    until(both_are_there)


ILLEGAL = ("my connect-configs", "ünï-configs", "a/b-status", "x" * 300, "", ".", "..", "a\x00b", "\ud800")


def test_names_that_no_topic_can_have_leave_the_others_their_answer(server: Broker) -> None:
    client = {"bootstrap.servers": server.address}
    admin, view = AdminClient(client), KafkaView(client)
    admin.create_topics([NewTopic("sound", num_partitions=1)])["sound"].result()

    def answered() -> bool:
        said = view.topics(("sound", "never", *ILLEGAL))
        return bool(said.found) and bool(said.found["sound"].leaders)

    until(answered)
    said = view.topics(("sound", "never", *ILLEGAL))
    assert set(said.found) == {"sound"}
    refused = {name: why for name, why in said.missing.items() if name != "never"}
    assert said.missing["never"] == "no_such_topic"
    assert set(refused) == set(ILLEGAL)
    assert all(why.startswith("invalid_name: ") for why in refused.values())
    assert set(view.topics(ILLEGAL).missing) == set(ILLEGAL), "nothing legal is left to ask for"


def test_an_error_that_concerns_every_topic_is_the_clusters() -> None:
    (port,) = free_ports(1)
    view = KafkaView({"bootstrap.servers": f"127.0.0.1:{port}"})
    with pytest.raises(ClusterError):
        view.topics(("sound", "my connect-configs"))


def test_an_address_where_nobody_answers_is_a_sentence_and_a_short_read() -> None:
    (port,) = free_ports(1)
    client = {"bootstrap.servers": f"127.0.0.1:{port}"}
    reading = Reading("kafka", client, 500, {})
    assert outline(read_spans(reading, [Span(SourcePartition("t", "id", 0), 3, 9)])) == ([], Reached(3, 3, 9))
