"""What it costs to ask for the offsets of 300 groups with 10,000 partitions: requests, and CPU of this process.

A turn is measured at a real broker with the job's own client. CPU is compared with another way to the same figures: to
decode the commits of `__consumer_offsets`, at 20,000 a second. `pytest -s` prints the figures.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import broker
from lab.cluster.broker import Broker
from lab.paths import BUILD
from lab.process import Lab, Progress
from rebalance_monitor.streaming.core.model.printed import OffsetCommit
from rebalance_monitor.streaming.core.model.results import GroupProgress, Source
from rebalance_monitor.streaming.core.reading.commits import decode_commit
from rebalance_monitor.streaming.polling.asking_progress import KafkaProgress
from rebalance_monitor.streaming.polling.progress import MOST_GROUPS, MOST_REQUESTS_S, PART, ProgressPoller
from tests.streaming.core.rules.cases_consumer_time import ROUNDROBIN
from tests.streaming.core.rules.consumers import Consumer as Member
from tests.streaming.core.rules.consumers import group
from tests.streaming.core.test_progress import Polled
from tests.streaming.polling.observed_poller import ObservedPoller
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUPS, EACH, EVERY_S, MEMBERS = 300, 33, 30.0, 3
"""Groups, partitions of each, how often, and members of each."""
COMMITS_S, DECODED = 20_000, 20_000
"""Commits in a second that another way would decode, and how many are decoded here."""
LEAST_TIMES = 3.0
"""Decoding costs at least so many times as much as asking; it was about twenty times."""


class Turn(ObservedPoller):
    """A poller at a real broker, by a clock that does not wait: after a sample it is when the next one may begin."""

    part_name = PART
    poller: ProgressPoller

    def __init__(self, address: str) -> None:
        super().__init__()
        self.seconds: list[float] = []
        asks = KafkaProgress({"bootstrap.servers": address})
        self.poller = ProgressPoller(asks, self, EVERY_S, now_ms=self.now_ms, clock_s=lambda: self.now_s)
        self.poller.watch({name(number) for number in range(GROUPS)})

    def progress_turn(self, seconds: float, from_log: int) -> None:
        self.seconds.append(seconds)


def name(number: int) -> str:
    return f"g{number:03}"


def places(number: int) -> list[TopicPartition]:
    """Those of a group: no two groups of one sample share any."""
    first = number % MOST_GROUPS * EACH
    return [TopicPartition("t", first + one, 7) for one in range(EACH)]


@pytest.fixture(scope="module")
def server() -> Iterator[Broker]:
    """All groups have committed."""
    folder = BUILD / "cost-of-asking"
    shutil.rmtree(folder, ignore_errors=True)
    with Lab(folder, Progress(quiet=True)) as lab:
        made = broker.start_anywhere(lab)
        admin = AdminClient({"bootstrap.servers": made.address, "log_level": 0})
        admin.create_topics([NewTopic("t", MOST_GROUPS * EACH, 1)])["t"].result(PATIENCE_S)
        lab.wait_for("the first commit", lambda: committed(made.address, 0))
        with ThreadPoolExecutor(16) as several:
            assert all(several.map(lambda number: committed(made.address, number), range(1, GROUPS)))
        yield made


def committed(address: str, number: int) -> bool:
    member = Consumer({"bootstrap.servers": address, "group.id": name(number), "log_level": 0})
    try:
        told = member.commit(offsets=places(number), asynchronous=False)
    except KafkaException:  # the coordinator is not there yet
        return False
    finally:
        member.close()
    return all(one.error is None for one in told)


def cpu_s(work: Callable[[], object]) -> float:
    """Of this process with all its threads, the client library's too."""
    began_s = time.process_time()
    work()
    return time.process_time() - began_s


def folded_once() -> Callable[[], object]:
    """What is made of an answer about one group, again and again: each time its lag has changed."""
    names = [f"a-{number}" for number in range(EACH)]
    members = [Member(id=f"m{one}", given=" ".join(names[one::MEMBERS])) for one in range(MEMBERS)]
    polled = Polled(group(ROUNDROBIN, members))
    polled.offsets = dict.fromkeys(names, (100, 200))

    def once() -> None:
        polled.results.clear()
        polled.goes_on(int(EVERY_S * 1000))
        assert any(isinstance(one, GroupProgress) for one in polled.results)

    def of_every_group() -> None:
        for _ in range(GROUPS):
            once()

    once()
    return of_every_group


def commits() -> list[tuple[bytes, bytes]]:
    """Keys and values as a coordinator writes them: `OffsetCommit` of version 1, and its value of version 3."""
    group_id, topic, metadata = (one.encode() for one in ("orders-readers", "orders", ""))
    key = b"\0\1" + b"".join(len(one).to_bytes(2, "big") + one for one in (group_id, topic))
    return [
        (
            key + number.to_bytes(4, "big"),
            b"\0\3" + number.to_bytes(8, "big") + b"\xff\xff\xff\xff"
            + len(metadata).to_bytes(2, "big") + metadata + (1_700_000_000_000 + number).to_bytes(8, "big"),
        )
        for number in range(DECODED)
    ]  # fmt: skip


def decoded() -> None:
    source = Source(topic="__consumer_offsets", partition=7, offset=42)
    for key, value in commits():
        told = decode_commit("own", source, key, value)
        assert isinstance(told, OffsetCommit)


def test_300_groups_and_10000_partitions_cost_a_small_part_of_decoding_their_commits(server: Broker) -> None:
    turn = Turn(server.address)

    def once() -> None:
        ended = len(turn.seconds)
        while len(turn.seconds) == ended:
            turn.poller.step()
            turn.now_s += 0.5
        turn.now_s += EVERY_S

    once()  # connects
    before, turns = turn.requests, len(turn.seconds)
    asking_s = cpu_s(once)
    requests, took_s = turn.requests - before, turn.seconds[turns]
    samples = turn.poller.since(None)[-GROUPS // MOST_GROUPS :]
    offsets = [one for sample in samples for told in sample.groups.values() for one in told.values()]
    assert len(offsets) == GROUPS * EACH
    assert all(one.committed == 7 and one.end == 0 for one in offsets)
    assert requests <= MOST_REQUESTS_S * took_s
    assert took_s <= 1.1 * EVERY_S

    folding_s = cpu_s(folded_once())
    decoding_s = cpu_s(decoded) / DECODED * COMMITS_S * EVERY_S
    share = 100 * (asking_s + folding_s) / took_s
    print(
        f"\n{GROUPS} groups, {len(offsets)} partitions: {requests} requests in a turn of {took_s:.1f} s,"
        f" {requests / took_s:.1f} a second\nCPU: asking {asking_s:.2f} s, the answers {folding_s:.2f} s,"
        f" {share:.1f} % of a core; to decode {COMMITS_S} commits a second: {100 * decoding_s / EVERY_S:.0f} %"
    )
    assert LEAST_TIMES * (asking_s + folding_s) < decoding_s
