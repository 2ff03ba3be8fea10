"""A broker on which users may do only what they are granted; whoever comes through the plain listener may do all.

address        SASL without TLS: PLAIN
tls_address    SASL over TLS: PLAIN, SCRAM-SHA-512
mtls_address   TLS with a certificate of the client
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lab.ports import HOST, free_ports
from tests.certificates import Authority
from tests.integration.watched import Watched, own_lab
from tests.waiting import PATIENCE_S

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_LIBRARYS = {"cluster": "BROKER"}
"""A kind of resource whose name in the library is not Kafka's."""
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True, slots=True)
class Secured:
    """The addresses are those of the listeners that ask who one is. `authority`: who signed the broker's certificate,
    and whose certificates of clients the broker takes."""

    watched: Watched
    address: str
    tls_address: str
    mtls_address: str
    authority: Authority

    @property
    def authority_file(self) -> Path:
        return self.watched.lab.folder / "authority.crt"

    def scram(self, user: str, password: str) -> dict[str, Any]:
        """librdkafka's properties of a user of `tls_address`, whose password the cluster knows from now on."""
        from confluent_kafka.admin import (
            ScramCredentialInfo,
            ScramMechanism,
            UserScramCredentialUpsertion,
        )

        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(user, credential, password.encode())
        self._admin().alter_user_scram_credentials([change])[user].result(PATIENCE_S)
        return {
            **client(user, password),
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "ssl.ca.location": str(self.authority_file),
        }

    def grant(self, user: str, topic: str, operation: str) -> None:
        """Read or Write on a topic; both imply Describe."""
        self.allow(user, "topic", topic, operation)

    def allow(self, user: str, kind: str, name: str, operation: str) -> None:
        """Any operation on a resource of this kind (topic, group, cluster), or on all with the name `*`."""
        from confluent_kafka.admin import (
            AclBinding,
            AclOperation,
            AclPermissionType,
            ResourcePatternType,
            ResourceType,
        )

        rule = AclBinding(
            ResourceType[_LIBRARYS.get(kind, kind.upper())], name, ResourcePatternType.LITERAL, f"User:{user}", "*",
            AclOperation[operation.upper()], AclPermissionType.ALLOW,
        )  # fmt: skip
        (answer,) = self._admin().create_acls([rule]).values()
        answer.result(PATIENCE_S)

    def revoke_all(self, user: str) -> None:
        """Whatever the user was granted."""
        (answer,) = self._admin().delete_acls([_every_rule(user)]).values()
        answer.result(PATIENCE_S)

    def rules(self, user: str) -> int:
        """How many rules the broker has of this user: one that was made reaches it a moment later."""
        return len(self._admin().describe_acls(_every_rule(user)).result(PATIENCE_S))

    def _admin(self) -> Any:
        return _admin_of(self.watched.broker.address)


@cache
def _admin_of(address: str) -> Any:
    """One client for all: what a client that is let go of was asked for fails."""
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": address, "log_level": 0})


def _every_rule(user: str) -> Any:
    from confluent_kafka.admin import (
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )

    return AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{user}", None, AclOperation.ANY, AclPermissionType.ANY
    )


def client(user: str, password: str) -> dict[str, Any]:
    """librdkafka's properties of a user."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password,
    }


@contextmanager
def secured(name: str, users: dict[str, str], others: Mapping[str, object] | None = None) -> Iterator[Secured]:
    """A stage with such a broker, in a folder of this name. `users`: name to password; they may do nothing yet.
    `others`: further properties of the broker."""
    ports = free_ports(5)
    names = ("PLAINTEXT", "CONTROLLER", "USERS", "TLS", "MTLS")
    listeners = ",".join(f"{one}://{HOST}:{port}" for one, port in zip(names, ports, strict=True))
    known = " ".join(f'user_{user}="{password}"' for user, password in users.items())
    authority = Authority.made()
    with own_lab(name) as lab:
        properties = {
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_PLAINTEXT,TLS:SASL_SSL,MTLS:SSL"
            ),
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.users.plain.sasl.jaas.config": f"{PLAIN} required {known};",
            "listener.name.tls.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "listener.name.tls.plain.sasl.jaas.config": f"{PLAIN} required {known};",
            "listener.name.tls.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
            **_tls(lab.folder, authority),
            "listener.name.mtls.ssl.client.auth": "required",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            **(others or {}),
        }
        watched = Watched(lab, (ports[0], ports[1]), properties)
        users_at, tls_at, mtls_at = (f"{HOST}:{port}" for port in ports[2:])
        yield Secured(watched, users_at, tls_at, mtls_at, authority)


def _tls(folder: Path, authority: Authority) -> dict[str, object]:
    """What a broker needs to show a certificate, and to check those of clients."""
    issued = authority.issue("broker")
    own = folder / "broker.pem"
    own.write_bytes(issued.key() + issued.pem)
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": own,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority.file(folder),
    }
