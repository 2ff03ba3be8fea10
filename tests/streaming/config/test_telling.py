"""Receivers, heartbeat and the bounds of /metrics: what is refused, what stays hidden, what a rule makes of a name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.metrics import MetricsSection
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.config.settings import Settings

SECRET = "planted-secret"
CLUSTER = {"name": "orders", "bootstrap_servers": "k:9092", "client": {"sasl.username": "monitor"}}
KAFKA = {"bootstrap_servers": "a:9092", "topic": "alerts"}


Load = Callable[..., Settings]


@pytest.fixture
def alerting(tmp_path: Path) -> Load:
    """Loads a file with this section."""

    def load_it(**more: Any) -> Settings:
        (tmp_path / "monitor.yaml").write_text(json.dumps({"alerting": more}))
        return load(tmp_path / "monitor.yaml", {})

    return load_it


def test_addresses_headers_and_passwords_are_hidden_in_every_print(alerting: Load) -> None:
    settings = alerting(
        webhooks=[{"name": "chat", "url": f"https://a/{SECRET}", "headers": {"Authorization": SECRET}}],
        kafka={**KAFKA, "client": {"sasl.password": SECRET}},
        heartbeat_url=f"https://a/{SECRET}",
    )
    assert SECRET not in repr(settings)
    assert SECRET not in settings.model_dump_json()
    assert settings.alerting.kafka is not None
    assert settings.alerting.kafka.librdkafka()["sasl.password"] == SECRET


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"webhooks": [{"name": "chat", "url": f"ftp://{SECRET}"}]}, "must be a URL"),
        ({"heartbeat_url": SECRET}, "must be a URL"),
        ({"webhooks": [{"name": "a", "url": "http://a"}, {"name": "a", "url": "http://b"}]}, "share a name"),
        ({"webhooks": [{"name": "a", "url": "http://a", "headers": {"X": f"{SECRET}\n"}}]}, "can't be sent"),
        ({"webhooks": [{"name": "a", "url": "http://a", "headers": {"X Y": "z"}}]}, "can't be sent"),
        ({"kafka": {**KAFKA, "topic": "__consumer_offsets"}}, "must match"),
        ({"kafka": {**KAFKA, "client": {"group.id": "x"}}}, "set by the monitor itself"),
    ],
)
def test_what_can_not_work_is_refused_without_showing_a_secret(alerting: Load, given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        alerting(**given)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("kafka", "why"),
    [
        ({**KAFKA, "client": {"sasl.username": "monitor"}}, "needs credentials of its own"),
        ({**KAFKA, "topic": "orders-status"}, "is a topic that is watched"),
    ],
)
def test_the_topic_of_alerts_has_its_own_principal_and_is_not_watched(kafka: dict[str, Any], why: str) -> None:
    cluster = {**CLUSTER, "connect": {"orders": {"status_topic": "orders-status"}}}
    variables = {
        "REBALANCE_MONITOR__CLUSTERS": json.dumps([cluster]),
        "REBALANCE_MONITOR__ALERTING__KAFKA": json.dumps(kafka),
    }
    with pytest.raises(ConfigError, match=why):
        load(None, variables)
    load(None, {**variables, "REBALANCE_MONITOR__ALERTING__KAFKA": json.dumps(KAFKA)})


def test_the_first_rule_that_fits_a_whole_name_counts() -> None:
    rules = [{"match": r"(.+)-\w{5}(:\d+)", "replace": r"\1\2"}, {"match": ".*", "replace": "any"}]
    section = MetricsSection(worker_rewrite=rules)  # type: ignore[arg-type]
    assert section.worker("connect-abcde:8083") == "connect:8083"
    assert section.worker("10.0.0.1:8083") == "any"
    assert MetricsSection().worker("10.0.0.1:8083") == "10.0.0.1:8083"


@pytest.mark.parametrize("rule", [{"match": "(", "replace": ""}, {"match": "a", "replace": r"\1"}])
def test_a_rule_that_can_not_work_is_refused(rule: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="don't go together"):
        load(None, {"REBALANCE_MONITOR__METRICS__WORKER_REWRITE": json.dumps([rule])})
