"""Which rights the monitor's user needs on a cluster with ACLs, and what it says while they are missing."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from lab import config_topic, postgres
from lab.paths import BUILD
from lab.ports import HOST, free_ports
from lab.process import Lab
from tests.integration.watched import PATIENCE_S, Watched

pytestmark = pytest.mark.integration
FOLDER = BUILD / "rights"
GROUP, CONFIGS, STATUSES = "sinks", "sinks-configs", "sinks-status"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module")
def users_port() -> int:
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def watched(users_port: int) -> Iterator[Watched]:
    """A broker where only whoever comes through the plain listener may do as it likes; `monitor` may do nothing yet."""
    postgres.stop_server(FOLDER / "postgres")
    shutil.rmtree(FOLDER, ignore_errors=True)
    plain, controller = free_ports(2)
    listeners = f"PLAINTEXT://{HOST}:{plain},CONTROLLER://{HOST}:{controller},USERS://{HOST}:{users_port}"
    with Lab(FOLDER) as lab:
        yield Watched(
            lab,
            (plain, controller),
            {
                "listeners": listeners,
                "advertised.listeners": listeners,
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.users.plain.sasl.jaas.config": f'{PLAIN} required user_monitor="open sesame";',
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS",
            },
        )


def grant(watched: Watched, topic: str) -> None:
    """Read on a topic, which implies Describe."""
    from confluent_kafka.admin import (
        AclBinding,
        AclOperation,
        AclPermissionType,
        AdminClient,
        ResourcePatternType,
        ResourceType,
    )

    read = AclBinding(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:monitor", "*",
        AclOperation.READ, AclPermissionType.ALLOW,
    )  # fmt: skip
    admin = AdminClient({"bootstrap.servers": watched.broker.address, "log_level": 0})
    (answer,) = admin.create_acls([read]).values()
    answer.result(20)


def cluster(users_port: int, password: str) -> list[dict[str, Any]]:
    client = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "monitor",
        "sasl.password": password,
    }
    topics = {"config_topic": CONFIGS, "status_topic": STATUSES}
    address = f"{HOST}:{users_port}"
    return [{"name": "own", "bootstrap_servers": address, "client": client, "connect": {GROUP: topics}}]


def test_a_wrong_password_is_one_sentence_without_it(watched: Watched, users_port: int) -> None:
    with watched.job("wrong-password", clusters=cluster(users_port, "guess")) as job:
        assert job.process.wait(PATIENCE_S) == 2
    said = job.log.read_text()
    assert "Authentication failed" in said.splitlines()[-1]
    assert "check clusters[].bootstrap_servers and clusters[].client" in said
    assert "Traceback" not in said
    assert "guess" not in said


def test_read_on_three_topics_is_enough_and_each_missing_right_is_named(watched: Watched, users_port: int) -> None:
    config_topic.create(watched.broker.address, {CONFIGS: 1, STATUSES: 1})
    watched.rebalance("before")
    with watched.job("rights", clusters=cluster(users_port, "open sesame")) as job:
        watched.wait_not_ready(job, "__consumer_offsets (not_authorized)")
        grant(watched, "__consumer_offsets")
        watched.wait_for_group("before", job)
        watched.wait_ready(job)
        status, body = watched.readiness()
        assert (status, body["degraded"]) == (
            200,
            {"own": [f"{CONFIGS}: not_authorized", f"{STATUSES}: not_authorized"]},
        )
        grant(watched, CONFIGS)
        grant(watched, STATUSES)
        watched.lab.wait_for("nothing degraded", lambda: "degraded" not in watched.readiness()[1], job, PATIENCE_S)
        watched.rebalance("after")
        watched.wait_for_group("after", job)
    assert "sesame" not in job.log.read_text()
