"""A real Alertmanager with the example's configuration: who is held back while a cluster is blind, and who is not."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rebalance_monitor.dashboards.alerts import WHILE_BLIND
from tests.waiting import PATIENCE_S, until

BINARY = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
CONFIG = Path(__file__).parents[2] / "conf" / "compose" / "alertmanager.yml"
pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(BINARY is None, reason="no alertmanager: apt-get install prometheus-alertmanager"),
]


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[httpx.Client]:
    assert BINARY
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen(
        [
            BINARY, f"--config.file={CONFIG}", f"--storage.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S, trust_env=False)
    try:
        until(lambda: client.get("/-/ready").is_success)
        yield client
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def incident(name: str, group: str, **more: str) -> dict[str, str]:
    concerns = {"cluster": "dark", "group": group, "team": "t", "worker": "", "connector": "k", "rule": "imbalance"}
    return {"alertname": name, **concerns, **more}


def test_only_what_the_mark_names_is_held_back(alertmanager: httpx.Client) -> None:
    mark = incident(WHILE_BLIND, "new", severity="info")
    del mark["team"]
    alerts = [
        {"alertname": "RebalanceMonitorClusterNotReady", "cluster": "dark", "severity": "critical"},
        mark,
        incident("KafkaConnectImbalance", "new", severity="warning", path="prometheus"),
        incident("KafkaConnectDuplicateTask", "new", severity="critical", path="push", incident_id="i1"),
        incident("KafkaConnectImbalance", "old", severity="warning", path="prometheus"),
        incident("KafkaConnectImbalance", "new", severity="warning", path="prometheus", cluster="well"),
        incident("KafkaConnectImbalance", "new", severity="warning", path="prometheus", connector="other"),
    ]
    alertmanager.post("/api/v2/alerts", json=[{"labels": labels} for labels in alerts]).raise_for_status()
    shown = until(lambda: settled(alertmanager, len(alerts)))
    held_back = {
        (one["labels"]["alertname"], one["labels"]["cluster"], one["labels"]["group"], one["labels"]["connector"])
        for one in shown
        if one["status"]["inhibitedBy"]
    }
    assert held_back == {
        ("KafkaConnectImbalance", "dark", "new", "k"),
        ("KafkaConnectDuplicateTask", "dark", "new", "k"),
    }


def settled(alertmanager: httpx.Client, count: int) -> list[dict[str, Any]]:
    """All alerts, once Alertmanager has made up its mind about each."""
    shown = alertmanager.get("/api/v2/alerts").json()
    done = len(shown) == count and all(one["status"]["state"] != "unprocessed" for one in shown)
    return list(shown) if done else []
