"""Every service of docker-compose.yml that has a program on this machine really starts as the file says."""

import json
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.compose.on_this_machine import ROOT, SERVICES, Machine, machine_here, password
from tests.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        shutil.which("prometheus") is None or shutil.which("prometheus-alertmanager") is None,
        reason="prometheus and prometheus-alertmanager are not installed (Debian packages of that name)",
    ),
]
STARTED = sorted(name for name, one in SERVICES.items() if {"healthcheck", "demo"} <= {*one, *one["profiles"]})
STARTED.remove("grafana")


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """All services running, each well by its own health check, started in the order of their dependencies."""
    with machine_here() as here:
        here.up("kafka")
        here.up("postgres")
        here.start("worker-1", "worker-2", "worker-3", "monitor", "alertmanager", "prometheus")
        yield here


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def query(machine: Machine, expr: str) -> list[dict[str, Any]]:
    answer = ask(machine.text("http://prometheus:9090/api/v1/query?") + urllib.parse.urlencode({"query": expr}))
    return list(answer["data"]["result"])


@pytest.mark.parametrize("name", STARTED)
def test_stays_well(machine: Machine, name: str) -> None:
    assert machine.healthy(name)()


def test_a_rebalance_reaches_prometheus(machine: Machine) -> None:
    machine.create_connector()
    judged = 'sum(rebalance_monitor_generations_total{cluster="compose", group="connect-demo"}) >= 2'
    (monitor,) = [child for child in machine.lab.children if child.name == "monitor"]
    machine.lab.wait_for("judged generations in Prometheus", lambda: bool(query(machine, judged)), monitor)
    assert query(machine, 'rebalance_monitor_group_members{group="connect-demo"}')[0]["value"][1] == "3"
    assert not query(machine, 'ALERTS{alertname="RebalanceMonitorStale", alertstate="firing"}')


def test_grafanas_role_reads_what_the_monitor_writes_and_writes_nothing(machine: Machine) -> None:
    address = f"host=127.0.0.1 port={machine.ports[5432]} dbname=monitor user=grafana password={password('GRAFANA')}"
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
    ours = (ROOT / "conf" / "compose" / "server.properties").read_text(encoding="utf-8")
    mapped = (machine.lab.folder / "mounted" / "server.properties").read_text(encoding="utf-8")
    changed = [b for a, b in zip(ours.splitlines(), mapped.splitlines(), strict=True) if a != b]
    internal, host, controller = (f"127.0.0.1:{machine.ports[port]}" for port in (9092, 29092, 9095))
    assert changed == [
        f"listeners=INTERNAL://{internal},HOST://{host},CONTROLLER://{controller}",
        f"advertised.listeners=INTERNAL://{internal},HOST://localhost:{machine.ports[29092]},CONTROLLER://{controller}",
        f"controller.quorum.bootstrap.servers={controller}",
        f"log.dirs={machine.lab.folder}/mounted/kafka-data",
    ]
