"""What the configuration makes of pushed alerts: links that lead somewhere."""

from typing import Any

import pytest

from rebalance_monitor.streaming.cli.telling import addresses, events_in, style
from rebalance_monitor.streaming.config.settings import Settings


def settings(**sections: Any) -> Settings:
    return Settings.model_validate(sections)


def test_an_alert_leads_to_the_page_unless_told_otherwise() -> None:
    assert style(settings()).generator_url is None
    assert style(settings(alerting={"generator_url": "http://grafana.example/d/x"})).generator_url == (
        "http://grafana.example/d/x"
    )
    assert addresses(settings()).runbook("imbalance") == "http://127.0.0.1:9471/runbook?rule=imbalance"


def test_the_page_is_linked_as_people_reach_it() -> None:
    behind = addresses(settings(page={"public_url": "https://kafka.example/monitor/"}))
    assert behind.group("c", "g%20h") == "https://kafka.example/monitor/group?cluster=c&group=g%20h"
    assert behind.runbook("failed") == "https://kafka.example/monitor/runbook?rule=failed"
    assert addresses(settings(page={"host": "0.0.0.0", "port": 80})).public_url == "http://127.0.0.1:80"
    assert addresses(settings(page={"host": "2001:db8::1"})).public_url == "http://[2001:db8::1]:9471"


def test_an_alert_leads_to_your_copy_of_the_runbooks() -> None:
    made = style(settings(alerting={"runbooks_url": "https://w.example/r/"}))
    assert made.addresses.runbook("imbalance") == "https://w.example/r/imbalance.md"


def test_without_a_database_no_notification_waits_for_others(caplog: pytest.LogCaptureFixture) -> None:
    assert events_in("postgresql://127.0.0.1:9/none")("k", 0, 1) == []
    assert "whether groups rebalanced at once is not known" in caplog.text
