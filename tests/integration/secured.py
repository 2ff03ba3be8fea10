"""A broker on which users may do only what they are granted; whoever comes through the plain listener may do all."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lab.ports import HOST, free_ports
from tests.integration.watched import Watched, own_lab
from tests.waiting import PATIENCE_S

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(frozen=True, slots=True)
class Secured:
    """`address` is the listener that asks who one is."""

    watched: Watched
    address: str

    def grant(self, user: str, topic: str, operation: str) -> None:
        """Read or Write on a topic; both imply Describe."""
        self.allow(user, "topic", topic, operation)

    def allow(self, user: str, kind: str, name: str, operation: str) -> None:
        """Any operation on a resource of this kind (topic, group, cluster as `broker`), or on all with the name `*`."""
        from confluent_kafka.admin import (
            AclBinding,
            AclOperation,
            AclPermissionType,
            AdminClient,
            ResourcePatternType,
            ResourceType,
        )

        rule = AclBinding(
            ResourceType[kind.upper()], name, ResourcePatternType.LITERAL, f"User:{user}", "*",
            AclOperation[operation.upper()], AclPermissionType.ALLOW,
        )  # fmt: skip
        admin = AdminClient({"bootstrap.servers": self.watched.broker.address, "log_level": 0})
        (answer,) = admin.create_acls([rule]).values()
        answer.result(PATIENCE_S)


def client(user: str, password: str) -> dict[str, Any]:
    """librdkafka's properties of a user."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password,
    }


@contextmanager
def secured(name: str, users: dict[str, str]) -> Iterator[Secured]:
    """A stage with such a broker, in a folder of this name. `users`: name to password; they may do nothing yet."""
    plain, controller, users_port = free_ports(3)
    listeners = f"PLAINTEXT://{HOST}:{plain},CONTROLLER://{HOST}:{controller},USERS://{HOST}:{users_port}"
    known = " ".join(f'user_{user}="{password}"' for user, password in users.items())
    properties = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.users.plain.sasl.jaas.config": f"{PLAIN} required {known};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with own_lab(name) as lab:
        yield Secured(Watched(lab, (plain, controller), properties), f"{HOST}:{users_port}")
