"""A topic that is followed: nothing is lost and nothing read twice, whatever happens to it or to the job."""

import json
import logging
import uuid
from collections.abc import Mapping

import pytest

from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.polling.coordinator_log import CoordinatorLogFollower
from rebalance_monitor.streaming.spark import coordinator_topic
from rebalance_monitor.streaming.spark.clusters import follower_of
from rebalance_monitor.streaming.spark.coordinator_topic import (
    LOOK_EVERY_S,
    CoordinatorTopicFollower,
    LogRecord,
    LogRecords,
    line_of,
)
from rebalance_monitor.streaming.spark.ends import (
    NO_SUCH_TOPIC,
    NOT_AUTHORIZED,
    NOT_READABLE,
    ClusterError,
    FoundTopics,
    NamedPartition,
    TopicInfo,
)
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.polling.kept_reasons import Kept, line

TOPIC = "kafka-logs"


class Topic:
    """A cluster with one topic, and who reads it. `values`: of each partition, from offset 0 on; None where a marker of
    a transaction is. `low`: the first offset that is left."""

    def __init__(self, partitions: int = 1) -> None:
        self.values: dict[int, list[bytes | None]] = {number: [] for number in range(partitions)}
        self.low = dict.fromkeys(self.values, 0)
        self.leaders: dict[int, int | None] = dict.fromkeys(self.values, 1)
        self.topic_id, self.missing = "id", ""
        self.at: dict[int, int] = {}
        self.problem: str | None = None
        self.silent = False
        self.began: list[dict[int, int]] = []
        self.now_s = 0.0
        self.closed = False

    def write(self, *values: str | bytes | None, partition: int = 0) -> None:
        self.values[partition] += [one.encode() if isinstance(one, str) else one for one in values]

    def topics(self, names: tuple[str, ...]) -> FoundTopics:
        if self.silent:
            raise ClusterError("no answer")
        if self.missing:
            return FoundTopics(missing=dict.fromkeys(names, self.missing))
        return FoundTopics(found={TOPIC: TopicInfo(self.topic_id, dict(self.leaders))})

    def beginnings(self, places: tuple[NamedPartition, ...]) -> Mapping[NamedPartition, int | None]:
        return {place: self.low[place[1]] for place in places}

    def ends(self, places: tuple[NamedPartition, ...], committed: bool) -> Mapping[NamedPartition, int | None]:
        assert not committed, "lines of open transactions were logged, too"
        return {place: len(self.values[place[1]]) for place in places}

    def begin(self, offsets: Mapping[int, int]) -> None:
        self.at = dict(offsets)
        self.began.append(self.at.copy())

    def read(self, most_bytes: int) -> LogRecords:
        """The next ones of each partition, and after them where it ends."""
        found: list[LogRecord] = []
        for number, at in self.at.items():
            if at < self.low[number] or at > len(self.values[number]):
                return LogRecords(found, lost=True)
            for offset, value in enumerate(self.values[number][at:], at):
                if most_bytes <= 0:
                    return LogRecords(found)
                if value is not None:
                    found.append(LogRecord(number, offset, value))
                    most_bytes -= len(value)
                self.at[number] = offset + 1
            found.append(LogRecord(number, len(self.values[number]) - 1, None))
        return LogRecords(found, problem=self.problem)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def kept() -> Kept:
    return Kept()


def follower(topic: Topic, kept: Kept) -> CoordinatorTopicFollower:
    return CoordinatorTopicFollower("c", TOPIC, topic, topic, kept, 1, lambda: topic.now_s)


def test_lines_are_read_on_from_the_first_and_once(kept: Kept) -> None:
    topic = Topic(2)
    topic.write(line(1), "other", partition=0)
    topic.write(line(2), partition=1)
    follows = follower(topic, kept)
    assert follows.step() == 0.0
    topic.write(line(3), partition=1)
    follows.step()
    follows.step()
    assert kept.numbers == [1, 2, 3]
    assert kept.places == {f"{TOPIC}|id|0": 2, f"{TOPIC}|id|1": 2}
    assert topic.began == [{0: 0, 1: 0}], "one assignment for all of it"
    follows.close()
    assert topic.closed


def test_a_job_that_starts_again_reads_on(kept: Kept) -> None:
    topic = Topic()
    topic.write(line(1))
    follower(topic, kept).step()
    topic.write(line(2))
    follower(topic, kept).step()
    assert kept.numbers == [1, 2]


