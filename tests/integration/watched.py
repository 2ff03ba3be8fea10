"""A monitor of its own over a real broker and a real PostgreSQL, without Connect workers: what outages need."""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg
import yaml

from lab.asking import local
from lab.cluster import broker, jars, java, postgres
from lab.paths import BUILD, ROOT
from lab.ports import HOST, free_ports
from lab.process import Child, Lab, Progress
from tests.waiting import PATIENCE_S

TOPIC = "events"
OURS = {**os.environ, "PYTHONPATH": str(ROOT)}
RUN = (str(Path(sys.executable).parent / "rebalance-monitor"), "run", "--config")
# A machine that does much else at the same time needs most of a minute for Spark's start alone.


@contextmanager
def own_lab(name: str, progress: Progress | None = None) -> Iterator[Lab]:
    """A lab in an empty folder of this name, whatever the last run left there."""
    folder = BUILD / name
    postgres.stop_server(folder / "postgres")
    shutil.rmtree(folder, ignore_errors=True)
    with Lab(folder, progress) as lab:
        yield lab


class Watched:
    """The broker can be killed and started again on its data, and so can PostgreSQL."""

    def __init__(
        self,
        lab: Lab,
        broker_ports: tuple[int, int] | None = None,
        broker_properties: Mapping[str, object] | None = None,
        cluster_id: str = broker.CLUSTER_ID,
    ) -> None:
        began_s = time.monotonic()
        self.lab, self._cluster_id = lab, cluster_id
        self._java = java.find()
        self._class_path = jars.fetch(self._java)
        *ports, self.http_port = free_ports(3)
        self._broker_port, self._controller_port = broker_ports or ports
        self._broker_properties = broker_properties
        self.postgres = postgres.start(lab, synced=False)
        self.start_broker()
        self.started_s = time.monotonic() - began_s
        """How long both took: how fast the machine is now."""

    def start_broker(self) -> None:
        ports, others = (self._broker_port, self._controller_port), self._broker_properties
        self.broker = broker.start(self.lab, self._java, self._class_path, *ports, others, self._cluster_id)

    def configuration(self, **sections: Any) -> Path:
        """Written as a file; `sections` replace whole ones."""
        told = {
            "clusters": [{"name": "own", "bootstrap_servers": f"{HOST}:{self._broker_port}"}],
            "database": {"dsn": self.postgres.dsn},
            "http": {"host": HOST, "port": self.http_port},
            "page": {"port": 0},
            "source": {"heartbeat_ms": 2_000},
            "spark": {"driver_memory": "700m", "checkpoint_dir": str(self.lab.folder / "spark")},
            **sections,
        }
        path = self.lab.folder / "monitor.yaml"
        path.write_text(yaml.safe_dump(told))
        return path

    @contextmanager
    def job(self, name: str, **sections: Any) -> Iterator[Child]:
        """`rebalance-monitor run` as a process; ended with the block, however that ends."""
        with self.process(name, [*RUN, str(self.configuration(**sections))]) as child:
            yield child

    @contextmanager
    def process(self, name: str, command: Sequence[str], environment: Mapping[str, str] = OURS) -> Iterator[Child]:
        """A job that is started by another program; ended with the block, however that ends."""
        child = self.lab.start(name, command, environment=environment)
        try:
            yield child
        finally:
            child.stop()

    def readiness(self, cluster: str | None = None) -> tuple[int, dict[str, Any]]:
        """Status and body of /readyz, of one cluster or of all; (0, {}) while nothing listens."""
        asked = {} if cluster is None else {"cluster": cluster}
        try:
            answer = local().get(f"http://{HOST}:{self.http_port}/readyz", params=asked, timeout=5)
        except httpx.HTTPError:
            return 0, {}
        body = answer.json() if answer.headers["Content-Type"] == "application/json" else {"text": answer.text}
        return answer.status_code, body

    def metric(self, name: str) -> list[str]:
        """The sample lines of a metric."""
        text = local().get(f"http://{HOST}:{self.http_port}/metrics", timeout=PATIENCE_S).text
        return [line for line in text.splitlines() if line.startswith(name)]

    def wait_ready(self, job: Child) -> None:
        self.lab.wait_for("ready", lambda: self.readiness()[0] == 200, job, PATIENCE_S)

    def wait_not_ready(self, job: Child, saying: str) -> None:
        """Until /readyz says 503 with this text; the metric says the same."""

        def said() -> bool:
            status, body = self.readiness()
            if status != 503 or saying not in str(body):
                return False
            return self.metric("rebalance_monitor_ready") == ['rebalance_monitor_ready{cluster="own"} 0.0']

        self.lab.wait_for(f"not ready, {saying}", said, job, PATIENCE_S)

    def rebalance(self, group: str) -> None:
        """A real consumer joins and leaves: a generation with one member, then an empty one."""
        from confluent_kafka import Consumer
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.broker.address, "log_level": 0})
        if TOPIC not in admin.list_topics(timeout=PATIENCE_S).topics:
            admin.create_topics([NewTopic(TOPIC, 2, 1)])[TOPIC].result(PATIENCE_S)
        assigned: list[object] = []
        consumer = Consumer({"bootstrap.servers": self.broker.address, "group.id": group, "log_level": 0})
        consumer.subscribe([TOPIC], on_assign=lambda _, parts: assigned.append(parts))
        try:

            def joined() -> bool:
                consumer.poll(0.1)
                return bool(assigned)

            self.lab.wait_for(f"{group} assigned", joined, timeout_s=PATIENCE_S)
        finally:
            consumer.close()

    def groups(self, cluster: str = "own") -> set[str]:
        """Groups of a cluster with a generation in the database."""
        with psycopg.connect(self.postgres.dsn) as database:
            rows = database.execute(
                'select "group" from rebalance_monitor.generations where cluster = %s', (cluster,)
            ).fetchall()
        return {row[0] for row in rows}

    def verdicts(self, group: str, *, final: bool = True) -> list[tuple[str, str]]:
        """Grade and reason of each generation with members; `final`: of those that wait for nothing."""
        said = "select grade, coalesce(reason, '') from rebalance_monitor.generations"
        of_group = 'where "group" = %s and member_count > 0 and (pending_until_ms is null or not %s)'
        with psycopg.connect(self.postgres.dsn) as database:
            return [(str(grade), str(why)) for grade, why in database.execute(f"{said} {of_group}", (group, final))]

    def wait_for_group(self, group: str, job: Child) -> None:
        self.lab.wait_for(f"{group} in the database", lambda: group in self.groups(), job, PATIENCE_S)


class Live(NamedTuple):
    """A stage, and a job on it that is ready and asks for topics every second."""

    watched: Watched
    job: Child
