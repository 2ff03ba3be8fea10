"""A consumer that is busy while its group rebalances, on a real broker: brokers say so, the fold says for how long."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import broker
from lab.cluster.broker import Broker
from lab.foreign import captured
from lab.process import Lab
from lab.simulated_group.members import SimulatedGroup
from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.cluster.group_states import PREPARING, GroupStates, Rebalancing
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Owner
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.polling.asking_states import KafkaGroupStates
from rebalance_monitor.streaming.polling.states import StatePoller
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP, TOPIC = "busy", "t"
ALLOWED_MS = 4_000
"""What the group's owner allows; its members allow a minute."""
SETTINGS = ClusterSettings(name="c", owners=(Owner(groups="*", team="t", rebalance_timeout_ms=ALLOWED_MS),))


class Told:
    """Keeps what the poller says of itself."""

    def __init__(self) -> None:
        self.problems: set[str] = set()
        self.unseen: bool | None = None
        self.requests = 0

    def part(self, _name: str, problem: str | None) -> None:
        self.problems |= {problem} if problem else set()

    def polled(self, _poller: str, requests: int, _answered_ms: int | None) -> None:
        self.requests += requests

    def groups_unseen(self, *, unseen: bool) -> None:
        self.unseen = unseen


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as made:
        yield made


@pytest.fixture
def running(lab: Lab) -> Broker:
    started = broker.start_anywhere(lab)
    admin = AdminClient({"bootstrap.servers": started.address, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, 4, 1)])[TOPIC].result(PATIENCE_S)
    return started


def member(at: Broker, name: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": at.address, "group.id": GROUP, "client.id": name, "session.timeout.ms": 6_000,
            "max.poll.interval.ms": 60_000, "heartbeat.interval.ms": 500, "enable.auto.commit": False, "log_level": 0,
        }
    )  # fmt: skip
    # Callbacks run in `poll`: a member that does not call it neither gives its partitions up nor joins again.
    consumer.subscribe([TOPIC], on_assign=lambda *_: None, on_revoke=lambda *_: None)
    return consumer


def folded(lab: Lab, at: Broker, states: GroupStates) -> list[Incident]:
    """What is said of the group from what it has written so far, read as it came, and from what was polled."""
    captured.write(lab.folder / "capture", at.address, [], {"capture": "busy"})
    rows = [decode(one, SETTINGS) for one in records_of(lab.folder / "capture" / "records.jsonl.gz")]
    state: Saved | None = None
    for row in rows:
        if row is not None and row.group == GROUP:
            state = fold_group(SETTINGS, GROUP, state, [row], Tick(row.timestamp_ms)).state
    now = Tick(time.time_ns() // 1_000_000)
    results = fold_group(SETTINGS, GROUP, state, [], now, knowledge=Knowledge(groups=states)).results
    return [one for one in results if isinstance(one, Incident)]


class Watching:
    """What a poller heard so far."""

    def __init__(self, at: Broker) -> None:
        self.told = Told()
        self.states = GroupStates()
        self.poller = StatePoller(KafkaGroupStates({"bootstrap.servers": at.address}), self.told, every_s=0.5)

    def seen(self) -> Rebalancing | None:
        for poll in self.poller.since(self.states.answered_ms):
            self.states = self.states.with_poll(poll)
        return self.states.rebalancing.get(GROUP)

    def lasting(self) -> bool:
        seen = self.seen()
        return seen is not None and seen.state == PREPARING and seen.seen_ms - seen.begun_ms > ALLOWED_MS


def test_a_member_that_does_not_join_again_is_found(lab: Lab, running: Broker) -> None:
    watching = Watching(running)
    with closing(member(running, "busy")) as busy:
        lab.wait_for("a first assignment", lambda: busy.poll(0.1) is None and bool(busy.assignment()))
        watching.poller.start()
        with closing(member(running, "other")) as other:  # it joins; the first one is busy from now on
            lab.wait_for("a rebalance that lasts", lambda: other.poll(0.1) is None and watching.lasting())
            opened, fired = folded(lab, running, watching.states)
            assert (opened.transition, fired.transition) == ("opened", "fired")
            assert (fired.rule, fired.alert) == ("stuck_rebalance", AlertSeverity.CRITICAL)
            assert fired.message.startswith(f"in {PREPARING} since ")
            lab.wait_for(
                "the end of the rebalance",
                lambda: busy.poll(0.1) is None and other.poll(0.1) is None and watching.seen() is None,
            )
            watching.poller.stop()
            assert folded(lab, running, watching.states) == [], "the record that was written since ends it"
    assert watching.told.problems == set()
    assert watching.told.unseen is False, "without an authorizer everything may be described"


def test_a_connect_group_is_asked_for_by_its_name(lab: Lab, running: Broker) -> None:
    """The client lists consumer groups only."""
    ask = KafkaGroupStates({"bootstrap.servers": running.address})
    with SimulatedGroup(running.address, "workers", workers=2, connectors={"c": 2}) as group:
        lab.wait_for("a generation of both", group.settled)
        assert ask.group("workers").states == {}
        group.vanish(group.workers[-1])
        group.add()
        lab.wait_for("a rebalance that waits for it", lambda: bool(ask.group("workers").states))
        assert ask.consumers().states == {}
        lab.wait_for("its end", lambda: not ask.group("workers").states)