def test_a_reason_that_stood_before_the_position_is_known_after_a_start(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = f"m-{uuid.UUID(int=9)}"
    broker = "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=1] "
    left = f"{broker}[Group g] Member {member} has left group through explicit `LeaveGroup` request; client reason: b"
    begins = f"{broker}Preparing to rebalance group g in state Stable with old generation 4"
    began = f"{begins} (reason: explicit `LeaveGroup` request for ({member}) members.)."
    topic = Topic()
    topic.write("x", line(1), left)
    follower(topic, kept).step()
    topic.write(json.dumps({"log": began}))
    follower(topic, kept).step()
    assert [one.client_reason for one in kept.reasons] == [None, "b"]
    monkeypatch.setattr(coordinator_topic, "BEFORE_RECORDS", 2)
    follower(topic, kept).step()
    assert topic.began == [{0: 0}, {0: 0}, {0: 2}]


def test_a_step_reads_so_much_and_the_next_one_goes_on(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_topic, "STEP_BYTES", 2 * len(line(1)))
    topic = Topic()
    topic.write(*map(line, range(5)))
    follows = follower(topic, kept)
    seen = []
    for _ in range(3):
        follows.step()
        seen.append(len(kept.reasons))
    assert seen == [2, 4, 5]


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (NO_SUCH_TOPIC, "there is no such topic; check its name, or start what creates it"),
        (NOT_AUTHORIZED, "this user may not describe it; grant it Read"),
        (NOT_READABLE, "this user may not read it; grant it Read"),
    ],
)
def test_a_topic_that_is_not_there_or_refused_is_said_and_read_once_it_can_be(
    kept: Kept, missing: str, said: str
) -> None:
    topic = Topic()
    topic.write(line(1))
    follows = follower(topic, kept)
    topic.missing = missing
    for _ in range(2):
        with pytest.raises(PartFailed, match=f"^topic {TOPIC}: {said}$"):
            follows.step()
    topic.missing = ""
    follows.step()
    topic.missing, topic.now_s = missing, LOOK_EVERY_S
    with pytest.raises(PartFailed):
        follows.step()
    assert kept.places == {f"{TOPIC}|id|0": 1}, "it may come back"
    topic.missing = ""
    topic.write(line(2))
    follows.step()
    assert kept.numbers == [1, 2]


def test_brokers_that_do_not_answer_are_said(kept: Kept) -> None:
    topic = Topic()
    topic.silent = True
    with pytest.raises(PartFailed, match=rf"^no broker describes topic {TOPIC} \(no answer\)$"):
        follower(topic, kept).step()


def test_a_refused_reading_is_said_and_begun_anew(kept: Kept) -> None:
    """Brokers that do not tell what a user may do show it by the reading alone."""
    topic = Topic()
    topic.write(line(1))
    topic.problem = "Broker: Topic authorization failed"
    follows = follower(topic, kept)
    with pytest.raises(PartFailed, match=rf"^topic {TOPIC} cannot be read \(Broker: Topic authorization failed\)$"):
        follows.step()
    topic.problem = None
    topic.write(line(2))
    follows.step()
    assert (kept.numbers, len(topic.began)) == ([1, 2], 2)


