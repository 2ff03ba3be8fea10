"""A real Alertmanager takes what we push: it shows the alert as active, and ends it with the resolution."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.asking import local
from lab.ports import free_ports
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.model.results import AlertSeverity
from rebalance_monitor.streaming.notify.alertmanager import Alertmanager
from rebalance_monitor.streaming.notify.alerts import AlertStyle
from rebalance_monitor.streaming.notify.delivery import Delivery
from rebalance_monitor.streaming.store import maintenance
from rebalance_monitor.streaming.store.maintenance import LOOK_EVERY_MS
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, incident
from tests.streaming.notify.receiver import receiving
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.postgres, pytest.mark.prometheus]

BINARY = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
CONFIG = """
route: {receiver: hook, group_by: ['...'], group_wait: 0s, group_interval: 1s}
receivers: [{name: hook, webhook_configs: [{url: '%s/api/v2/alerts', send_resolved: true}]}]
"""


@pytest.fixture
def webhook() -> Iterator[Any]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def alertmanager(tmp_path: Path, webhook: Any) -> Iterator[str]:
    if BINARY is None:
        pytest.skip("no alertmanager: apt-get install prometheus-alertmanager")
    (tmp_path / "am.yml").write_text(CONFIG % webhook.url)
    port = free_ports(1)[0]
    process = subprocess.Popen(
        [
            BINARY, f"--config.file={tmp_path / 'am.yml'}", f"--storage.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: local().get(f"{url}/-/ready", timeout=PATIENCE_S).is_success)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def test_it_fires_and_resolves_once(store: PostgresStore, dsn: str, alertmanager: str, webhook: Any) -> None:
    now_ms = time.time_ns() // 1_000_000
    epoch = store.claim()
    pusher = Delivery(dsn, [Alertmanager(alertmanager, AlertStyle(generator_url="http://127.0.0.1:9470/metrics"))])
    pusher.start([epoch])
    try:
        store.commit(commit(epoch, 0, 10, incident(opened_at_ms=now_ms)))
        (shown,) = until(lambda: local().get(f"{alertmanager}/api/v2/alerts", timeout=PATIENCE_S).json())
        assert shown["labels"]["rule"] == "duplicate_active"
        assert shown["annotations"]["transition"] == "fired"
        webhook.wait_for(1)
        store.commit(commit(epoch, 10, 20, incident("resolved", opened_at_ms=now_ms, resolved_at_ms=now_ms + 1)))
        (_, firing), (_, resolved) = webhook.wait_for(2)
    finally:
        pusher.stop()
    assert [firing["status"], resolved["status"]] == ["firing", "resolved"]
    assert firing["alerts"][0]["labels"] == resolved["alerts"][0]["labels"]


def test_severity_and_maintenance_end_and_begin_alerts_there(dsn: str, alertmanager: str, webhook: Any) -> None:
    """What our rows say is what a real Alertmanager makes of it: each set of labels fires and ends when it should."""
    opened_ms = time.time_ns() // 1_000_000
    clock, at = [opened_ms], iter(range(0, 100, 10))
    store = PostgresStore(dsn, "c", now_ms=lambda: clock[0])
    store.migrate()
    epoch = store.claim()

    def batch(*results: Any) -> None:
        start = next(at)
        store.commit(commit(epoch, start, start + 10, *results))

    def windows_looked_at() -> None:
        clock[0] += LOOK_EVERY_MS  # the store looks for windows no more often
        store.commit(replace(commit(epoch), ranges={}))  # as the driver commits, between bundles

    def told(count: int) -> list[tuple[str, str]]:
        return [(one["status"], one["commonLabels"]["severity"]) for _, one in webhook.wait_for(count)]

    pusher = Delivery(dsn, [Alertmanager(alertmanager, AlertStyle(generator_url="http://127.0.0.1:9470/metrics"))])
    pusher.start([epoch])
    try:
        batch(incident(opened_at_ms=opened_ms, alert=AlertSeverity.WARNING))
        assert told(1) == [("firing", "warning")]
        batch(incident("updated", opened_at_ms=opened_ms))
        assert sorted(told(3)[1:]) == [("firing", "critical"), ("resolved", "warning")]
        with store.database.session() as connection:
            window = Maintenance(
                cluster="*", groups="*", owner="jane", reason="upgrade",
                from_ms=opened_ms - 1, until_ms=opened_ms + 3_600_000,
            )  # fmt: skip
            number = maintenance.add(connection, window, "jane")
        windows_looked_at()
        assert told(4)[3] == ("resolved", "critical")
        with store.database.session() as connection:
            maintenance.end(connection, number, "jane")
        windows_looked_at()
        assert told(5)[4] == ("firing", "critical")
        batch(incident("resolved", opened_at_ms=opened_ms, resolved_at_ms=time.time_ns() // 1_000_000))
        assert told(6)[5] == ("resolved", "critical")
    finally:
        pusher.stop()
        store.close()
