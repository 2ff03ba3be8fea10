"""The profiles `sasl` and `tls`: with the users, rights and certificates that the file makes, worker and monitor work.

They are what keeps others out: a wrong password, another authority, and no certificate are told in one sentence.
"""

import subprocess
from collections.abc import Mapping

import pytest
from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.rights import rights_of
from rebalance_monitor.streaming.config.settings import Settings
from tests.certificates import Authority
from tests.compose.on_this_machine import SERVICES, Machine, machine_here, password
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.integration
CLIENT = "REBALANCE_MONITOR__CLUSTERS__0__CLIENT__"
NOT_LET_IN = "check clusters[].bootstrap_servers and clusters[].client"


def settings(machine: Machine, name: str) -> Settings:
    """What the service of a monitor is configured with."""
    environment = machine.environment(name)
    own = {key: environment[key] for key in SERVICES[name]["environment"]}
    return load(machine.lab.folder / "mounted" / "monitor.yaml", own)


def client(machine: Machine, name: str) -> dict[str, str]:
    """librdkafka's properties of that service."""
    (cluster,) = settings(machine, name).clusters
    return {**cluster.librdkafka(), "log_level": "0"}


def checked(machine: Machine, name: str, other: Mapping[str, str | None] | None = None) -> list[str]:
    """What `config check --connect` finds wrong with the configuration of that service, and its exit code. `other`:
    properties of the client that are replaced or, with None, left out."""
    environment = machine.environment(name)
    for key, value in (other or {}).items():
        del environment[CLIENT + key]
        environment |= {} if value is None else {CLIENT + key: value}
    program, _, *config = machine.command(name)
    done = subprocess.run(
        [program, "config", "check", "--connect", *config],
        env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.stderr == ""
    *lines, end = done.stdout.splitlines()
    wrong = [line for line in lines if ": sound" not in line]
    assert (done.returncode, ": sound" in end) == (2 if wrong else 0, not wrong)
    return wrong


def up(machine: Machine, profile: str) -> None:
    """All that the monitor depends on, and a worker that has a connector: its clients' group is in order."""
    name = f"monitor-{profile}"
    for other in (*SERVICES[name]["depends_on"], f"worker-{profile}"):
        machine.up(other)
    machine.create_connector()
    admin = AdminClient(client(machine, name))

    def reads() -> bool:
        group = admin.describe_consumer_groups(["connect-orders"])["connect-orders"].result(PATIENCE_S)
        return bool(group.state == ConsumerGroupState.STABLE)

    until(reads)


def test_with_passwords_the_monitor_may_do_what_is_documented_and_nothing_else() -> None:
    with machine_here() as machine:
        up(machine, "sasl")
        assert checked(machine, "monitor-sasl") == []
        assert granted(machine) == documented(machine)
        admin = AdminClient(client(machine, "monitor-sasl"))
        with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            admin.create_topics([NewTopic("another", 1, 1)])["another"].result(PATIENCE_S)
        (problem,) = checked(machine, "monitor-sasl", {"SASL_PASSWORD": password("KAFKA_WORKER")})
        assert problem.startswith("cluster compose: no broker answers at ")
        assert "Authentication failed" in problem
        assert problem.endswith(NOT_LET_IN)


def test_with_certificates_the_broker_lets_in_whom_its_authority_certified() -> None:
    with machine_here() as machine:
        up(machine, "tls")
        assert checked(machine, "monitor-tls") == []
        another = str(Authority.made().file(machine.lab.folder))
        (problem,) = checked(machine, "monitor-tls", {"SSL_CA_LOCATION": another})
        assert problem.startswith("cluster compose: no broker answers at ")
        assert "certificate verify failed" in problem
        assert problem.endswith(NOT_LET_IN)
        (problem,) = checked(machine, "monitor-tls", {"SSL_CERTIFICATE_LOCATION": None, "SSL_KEY_LOCATION": None})
        assert problem.endswith(NOT_LET_IN)
        made = machine.lab.folder / "mounted" / "kafka-certificates"
        before = {path.name: path.read_bytes() for path in made.iterdir()}
        machine.run("kafka-certificates")
        assert {path.name: path.read_bytes() for path in made.iterdir()} == before, "a broker runs with these"
        assert set(before) == {"authority.crt", "kafka.pem", "monitor.pem", "worker.pem"}


def documented(machine: Machine) -> set[tuple[str, str, str]]:
    """Kind of resource, name, operation of each right that the monitor needs."""
    configured = settings(machine, "monitor-sasl")
    rights = rights_of(configured, configured.clusters[0])
    return {(one.kind.resource.value, one.name, one.kind.operation.value.upper()) for one in rights}


def granted(machine: Machine) -> set[tuple[str, str, str]]:
    """The same of each that the broker grants; `admin` asks, at the address for clients of this machine."""
    own = {
        "bootstrap.servers": f"localhost:{machine.ports[29092]}",
        "sasl.username": "admin",
        "sasl.password": password("KAFKA_ADMIN"),
    }
    every = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, "User:monitor", None, AclOperation.ANY, AclPermissionType.ANY
    )
    admin = AdminClient({**client(machine, "monitor-sasl"), **own})
    found = admin.describe_acls(every).result(PATIENCE_S)
    assert {(one.resource_pattern_type, one.permission_type) for one in found} == {
        (ResourcePatternType.LITERAL, AclPermissionType.ALLOW)
    }
    return {(one.restype.name.lower().replace("broker", "cluster"), one.name, one.operation.name) for one in found}
