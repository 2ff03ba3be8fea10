"""Every service of docker-compose.yml that has a program on this machine really starts as the file says."""

import json
import shutil
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lab.cluster import jars, java, postgres
from lab.process import Lab
from tests.compose.on_this_machine import PASSWORD, ROOT, SERVICES, Machine, free_ports_for_all
from tests.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        shutil.which("prometheus") is None or shutil.which("prometheus-alertmanager") is None,
        reason="prometheus and prometheus-alertmanager are not installed (Debian packages of that name)",
    ),
]


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """All services running, each well by its own health check, started in the order of their dependencies."""
    found = java.find()
    class_path = jars.fetch(found)
    # PostgreSQL's user must be able to reach its data.
    folder = Path(tempfile.mkdtemp(prefix="rm-compose-"))
    folder.chmod(0o755)
    try:
        with Lab(folder) as lab:
            here = Machine(lab, found, class_path, postgres._tools(), free_ports_for_all())
            here.mount()
            here.run("kafka-format")
            here.start("kafka")
            here.start_postgres()
            here.start("worker-1", "worker-2", "worker-3", "monitor", "alertmanager", "prometheus")
            yield here
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ask(url: str, body: dict[str, Any] | None = None) -> Any:
    request = urllib.request.Request(
        url,
        data=json.dumps(body).encode() if body is not None else None,
        headers={"Content-Type": "application/json"},
        method="PUT" if body is not None else "GET",
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def query(machine: Machine, expr: str) -> list[dict[str, Any]]:
    answer = ask(machine.text("http://prometheus:9090/api/v1/query?") + urllib.parse.urlencode({"query": expr}))
    return list(answer["data"]["result"])


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"kafka-format", "grafana"}))
def test_stays_well(machine: Machine, name: str) -> None:
    assert machine.healthy(name)()


def test_a_rebalance_reaches_prometheus(machine: Machine) -> None:
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "3",
        "topics": "orders",
        "file": "orders.txt",
    }
    ask(machine.text("http://worker-1:8083/connectors/orders/config"), config)
    judged = 'sum(rebalance_monitor_generations_total{cluster="compose", group="connect-demo"}) >= 2'
    (monitor,) = [child for child in machine.lab.children if child.name == "monitor"]
    machine.lab.wait_for("judged generations in Prometheus", lambda: bool(query(machine, judged)), monitor)
    assert query(machine, 'rebalance_monitor_group_members{group="connect-demo"}')[0]["value"][1] == "3"
    assert not query(machine, 'ALERTS{alertname="RebalanceMonitorStale", alertstate="firing"}')


def test_grafanas_role_reads_what_the_monitor_writes_and_writes_nothing(machine: Machine) -> None:
    address = f"host=127.0.0.1 port={machine.ports[5432]} dbname=monitor user=grafana password={PASSWORD}"
    with psycopg.connect(address, autocommit=True) as grafana:
        assert grafana.execute("select count(*) from rebalance_monitor.positions").fetchone() is not None
        grafana.execute("set default_transaction_read_only = off")
        for statement in ("delete from rebalance_monitor.positions", "create table rebalance_monitor.own (n int)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                grafana.execute(statement)


def test_prometheus_has_the_rules_and_knows_alertmanager(machine: Machine) -> None:
    groups = ask(machine.text("http://prometheus:9090/api/v1/rules"))["data"]["groups"]
    names = {rule["name"] for group in groups for rule in group["rules"]}
    assert {"KafkaConnectDuplicateTask", "RebalanceMonitorAbsent"} <= names
    machine.lab.wait_for(
        "Alertmanager known to Prometheus",
        lambda: bool(ask(machine.text("http://prometheus:9090/api/v1/alertmanagers"))["data"]["activeAlertmanagers"]),
    )


def test_mounted_files_differ_from_the_repository_in_hosts_paths_and_ports_only(machine: Machine) -> None:
    ours = (ROOT / "conf" / "compose" / "worker-2.properties").read_text(encoding="utf-8")
    mapped = (machine.lab.folder / "mounted" / "worker-2.properties").read_text(encoding="utf-8")
    changed = [b for a, b in zip(ours.splitlines(), mapped.splitlines(), strict=True) if a != b]
    assert changed == [
        f"bootstrap.servers=127.0.0.1:{machine.ports[9092]}",
        f"listeners=http://127.0.0.1:{machine.ports[8084]}",
        "rest.advertised.host.name=127.0.0.1",
    ]
