"""Properties of a Kafka client: librdkafka's, checked by name; what may carry a credential is never shown.

Only the properties in SHOWN are printed. Every other value is masked, whatever its name: a property that nobody
thought of may hold a password, as Java's `sasl.jaas.config` does.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

OWNED_BY_MONITOR = frozenset(
    {"bootstrap.servers", "group.id", "isolation.level", "enable.auto.commit", "auto.offset.reset"}
)
"""The monitor sets these itself: a user's value would make it join a group, commit, or miss records."""

SHOWN = frozenset(
    {
        "api.version.request",
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

_PEM = "convert the store to PEM files and set ssl.ca.location, ssl.certificate.location and ssl.key.location"
_TLS = "remove it; librdkafka takes the TLS versions of its OpenSSL"
_LOGIN = "set sasl.mechanism, and for OAUTHBEARER also sasl.oauthbearer.method: oidc with its endpoint and client"
_DECODES = "remove it; the monitor decodes records itself"
JAVA_ONLY: Mapping[str, str] = {
    "sasl.jaas.config": "set sasl.mechanism, sasl.username and sasl.password instead",
    "sasl.client.callback.handler.class": _LOGIN,
    "sasl.login.callback.handler.class": _LOGIN,
    "sasl.login.class": _LOGIN,
    "sasl.kerberos.ticket.renew.jitter": "set sasl.kerberos.min.time.before.relogin instead",
    "sasl.kerberos.ticket.renew.window.factor": "set sasl.kerberos.min.time.before.relogin instead",
    "sasl.login.refresh.buffer.seconds": "remove it; librdkafka refreshes tokens by itself",
    "sasl.login.refresh.min.period.seconds": "remove it; librdkafka refreshes tokens by itself",
    "sasl.login.refresh.window.factor": "remove it; librdkafka refreshes tokens by itself",
    "sasl.login.refresh.window.jitter": "remove it; librdkafka refreshes tokens by itself",
    "ssl.truststore.location": "convert the store to a PEM file and set ssl.ca.location instead",
    "ssl.truststore.password": "a PEM file needs none; set ssl.ca.location instead of the store",
    "ssl.truststore.type": "set ssl.ca.location to a PEM file instead of the store",
    "ssl.truststore.certificates": "set ssl.ca.pem instead",
    "ssl.keystore.type": "ssl.keystore.location takes PKCS#12; " + _PEM,
    "ssl.keystore.certificate.chain": "set ssl.certificate.pem instead",
    "ssl.keystore.key": "set ssl.key.pem instead",
    "ssl.enabled.protocols": _TLS,
    "ssl.protocol": _TLS,
    "ssl.provider": _TLS,
    "ssl.secure.random.implementation": _TLS,
    "ssl.keymanager.algorithm": _TLS,
    "ssl.trustmanager.algorithm": _TLS,
    "ssl.engine.factory.class": _TLS,
    "security.providers": _TLS,
    "key.deserializer": _DECODES,
    "value.deserializer": _DECODES,
    "max.poll.records": "remove it; source.max_bytes_per_second_per_broker limits what is read",
    "default.api.timeout.ms": "set socket.timeout.ms instead",
    "request.timeout.ms": "set socket.timeout.ms instead",
    "interceptor.classes": "remove it; it is a class of Java",
    "metric.reporters": "remove it; it is a class of Java",
}
"""Properties of Java's clients that librdkafka does not have, each with what to do instead."""


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
            raise ValueError(f"{name} is a property of Java's clients, this is librdkafka; {JAVA_ONLY[name]}")
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
