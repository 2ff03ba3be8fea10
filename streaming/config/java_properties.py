"""Properties of Java's Kafka clients that librdkafka does not have, and what to write instead."""

import re
from collections.abc import Mapping

from pydantic import SecretStr

from .amazon import NO_CREDENTIALS, is_amazon

_TRUSTED = (
    "write its certificates with `keytool -list -rfc -keystore truststore.jks > ca.pem` and set ssl.ca.location: ca.pem"
)
_STORE = (
    "convert it with `keytool -importkeystore -srckeystore keystore.jks -destkeystore keystore.p12 -deststoretype "
    "PKCS12` and set ssl.keystore.location: keystore.p12 and ssl.keystore.password"
)
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
    "ssl.truststore.location": _TRUSTED,
    "ssl.truststore.password": _TRUSTED,
    "ssl.truststore.type": _TRUSTED,
    "ssl.truststore.certificates": "set ssl.ca.pem instead",
    "ssl.keystore.type": "remove it; ssl.keystore.location takes PKCS#12. If the store is a JKS, " + _STORE,
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

_PASSWORD = "sasl.username and sasl.password, with the username and password of that line"
_MODULES: Mapping[str, str] = {
    "IAMLoginModule": "write sasl.mechanism: AWS_MSK_IAM and security.protocol: SASL_SSL, and install the extra [msk]",
    "PlainLoginModule": f"write sasl.mechanism: PLAIN, {_PASSWORD}",
    "ScramLoginModule": "write sasl.mechanism: SCRAM-SHA-512 (or SCRAM-SHA-256, as in Java's sasl.mechanism), "
    + _PASSWORD,
    "OAuthBearerLoginModule": (
        "write sasl.mechanism: OAUTHBEARER, sasl.oauthbearer.method: oidc, sasl.oauthbearer.token.endpoint.url, "
        "sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret and sasl.oauthbearer.scope, with the clientId, "
        "clientSecret and scope of that line"
    ),
    "Krb5LoginModule": (
        "write sasl.mechanism: GSSAPI, sasl.kerberos.service.name, sasl.kerberos.principal and sasl.kerberos.keytab, "
        "with the principal and keyTab of that line"
    ),
}
"""By the last part of a JAAS line's class: the keys that say the same."""


def instead(name: str, value: object) -> str:
    """What to do about a property of JAVA_ONLY. Nothing of the value is in the text but what it names publicly."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    if name == "sasl.jaas.config":
        module = re.match(r"\s*[\w.]*?(\w+)\s", text)
        return _MODULES.get(module[1] if module else "", JAVA_ONLY[name])
    if name == "ssl.keystore.type" and text.strip().upper() in ("JKS", "JCEKS"):
        return f"librdkafka reads no {text.strip().upper()}; {_STORE}"
    return JAVA_ONLY[name]


def refused_because(client: Mapping[str, str], why: str) -> str:
    """librdkafka's reason for not taking these properties, with what to do where it does not say so itself."""
    if is_amazon(client) and "OAuth token not set" in why:
        return NO_CREDENTIALS
    if "SASL mechanism GSSAPI" in why:
        return _NO_KERBEROS if client.keys() & {"sasl.mechanism", "sasl.mechanisms"} else _NO_MECHANISM
    store = client.get("ssl.keystore.location")
    if store is not None and "ssl.keystore" in why and _is_jks(store):
        return f"ssl.keystore.location is a JKS, and librdkafka reads PKCS#12; {_STORE}"
    authorities = client.get("ssl.ca.location")
    if authorities is not None and "ssl.ca.location" in why and _is_jks(authorities):
        return f"ssl.ca.location is a JKS, and librdkafka reads PEM; {_TRUSTED}"
    return why


_NO_MECHANISM = "sasl.mechanism is missing; set it, for example to SCRAM-SHA-512"
_NO_KERBEROS = (
    "this build of librdkafka has no Kerberos (GSSAPI); set another sasl.mechanism, or build the package against a "
    "librdkafka of its version that was built with libsasl2: pip install --no-binary confluent-kafka confluent-kafka"
)
_JKS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""How Java's stores of the types JKS and JCEKS begin."""


def _is_jks(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) in _JKS
    except OSError:
        return False
