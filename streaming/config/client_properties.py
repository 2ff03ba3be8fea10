"""Properties of a Kafka client: librdkafka's, checked by name; what may carry a credential is never shown.

Only the properties in SHOWN are printed. Every other value is masked, whatever its name: a property that nobody
thought of may hold a password, as Java's `sasl.jaas.config` does.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from .java_properties import JAVA_ONLY, instead

OWNED_BY_MONITOR = frozenset(
    {"bootstrap.servers", "group.id", "isolation.level", "enable.auto.commit", "auto.offset.reset"}
)
"""The monitor sets these itself: a user's value would make it join a group, commit, or miss records."""

SHOWN = frozenset(
    {
        "api.version.request",
        "aws.region",
        "broker.address.family",
        "broker.address.ttl",
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "debug",
        "enable.ssl.certificate.verification",
        "fetch.max.bytes",
        "fetch.message.max.bytes",
        "fetch.wait.max.ms",
        "log_level",
        "max.partition.fetch.bytes",
        "metadata.max.age.ms",
        "receive.message.max.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.ms",
        "sasl.kerberos.keytab",
        "sasl.kerberos.principal",
        "sasl.kerberos.service.name",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.username",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.keepalive.enable",
        "socket.nagle.disable",
        "socket.timeout.ms",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.cipher.suites",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.location",
        "ssl.keystore.location",
        "topic.metadata.refresh.interval.ms",
    }
)
"""Properties whose values are harmless: these are printed."""

UNSECURED = "enable.sasl.oauthbearer.unsecure.jwt"
"""Tokens that librdkafka makes itself, for tests of brokers that trust everybody."""


def checked(value: Any) -> Any:
    """Texts for librdkafka, everything outside SHOWN as a secret. Raises ValueError, never with a value in its text."""
    if not isinstance(value, Mapping):
        return value
    clean: dict[str, Any] = {}
    for key, item in value.items():
        name = str(key)
        if name in OWNED_BY_MONITOR:
            raise ValueError(f"{name} is set by the monitor itself; remove it")
        if name in JAVA_ONLY:
            raise ValueError(f"{name} is a property of Java's clients, this is librdkafka; {instead(name, item)}")
        if isinstance(item, SecretStr):
            clean[name] = item
            continue
        if item is None or isinstance(item, Mapping | list):
            raise ValueError(f"{name} must be a single text, number or boolean")
        text = str(item).lower() if isinstance(item, bool) else str(item)
        clean[name] = text if name in SHOWN else SecretStr(text)
    if "OAUTHBEARER" in (clean.get("sasl.mechanism"), clean.get("sasl.mechanisms")) and not _gets_tokens(clean):
        raise ValueError("sasl.mechanism OAUTHBEARER needs sasl.oauthbearer.method: oidc with its endpoint and client")
    return clean


def _gets_tokens(client: Mapping[str, Any]) -> bool:
    """Whether librdkafka knows where to get a token: nobody else gives it one."""
    return client.get("sasl.oauthbearer.method") == "oidc" or UNSECURED in client


def in_clear(client: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """The properties with their credentials readable: never print or log the result."""
    return {key: value.get_secret_value() if isinstance(value, SecretStr) else value for key, value in client.items()}