def test_what_was_deleted_before_it_was_read_is_said_once(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    topic = Topic()
    topic.write(*map(line, range(4)))
    topic.low[0] = 1
    follows = follower(topic, kept)
    follows.step()
    assert not caplog.records, "a first start misses nothing"
    topic.write(*map(line, range(4, 8)))
    topic.low[0] = 6
    for _ in range(3):
        follows.step()
    follower(topic, kept).step()
    assert kept.numbers == [1, 2, 3, 6, 7]
    (said,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert said.getMessage() == "coordinator_log_deleted_before_read"
    assert said.__dict__["fields"] == {"cluster": "c", "topic": TOPIC, "partition": 0, "records": 2}


def test_markers_at_the_end_are_no_lost_lines(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    topic = Topic()
    topic.write(line(1), None, None)
    follower(topic, kept).step()
    topic.write(line(2))
    topic.low[0] = 3
    follower(topic, kept).step()
    assert (kept.numbers, caplog.records) == ([1, 2], [])


def test_a_topic_that_is_made_anew_or_cut_is_read_from_its_beginning(kept: Kept) -> None:
    topic = Topic()
    topic.write(line(1), line(2))
    follows = follower(topic, kept)
    follows.step()
    topic.values[0], topic.topic_id, topic.now_s = [], "another", LOOK_EVERY_S
    topic.write(line(3), line(4), line(5))
    follows.step()
    assert kept.places == {f"{TOPIC}|another|0": 3}
    del topic.values[0][1:]
    follows.step()
    follows.step()
    topic.write(line(6))
    follows.step()
    assert kept.numbers == [1, 2, 3, 4, 5, 3, 6], "the database keeps each once"


def test_new_partitions_are_read_from_their_beginning(kept: Kept) -> None:
    topic = Topic()
    topic.write(line(1))
    follows = follower(topic, kept)
    follows.step()
    topic.values[1], topic.low[1], topic.leaders[1] = [], 0, 1
    topic.write(line(2), partition=1)
    follows.step()
    assert kept.numbers == [1], "not looked yet"
    topic.now_s += LOOK_EVERY_S
    follows.step()
    assert kept.numbers == [1, 2]


def test_partitions_without_a_leader_are_said_and_the_others_are_read(kept: Kept) -> None:
    topic = Topic(3)
    for number in range(3):
        topic.write(line(number), partition=number)
    follower(topic, kept).step()
    topic.leaders[2] = None
    follows = follower(topic, kept)
    for number in (3, 4):
        topic.write(line(number), partition=1)
        topic.write(line(10 * number), partition=2)
        with pytest.raises(PartFailed, match=rf"^no broker leads these partitions of topic {TOPIC}: 2$"):
            follows.step()
    assert kept.numbers == [0, 1, 2, 3, 4]
    topic.leaders[2] = 1
    assert follows.step() == 0.0
    assert sorted(kept.numbers) == [0, 1, 2, 3, 4, 30, 40]
    assert len(topic.began) == 3


def test_it_ends_where_another_job_is_the_writer(kept: Kept) -> None:
    topic = Topic()
    topic.write(line(1))
    kept.deposed = True
    assert follower(topic, kept).step() is None


def test_what_the_database_did_not_take_is_read_again(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic()
    follows = follower(topic, kept)
    follows.step()
    topic.write(line(1))

    def refuses(*_: object) -> None:
        raise PartFailed("the database does not answer")

    with monkeypatch.context() as away:
        away.setattr(kept, "keep", refuses)
        with pytest.raises(PartFailed):
            follows.step()
    follows.step()
    assert kept.numbers == [1]


def test_positions_of_files_go_where_a_topic_is_followed(kept: Kept) -> None:
    kept.places = {"1:2:abc": 30}
    follower(Topic(), kept).step()
    assert kept.places == {f"{TOPIC}|id|0": 0}


MESSAGE = line(7)[26:].strip()
SHIPPED = {
    "plain": line(7),
    "Filebeat": json.dumps(
        {"@timestamp": "2026-11-27T06:33:48.274Z", "@metadata": {"beat": "filebeat"}, "message": line(7).strip(),
         "log": {"offset": 17, "file": {"path": "/var/log/kafka/server.log"}}}
    ),
    "Fluent Bit": json.dumps({"@timestamp": 1764225228.274, "log": line(7)}),
    "Vector": json.dumps({"file": "/var/log/kafka/server.log", "host": "b1", "message": line(7).strip()}),
    "Log4j's appender": json.dumps(
        {"level": "INFO", "message": MESSAGE, "loggerName": "kafka.coordinator.group.GroupCoordinator"}, indent=2
    ),
    "JSON in JSON": json.dumps(
        {"log": json.dumps({"logger": "o.a.k.c.g.GroupMetadataManager", "message": MESSAGE}) + "\n", "stream": "stdout"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("shipper", SHIPPED)
def test_the_line_is_found_in_what_log_shippers_write(kept: Kept, shipper: str) -> None:
    topic = Topic()
    topic.write(SHIPPED[shipper])
    follower(topic, kept).step()
    (reason,) = kept.reasons
    assert (reason.group, reason.old_generation, reason.partition) == ("g", 7, 0)


def test_other_values_change_nothing(kept: Kept) -> None:
    other = json.dumps({"log": json.dumps({"logger": "kafka.Other", "message": MESSAGE})})
    values: list[str | bytes] = [
        b"", b"\xff" + line(1).encode(), line(1).encode("utf-16"),
        json.dumps({"log": line(1), "more": "x" * 70_000}), "first\n" + line(1), other,
    ]  # fmt: skip
    topic = Topic()
    topic.write(*values)
    follower(topic, kept).step()
    assert (kept.reasons, kept.places) == ([], {f"{TOPIC}|id|0": len(values)})
    assert line_of(None) is None


def test_the_configuration_says_who_follows(kept: Kept) -> None:
    def given(**where: object) -> object:
        told = {"name": "c", "bootstrap_servers": "k:1", "coordinator_log": where}
        return follower_of(ClusterSection.model_validate(told), 1, kept)

    assert given() is None
    assert isinstance(given(files=["/x"]), CoordinatorLogFollower)
    assert isinstance(given(topic=TOPIC), CoordinatorTopicFollower)
