"""Tokens of an issuer (OAUTHBEARER, OpenID Connect) over TLS: renewed while a client asks all the time, and while it
asks nothing. The broker ends a connection whose token is over."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
from confluent_kafka import Consumer

from rebalance_monitor.streaming.config.amazon import connecting
from rebalance_monitor.streaming.config.rights import rights_of
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.spark.ends import ClusterError, KafkaView
from tests.integration.secured import Secured, secured
from tests.issuer import AUDIENCE, Issuer, issuer
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.integration
LASTS_S = 10
USER, SECRET = "monitor", "s3cr3t-of-the-client"
BEARER = "org.apache.kafka.common.security.oauthbearer"
ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


@pytest.fixture(scope="module")
def tokens() -> Iterator[Issuer]:
    with issuer(LASTS_S, {USER: SECRET}) as made:
        yield made


@pytest.fixture(scope="module")
def stage(tokens: Issuer) -> Iterator[Secured]:
    here = "listener.name.tls.oauthbearer"
    properties = {
        "listener.name.tls.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{here}.sasl.jaas.config": f"{BEARER}.OAuthBearerLoginModule required;",
        f"{here}.sasl.server.callback.handler.class": f"{BEARER}.OAuthBearerValidatorCallbackHandler",
        f"{here}.connections.max.reauth.ms": 60_000,
        f"{here}.sasl.oauthbearer.jwks.endpoint.url": tokens.keys_url,
        f"{here}.sasl.oauthbearer.expected.audience": AUDIENCE,
        f"{here}.sasl.oauthbearer.expected.issuer": tokens.url,
        f"{here}.sasl.oauthbearer.clock.skew.seconds": 1,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"-D{ALLOWED}={tokens.keys_url}")
        with secured("tokens", {}, properties) as made:
            yield made


def client(stage: Secured, tokens: Issuer, secret: str = SECRET) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(stage.authority_file),
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": tokens.token_url,
        "sasl.oauthbearer.client.id": USER,
        "sasl.oauthbearer.client.secret": secret,
        "sasl.oauthbearer.scope": "kafka",
    }


def answers(view: KafkaView) -> str:
    """The cluster's id. A request that meets the end of its connection is asked again, as each look of the job is."""

    def asked() -> str | None:
        with suppress(ClusterError):
            return view.cluster_id()
        return None

    found: str = until(asked)
    return found


def settings(stage: Secured, tokens: Issuer, secret: str = SECRET) -> Settings:
    given = {"name": "own", "bootstrap_servers": stage.tls_address, "client": client(stage, tokens, secret)}
    return Settings.model_validate({"clusters": [given]})


def test_tokens_are_renewed_for_a_client_that_asks_and_for_one_that_does_not(stage: Secured, tokens: Issuer) -> None:
    configured = settings(stage, tokens)
    (section,) = configured.clusters
    for right in rights_of(configured, section):
        stage.allow(USER, right.kind.resource, right.name, right.kind.operation)
    until(lambda: stage.rules(USER) == len(rights_of(configured, section)))
    busy, idle = KafkaView(section.librdkafka()), KafkaView(section.librdkafka())
    known = idle.cluster_id()
    asked, begin = 0, len(tokens.issued)

    def outlived() -> bool:
        nonlocal asked
        asked += 1
        assert answers(busy) == known
        return len(tokens.issued) >= begin + 4

    until(outlived)
    assert asked > 4
    assert answers(idle) == known
    assert "__consumer_offsets" in idle.topics(("__consumer_offsets",)).missing, "no group has been there yet"


def test_tokens_that_a_callback_signs_are_renewed_too(
    stage: Secured, tokens: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Amazon MSK, whose brokers are nowhere but there: what would sign for them signs for this broker."""
    signed: list[str] = []

    def sign(region: str) -> tuple[str, int]:
        signed.append(region)
        return tokens.token(USER)["access_token"], round((time.time() + LASTS_S) * 1000)

    monkeypatch.setattr(MSKAuthTokenProvider, "generate_auth_token", sign)
    iam = {"sasl.mechanism": "AWS_MSK_IAM", "aws.region": "eu-west-1"}
    kept = {name: value for name, value in client(stage, tokens).items() if not name.startswith("sasl.")}
    given = {"name": "own", "bootstrap_servers": stage.tls_address, "client": {**kept, **iam}}
    (section,) = Settings.model_validate({"clusters": [given]}).clusters
    busy, idle = KafkaView(section.librdkafka()), KafkaView(section.librdkafka())
    reading = Consumer(connecting({**section.librdkafka(), "group.id": "reads"}))
    known = idle.cluster_id()
    assert reading.list_topics(timeout=PATIENCE_S).cluster_id == known
    begin = len(signed)

    def outlived() -> bool:
        assert answers(busy) == known
        return len(signed) >= begin + 4

    until(outlived)
    assert answers(idle) == known
    assert reading.list_topics(timeout=PATIENCE_S).cluster_id == known
    reading.close()
    assert set(signed) == {"eu-west-1"}


def test_a_secret_that_the_issuer_does_not_know_is_said_without_it(stage: Secured, tokens: Issuer) -> None:
    """Asked again while the issuer's answer is still on its way: until then there is only that nobody answered."""
    (section,) = settings(stage, tokens, "guessed-secret").clusters
    view = KafkaView(section.librdkafka())

    def said() -> str:
        with pytest.raises(ClusterError) as why:
            view.cluster_id()
        return str(why.value) if "token" in str(why.value).lower() else ""

    assert "guessed-secret" not in until(said)
