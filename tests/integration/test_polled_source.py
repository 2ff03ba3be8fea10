"""A cluster whose coordinator's log is closed to the monitor: its groups are polled, found and explained.

The broker is real, with ACLs that deny `__consumer_offsets`. Real consumers make one group; simulated workers, over the
real protocol, make a Connect group whose leader then goes wrong.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import workers
from rebalance_monitor.schemas.consumer_protocol import read_assignment, read_subscription
from rebalance_monitor.streaming.core.fold.sampling import MISSING
from rebalance_monitor.streaming.polling.asking_snapshots import KafkaSnapshots
from rebalance_monitor.streaming.supervision import PartFailed
from tests.integration.gaps_told import degraded
from tests.integration.secured import Secured, client, secured
from tests.integration.told import heal, sections, simulated, spoil
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
PASSWORD = "open sesame"
PLAIN, CONNECT, TOPIC, PARTITIONS = "plain", "workers", "orders", 4
STATUSES = workers.status_topic(CONNECT)


@pytest.fixture(scope="module")
def stage() -> Iterator[Secured]:
    with secured("polled-source", {"monitor": PASSWORD, "narrow": PASSWORD}) as made:
        admin = AdminClient({"bootstrap.servers": made.watched.broker.address, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE_S)
        made.allow("monitor", "cluster", "kafka-cluster", "describe")
        made.allow("monitor", "group", "*", "describe")
        made.allow("monitor", "topic", TOPIC, "describe")
        made.allow("monitor", "topic", workers.config_topic(CONNECT), "read")
        made.allow("monitor", "topic", STATUSES, "describe")
        made.allow("narrow", "cluster", "kafka-cluster", "describe")
        yield made


def configuration(stage: Secured, source: str, user: str = "monitor") -> dict[str, Any]:
    """The monitor's, as a user that may not read the coordinator's log."""
    made = sections(stage.watched, CONNECT, {})
    (cluster,) = made["clusters"]
    cluster |= {"bootstrap_servers": stage.address, "client": client(user, PASSWORD), "source": source}
    return {**made, "polling": {"groups_every_ms": 1_000, "topics_every_ms": 1_000}}


def command(stage: Secured, source: str, *words: str, user: str = "monitor") -> tuple[int, str]:
    """Exit code and output of a command of the monitor."""
    path = stage.watched.configuration(**configuration(stage, source, user))
    asked = [str(Path(sys.executable).parent / "rebalance-monitor"), *words, "--config", str(path)]
    done = subprocess.run(asked, capture_output=True, text=True, env={**os.environ}, check=False)
    assert "sesame" not in done.stdout + done.stderr
    return done.returncode, done.stdout


def member(stage: Secured, name: str) -> Consumer:
    made = Consumer(
        {
            "bootstrap.servers": stage.watched.broker.address, "group.id": PLAIN, "client.id": name,
            "partition.assignment.strategy": "range", "enable.auto.commit": False, "log_level": 0,
        }
    )  # fmt: skip
    made.subscribe([TOPIC])
    return made


def documents(stage: Secured, table: str, group: str) -> list[dict[str, Any]]:
    with psycopg.connect(stage.watched.postgres.dsn) as database:
        found = database.execute(
            f"select document from rebalance_monitor.{table} where \"group\" = %s order by document->>'at_ms'", (group,)
        ).fetchall()
    return [one for (one,) in found]


def jobs(stage: Secured) -> list[dict[str, Any]]:
    """Connectors and tasks as the table has them."""
    return documents(stage, "connectors_and_tasks", CONNECT)


def say(stage: Secured, connector: str, task: int, state: str) -> None:
    """The worker that holds the task by the table writes its status."""
    name = f"{connector}-{task}"
    (worker,) = next(each["assigned"] for each in jobs(stage) if each["subject"] == {"type": "task", "id": name})
    producer = Producer({"bootstrap.servers": stage.watched.broker.address, "log_level": 0})
    value = {"state": state, "trace": None, "worker_id": worker, "generation": 1}
    producer.produce(STATUSES, key=f"status-task-{name}".encode(), value=json.dumps(value).encode())
    assert producer.flush(PATIENCE_S) == 0


def test_a_cluster_that_can_only_be_asked_is_found_and_explained(stage: Secured) -> None:
    watched = stage.watched
    with (
        simulated(watched, CONNECT) as group,
        closing(member(stage, "one")) as first,
        closing(member(stage, "two")) as two,
    ):

        def both() -> bool:
            shares = [each.poll(0.1) or each.assignment() for each in (first, two)]
            return all(isinstance(share, list) and len(share) == PARTITIONS // 2 for share in shares)

        watched.lab.wait_for("both consumers have partitions", both, timeout_s=PATIENCE_S)

        _, said = command(stage, "log", "config", "check", "--connect")
        assert "topic __consumer_offsets: this user may not describe it" in said
        assert "set clusters[].source: poll" in said
        _, said = command(stage, "poll", "config", "check", "--connect")
        assert "groups of own (classic groups that this user may describe: 2): sound" in said
        assert "__consumer_offsets" not in said
        assert f"group {CONNECT}: sound" in said, said
        assert f"topic {STATUSES}: this user may not read it; grant it Read" in said
        _, said = command(stage, "poll", "config", "check", "--connect", user="narrow")
        assert f"group {CONNECT}: this user may not describe it, so its state is not known" in said
        assert f"brokers did not describe {PLAIN} (" in said

        with watched.job("polled", **configuration(stage, "poll")) as job:
            watched.wait_ready(job)
            assert watched.readiness()[1].get("parts") is None
            assert degraded(watched) == [f"{STATUSES}: not_authorized: Read is not granted"]

            def explained() -> bool:
                both()  # members that do not poll leave
                grades = [{grade for grade, _ in watched.verdicts(name)} for name in (PLAIN, CONNECT)]
                return all("explainable" in one for one in grades)

            watched.lab.wait_for("both groups are explained", explained, job, PATIENCE_S)
            said_of = [
                why for name in (PLAIN, CONNECT) for grade, why in watched.verdicts(name) if grade == "explainable"
            ]
            assert all(MISSING in why for why in said_of)
            plain = documents(stage, "generations", PLAIN)[-1]
            assert {len(each["assigned"]["partitions"]) for each in plain["members"]} == {PARTITIONS // 2}

            stage.grant("monitor", STATUSES, "read")
            watched.lab.wait_for("the status topic is read", lambda: not degraded(watched), job, PATIENCE_S)
            say(stage, "alpha", 1, "RUNNING")

            def heard() -> bool:
                both()
                return "RUNNING" in {(each["running"] or {}).get("state") for each in jobs(stage)}

            watched.lab.wait_for("a status of a task", heard, job, PATIENCE_S)
            assert {each["sampled"] for each in jobs(stage)} == {True}
            assert {each["agreement"] for each in jobs(stage)} <= {"ok", "unknown", "unassigned"}

            spoil(watched, group)

            def found() -> bool:
                both()
                return "duplicate_active" in {each["rule"] for each in documents(stage, "incidents", CONNECT)}

            watched.lab.wait_for("the planted duplicate", found, job, PATIENCE_S)
            heal(watched, group)

            def over() -> bool:
                both()
                ends = [each["resolved_at_ms"] for each in documents(stage, "incidents", CONNECT)]
                return all(end is not None for end in ends)

            watched.lab.wait_for("its end", over, job, PATIENCE_S)
            generations = [each for name in (PLAIN, CONNECT) for each in documents(stage, "generations", name)]
            incidents = [each for name in (PLAIN, CONNECT) for each in documents(stage, "incidents", name)]
            assert all(each["sampled"]["at_ms"] == each["at_ms"] for each in generations)
            assert {each["verdict"]["grade"] for each in generations} <= {"explainable", "not_judged"}
            assert all(each["sampled"] and each["certainty"] != "certain" for each in incidents)
            assert documents(stage, "incidents", PLAIN) == []
            (requests,) = watched.metric('rebalance_monitor_poll_requests_total{cluster="own",poller="groups"}')
            assert float(requests.split()[-1]) >= 3 * len(generations)
            print(f"\n{len(generations)} assignments seen; {sorted({each['rule'] for each in incidents})} found")
        code, said = command(stage, "poll", "audit")
        assert (code, "violated" in said) == (0, False), said
    assert "sesame" not in job.log.read_text()


def test_what_a_real_broker_says_of_groups_of_each_kind(stage: Secured) -> None:
    """In the end the broker is stopped: then nobody answers, which says nothing of any group."""
    ask = KafkaSnapshots({"bootstrap.servers": stage.address, **client("monitor", PASSWORD)})
    plain = {"bootstrap.servers": stage.watched.broker.address, "enable.auto.commit": False, "log_level": 0}
    static = Consumer({**plain, "group.id": "static", "client.id": "c", "group.instance.id": "i-1"})
    epochs = Consumer({**plain, "group.id": "epochs", "group.protocol": "consumer"})
    with closing(static), closing(epochs):
        for consumer in (static, epochs):
            consumer.subscribe([TOPIC])

        def assigned() -> bool:
            return all(one.poll(0.1) is None and len(one.assignment()) == PARTITIONS for one in (static, epochs))

        stage.watched.lab.wait_for("both groups have members", assigned, timeout_s=PATIENCE_S)
        answer = ask({"static", "epochs", "never"})
        assert answer.complete
        assert "epochs" not in answer.groups, "a KIP-848 group cannot be described so"
        assert (answer.others, answer.unclear) == ({"epochs": "Stable"}, {}), "asked for by name; the third is gone"
        found = answer.groups["static"]
        (only,) = found.members
        assert (found.state, found.protocol_type) == ("Stable", "consumer")
        assert (only.client_id, only.instance_id) == ("c", "i-1")
        assert read_subscription(only.subscription)[0].topics == (TOPIC,)
        assert len(read_assignment(only.assignment)[0].partitions) == PARTITIONS
    stage.watched.broker.child.stop()
    with pytest.raises(PartFailed, match="the brokers did not describe their groups"):
        ask()
