"""What the configuration makes of pushed alerts: links that lead somewhere."""

import httpx

from streaming.cli.telling import style
from streaming.config.settings import Settings
from streaming.sinks.prometheus import Exporter


def settings(**alerting: str) -> Settings:
    return Settings.model_validate({"alerting": alerting})


def test_an_alert_leads_to_what_the_monitor_serves_unless_told_otherwise() -> None:
    exporter = Exporter(0)
    exporter.start()
    try:
        made = style(settings(), exporter.url)
        assert httpx.get(made.generator_url, trust_env=False).status_code == 200
    finally:
        exporter.stop()
    own = style(settings(generator_url="http://grafana.example/d/x"), "http://127.0.0.1:1")
    assert own.generator_url == "http://grafana.example/d/x"


def test_an_alert_leads_to_your_copy_of_the_runbooks() -> None:
    assert style(settings(), "http://127.0.0.1:1").runbooks == "docs/runbooks"
    assert style(settings(runbooks_url="https://w.example/r"), "http://127.0.0.1:1").runbooks == "https://w.example/r"
