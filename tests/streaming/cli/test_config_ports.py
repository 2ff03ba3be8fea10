"""Ports that the running job holds are no mistake of the configuration; real sockets on loopback."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from rebalance_monitor.streaming.cli.config_ports import ports
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.metrics.prometheus import Exporter


@pytest.fixture
def job() -> Iterator[Exporter]:
    made = Exporter(0, clusters=["a"], cluster_label="kafka")
    made.start()
    yield made
    made.stop()


def settings(port: int, cluster: str = "a") -> Settings:
    return Settings.model_validate(
        {
            "clusters": [{"name": cluster, "bootstrap_servers": "k:1"}],
            "http": {"port": port},
            "page": {"enabled": False},
            "metrics": {"cluster_label": "kafka"},
        }
    )


def test_the_running_job_holds_its_port(job: Exporter) -> None:
    port = int(job.url.rpartition(":")[2])
    assert list(ports(settings(port))) == [(f"http.port 127.0.0.1:{port} (held by the job that runs)", None)]


def test_the_job_of_another_cluster_is_in_the_way(job: Exporter) -> None:
    port = int(job.url.rpartition(":")[2])
    ((_, problem),) = ports(settings(port, "b"))
    assert problem == "can't listen there (Address already in use), and no such job answers; set another address"


def test_somebody_else_is_in_the_way() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        other.settimeout(20)
        ((_, problem),) = ports(settings(other.getsockname()[1]))
    assert problem is not None


def test_a_free_port_is_sound() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
    assert list(ports(settings(port))) == [(f"http.port 127.0.0.1:{port}", None)]
