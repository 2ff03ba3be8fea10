"""Amazon MSK with IAM: what the configuration may say, and that Amazon's own library signs what librdkafka asks for."""

import base64
import gc
import json
import sys
import time
import weakref
from urllib.parse import parse_qs, urlsplit

import pytest

from rebalance_monitor.streaming.config.amazon import NO_REGION, connecting
from rebalance_monitor.streaming.config.client_reference import ClientReference
from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.config.java_properties import refused_because
from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.spark.ends import ClientRefused, KafkaView

IAM = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
BROKERS = ",".join(f"b-{number}.orders.abc123.c2.kafka.eu-west-1.amazonaws.com:9098" for number in (1, 2))
SERVERLESS = "boot-abc123.c1.kafka-serverless.us-east-2.amazonaws.com:9098"
KEY = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "s3cr3t-of-amazon"}


def configured(brokers: str, client: dict[str, str]) -> ClusterSection:
    text = json.dumps([{"name": "a", "bootstrap_servers": brokers, "client": client}])
    (section,) = load(None, {"REBALANCE_MONITOR__CLUSTERS": text}).clusters
    return section


@pytest.mark.parametrize(
    ("brokers", "more", "region"),
    [
        (BROKERS, {}, "eu-west-1"),
        (SERVERLESS, {}, "us-east-2"),
        ("proxy:9098", {"aws.region": "eu-south-2"}, "eu-south-2"),
    ],
)
def test_amazons_library_signs_for_the_brokers_region(
    monkeypatch: pytest.MonkeyPatch, brokers: str, more: dict[str, str], region: str
) -> None:
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)
    travels = ClientReference.of(configured(brokers, {**IAM, **more}), None)
    assert travels.hidden == ()
    taken = connecting(travels.librdkafka({}))
    assert taken.keys() == {"bootstrap.servers", "security.protocol", "sasl.mechanism", "oauth_cb"}
    assert taken["sasl.mechanism"] == "OAUTHBEARER"
    token, expires_s = taken["oauth_cb"]("")
    assert 0 < expires_s - time.time() <= 900
    address = urlsplit(base64.urlsafe_b64decode(token + "==").decode())
    assert address.hostname == f"kafka.{region}.amazonaws.com"
    asked = parse_qs(address.query)
    assert asked["Action"] == ["kafka-cluster:Connect"]
    assert asked["X-Amz-Credential"][0].startswith(f"{KEY['AWS_ACCESS_KEY_ID']}/")
    assert KEY["AWS_SECRET_ACCESS_KEY"] not in address.geturl()


@pytest.mark.parametrize(
    ("brokers", "client", "sentence"),
    [
        ("kafka:9098", IAM, NO_REGION),
        (BROKERS, {"sasl.mechanism": "AWS_MSK_IAM"}, "sasl.mechanism AWS_MSK_IAM needs security.protocol: SASL_SSL"),
        (BROKERS, {"aws.region": "eu-west-1"}, "aws.region is for sasl.mechanism AWS_MSK_IAM alone; remove it"),
    ],
)
def test_what_cannot_be_signed_is_one_sentence(brokers: str, client: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as why:
        configured(brokers, client)
    assert sentence in str(why.value)
    assert "\n" not in str(why.value)


def test_without_credentials_the_sentence_says_where_they_may_stand() -> None:
    """The text is that of the client, which waits 10 s for a callback that fails."""
    said = "OAuth token not set within 10 seconds timeout"
    assert refused_because(IAM, said).startswith("Amazon's library signed no token within 10 s; give this process ")
    assert refused_because({"sasl.mechanism": "OAUTHBEARER"}, said) == said


def test_without_the_extra_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(ClientRefused, match=r"needs Amazon's library; install rebalance-monitor\[msk\]"):
        KafkaView(configured(BROKERS, IAM).librdkafka())


def test_a_view_that_is_let_go_of_is_destroyed_at_once() -> None:
    """Not by the garbage collector, which may run in a thread of librdkafka while a token is signed there."""
    gc.collect()
    gc.disable()
    try:
        view = KafkaView({"bootstrap.servers": "127.0.0.1:1"})
        ended = weakref.ref(view)
        del view
        assert ended() is None
    finally:
        gc.enable()
