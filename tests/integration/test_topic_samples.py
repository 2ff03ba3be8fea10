"""Real consumer groups under a real job: judged from samples of their topics while partitions are added.

The consumers are librdkafka's, which shares Kafka's range and roundrobin to the last partition.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from lab.process import Child
from rebalance_monitor.streaming.polling.topics import PART
from tests.integration.watched import Live, Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
TOPICS = {"orders": 6}
STRATEGIES = ("range", "roundrobin", "cooperative-sticky")
GROWN = 9


class Members:
    """Consumers of one group, in this process."""

    def __init__(self, watched: Watched, strategy: str) -> None:
        self.watched, self.group = watched, f"by-{strategy}"
        self._settings = {
            "bootstrap.servers": watched.broker.address,
            "group.id": self.group,
            "partition.assignment.strategy": strategy,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 500,
            "topic.metadata.refresh.interval.ms": 1_000,
            "log_level": 0,
        }
        self.consumers: list[Consumer] = []

    def scale(self, size: int) -> None:
        while len(self.consumers) < size:
            self.consumers.append(Consumer(self._settings))
            self.consumers[-1].subscribe(list(TOPICS))
        while len(self.consumers) > size:
            self.consumers.pop().close()

    def hold(self, partitions: int) -> bool:
        """Whether they hold so many partitions together, each of them some."""
        for consumer in self.consumers:
            consumer.poll(0.02)
        held = [len(one.assignment()) for one in self.consumers]
        return all(held) and sum(held) == partitions


@contextmanager
def groups(watched: Watched, size: int) -> Iterator[list[Members]]:
    """One group of each strategy, stable."""
    with ExitStack() as ending:
        found = [Members(watched, strategy) for strategy in STRATEGIES]
        for generation in found:
            ending.callback(generation.scale, 0)
            generation.scale(size)
        settle(watched, found, sum(TOPICS.values()))
        yield found


def settle(watched: Watched, found: list[Members], partitions: int) -> None:
    def settled() -> bool:
        return all([one.hold(partitions) for one in found])

    watched.lab.wait_for(f"{partitions} partitions held", settled, timeout_s=PATIENCE_S)


def wait_judged(watched: Watched, job: Child, found: list[Members], at_least: int) -> dict[str, Counter[str]]:
    """Until each group has so many generations and none is pending; how many have which grade."""

    def judged() -> bool:
        for generation in found:
            generation.hold(0)
        said = [(watched.verdicts(one.group), watched.verdicts(one.group, final=False)) for one in found]
        return all(len(final) == len(whole) >= at_least for final, whole in said)

    watched.lab.wait_for(f"{at_least} generations judged", judged, job, PATIENCE_S)
    return {one.group: Counter(grade for grade, _ in watched.verdicts(one.group)) for one in found}


def test_groups_are_judged_while_partitions_are_added_and_the_job_is_restarted(watched: Watched) -> None:
    admin = AdminClient({"bootstrap.servers": watched.broker.address, "log_level": 0})
    for topic, future in admin.create_topics([NewTopic(name, count, 1) for name, count in TOPICS.items()]).items():
        assert future.result(PATIENCE_S) is None, topic
    with groups(watched, 2) as found:
        with watched.job("first") as job:
            watched.wait_ready(job)
            for generation in found:
                generation.scale(3)
            settle(watched, found, sum(TOPICS.values()))
            grades = wait_judged(watched, job, found, 2)
            print(grades, [watched.verdicts(one.group) for one in found])
            admin.create_partitions([NewPartitions("orders", GROWN)])["orders"].result(PATIENCE_S)
            settle(watched, found, sum(TOPICS.values()) + GROWN - TOPICS["orders"])
            wait_judged(watched, job, found, 3)
        for generation in found:
            generation.scale(2)
        settle(watched, found, sum(TOPICS.values()) + GROWN - TOPICS["orders"])
        with watched.job("second") as job:
            watched.wait_ready(job)
            grades = wait_judged(watched, job, found, 4)
            said = {one.group: watched.verdicts(one.group) for one in found}
            print(said)
            assert all(counts.keys() <= {"match", "explainable"} for counts in grades.values()), said
            assert grades["by-range"]["match"] >= 2, said
            assert grades["by-roundrobin"]["match"] >= 2, said


def test_a_poller_without_brokers_is_named(live: Live) -> None:
    watched, job = live

    def failing() -> bool:
        return PART in watched.readiness()[1].get("parts", {})

    assert not failing()
    assert watched.metric('rebalance_monitor_poll_requests_total{cluster="own",poller="topics"}')
    watched.broker.child.kill()
    watched.lab.wait_for("the poller named", failing, job, PATIENCE_S)
    watched.start_broker()
    watched.wait_ready(job)
    watched.lab.wait_for("the poller at work again", lambda: not failing(), job, PATIENCE_S)
