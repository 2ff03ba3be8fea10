"""The cluster in virtual time beside a real one: the same events leave records of the same shapes in the same order."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from lab.asking import local
from lab.cluster import broker, jars, java, workers
from lab.cluster.workers import Worker, config_topic, status_topic
from lab.ports import free_ports
from lab.process import Lab
from lab.simulated.cluster import Cluster, Shape
from lab.simulated.worker import WorkerSettings
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, decode
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP = "shapes"
MAX_DELAY_MS = 4_000
NOTHING = (0, 0)
"""No connectors and no tasks."""
WORKERS_AT_FIRST = 2
SETTINGS = ClusterSettings(
    name="shapes",
    connect={GROUP: ConnectSettings(config_topic=config_topic(GROUP), status_topic=status_topic(GROUP))},
)


@dataclass(frozen=True, slots=True)
class Seat:
    """One member of a generation: what it held (None: no allocation), was given and had to stop."""

    held: tuple[int, int] | None
    given: tuple[int, int]
    revoked: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Turn:
    """One record of the group without names, ids and times. Seats are sorted: who sits where is chance."""

    protocol_type: str
    protocol: str | None
    leader_is_member: bool
    version_and_error: tuple[tuple[int, int], ...]
    delayed: bool
    seats: tuple[Seat, ...]


def turns(records: Sequence[RawRecord]) -> list[Turn]:
    """The group's records in which anything changes, from the first that hands something out.

    How often a change is noticed is chance, and so is whether the first two workers meet in the first round. A round
    that its members did not hear of, because the next one came too early, is repeated.
    """
    bodies = [
        row.body
        for one in records
        if one.topic == OFFSETS_TOPIC and (row := decode(one, SETTINGS)) is not None and row.group == GROUP
        if isinstance(row.body, GroupGeneration)
    ]
    assert [one.generation for one in bodies] == sorted(one.generation for one in bodies)
    found: list[Turn] = []
    for body in bodies:
        turn = turn_of(body)
        calm = bool(turn.seats) and not turn.delayed and all(one.given == one.revoked == NOTHING for one in turn.seats)
        if found and (turn == found[-1] or (calm and len(found[-1].seats) == len(turn.seats))):
            continue
        found.append(turn)
    at = next(number for number, one in enumerate(found) if any(seat.given != NOTHING for seat in one.seats))
    for turn in found[:at]:
        assert all(seat.held in (None, NOTHING) and seat.revoked == NOTHING for seat in turn.seats)
    assert len(found[at - 1].seats) == WORKERS_AT_FIRST
    return found[at:]


def turn_of(body: GroupGeneration) -> Turn:
    answers = [one.assignment for one in body.members if isinstance(one.assignment, ConnectAssignment)]
    return Turn(
        body.protocol_type,
        body.protocol,
        body.leader in {one.member_id for one in body.members},
        tuple(sorted({(one.version, one.error) for one in answers})),
        any(one.delay_ms > 0 for one in answers),
        tuple(sorted((seat_of(one.subscription, one.assignment) for one in body.members), key=repr)),
    )


def seat_of(state: object, answer: object) -> Seat:
    assert isinstance(state, WorkerState)
    assert isinstance(answer, ConnectAssignment)
    held = state.allocation
    return Seat(
        None if held is None else (len(held.connectors), len(held.tasks)),
        (len(answer.connectors), len(answer.tasks)),
        (len(answer.revoked_connectors), len(answer.revoked_tasks)),
    )


def configuration(records: Sequence[RawRecord]) -> list[tuple[str, list[str] | None]]:
    """The config topic: every key, and the names in its value."""
    of_topic = sorted((one for one in records if one.topic == config_topic(GROUP)), key=lambda one: one.offset)
    return [
        ((one.key or b"").decode(), None if one.value is None else sorted(json.loads(one.value))) for one in of_topic
    ]


def statuses(records: Sequence[RawRecord]) -> Counter[tuple[str, ...]]:
    """The status topic: for each job what was said of it in turn, with the names in the values."""
    said: dict[bytes, list[str]] = {}
    for record in sorted(records, key=lambda one: (one.partition, one.offset)):
        if record.topic == status_topic(GROUP):
            value = {"state": "gone"} if record.value is None else json.loads(record.value)
            names = "" if record.value is None else " " + " ".join(value)
            said.setdefault(record.key or b"", [(record.key or b"").split(b"-")[1].decode()]).append(
                value["state"] + names
            )
    return Counter(tuple(words) for words in said.values())


def simulated() -> list[RawRecord]:
    """The events in virtual time."""
    settings = WorkerSettings(
        release=jars.kafka_release(),
        max_delay_ms=MAX_DELAY_MS,
        session_ms=6_000,
        heartbeat_ms=1_500,
        rebalance_ms=20_000,
    )
    cluster = Cluster(3, Shape(group=GROUP, worker=settings, status_partitions=3, initial_delay_ms=1_000))
    cluster.add()
    cluster.add()
    cluster.run(10_000)
    cluster.create("alpha", 3)
    cluster.run(15_000)
    third = cluster.add()
    cluster.run(15_000)
    third.kill()
    cluster.run(30_000)
    cluster.aim("alpha", "PAUSED")
    cluster.run(10_000)
    cluster.aim("alpha", "STARTED")
    cluster.run(10_000)
    return list(cluster.log.stamped())


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RawRecord]]:
    """The same events on a real broker with real workers."""
    with Lab(Path(tmp_path_factory.mktemp("simulated-cluster"))) as lab:
        runtime = java.find()
        class_path = jars.fetch(runtime)
        port, controller_port, *ports = free_ports(5)
        kafka = broker.start(lab, runtime, class_path, port, controller_port)
        pair = workers.start(lab, runtime, class_path, kafka, group=GROUP, ports=ports[:2], max_delay_ms=MAX_DELAY_MS)
        settled(lab, pair[0], 0, 0)
        workers.create_sink(pair[0], "alpha", 3, "events")
        settled(lab, pair[0], 3, 2)
        third = workers.start(
            lab, runtime, class_path, kafka, group=GROUP, ports=ports[2:], max_delay_ms=MAX_DELAY_MS, first_number=3
        )
        settled(lab, pair[0], 3, 3)
        os.kill(third[0].child.pid, signal.SIGKILL)
        settled(lab, pair[0], 3, 2, without=third[0].address)
        for action in ("pause", "resume"):
            local().put(f"{pair[0].url}/connectors/alpha/{action}", timeout=PATIENCE_S).raise_for_status()
            wanted = {"pause": "PAUSED", "resume": "RUNNING"}[action]
            lab.wait_for(action, lambda wanted=wanted: states(pair[0]) == {wanted})  # type: ignore[misc]
        yield everything(kafka.address)


def states(worker: Worker) -> set[str]:
    answer = local().get(f"{worker.url}/connectors/alpha/status", timeout=PATIENCE_S).json()
    return {answer["connector"]["state"], *(one["state"] for one in answer["tasks"])}


def settled(lab: Lab, worker: Worker, tasks: int, on: int, without: str = "") -> None:
    """Wait until so many tasks run on so many workers, and nothing has moved for some seconds."""

    def running() -> tuple[tuple[int, str], ...] | None:
        if not tasks:
            return ()
        try:
            answer = local().get(f"{worker.url}/connectors/alpha/status", timeout=PATIENCE_S)
        except httpx.HTTPError:
            return None
        listed = answer.json().get("tasks", []) if answer.status_code == 200 else []
        found = tuple((one["id"], one["worker_id"]) for one in listed if one["state"] == "RUNNING")
        busy = {where for _, where in found}
        return found if len(found) == tasks and len(busy) == on and without not in busy else None

    lab.wait_for(f"{tasks} tasks on {on} workers", still(running))


def still(look: Callable[[], object], for_s: float = 4.0) -> Callable[[], bool]:
    """True once the look has given the same for so long."""
    seen: list[tuple[object, float]] = []

    def unchanged() -> bool:
        now = look()
        if now is None or not seen or seen[-1][0] != now:
            seen[:] = [] if now is None else [(now, time.monotonic())]
            return False
        return time.monotonic() - seen[-1][1] >= for_s

    return unchanged


def everything(bootstrap: str) -> list[RawRecord]:
    """All records of the group's topics."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False, "log_level": 0}
    )
    found: list[RawRecord] = []
    topics = consumer.list_topics(timeout=PATIENCE_S).topics
    places = [
        TopicPartition(topic, partition, OFFSET_BEGINNING)
        for topic in (OFFSETS_TOPIC, config_topic(GROUP), status_topic(GROUP))
        for partition in topics[topic].partitions
    ]
    ends = {(one.topic, one.partition): consumer.get_watermark_offsets(one, timeout=PATIENCE_S)[1] for one in places}
    consumer.assign(places)
    left = sum(ends.values())
    while left > 0:
        for message in consumer.consume(500, 1.0):
            assert message.error() is None
            at = message.topic(), message.partition(), message.offset()
            left -= at[2] < ends[at[0], at[1]]
            found.append(RawRecord(topic=at[0], partition=at[1], offset=at[2], timestamp_ms=message.timestamp()[1],
                                   key=message.key(), value=message.value()))  # fmt: skip
    consumer.close()
    return found


def test_the_config_topic_is_the_same(real: list[RawRecord]) -> None:
    assert configuration(simulated()) == configuration(real)


def test_the_groups_records_are_the_same_but_for_names_and_times(real: list[RawRecord]) -> None:
    assert turns(simulated()) == turns(real)


def test_the_same_is_said_of_every_job(real: list[RawRecord]) -> None:
    assert statuses(simulated()) == statuses(real)
