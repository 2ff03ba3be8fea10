"""Everything on one machine: broker, three Connect workers, PostgreSQL, the alert receiver and the streaming job."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

from lab.asking import local
from lab.cluster import broker, jars, java, postgres, workers
from lab.cluster.broker import Broker
from lab.cluster.java import Java
from lab.cluster.postgres import Postgres
from lab.cluster.workers import Worker
from lab.demo.checker import Addresses, scrape
from lab.errors import LabError
from lab.paths import ROOT
from lab.ports import HOST
from lab.process import Child, Lab, disk_errors, require_space

CLUSTER = "demo"
GROUP = "demo-connect"
SIMULATED = "simulated-connect"
MAX_DELAY_MS = 8_000
WORKERS = 3
PORTS_NEEDED = 5 + WORKERS
SPACE_MB = 600


@dataclass(frozen=True, slots=True)
class Ports:
    """Which port is whose."""

    broker: int
    controller: int
    workers: tuple[int, ...]
    metrics: int
    receiver: int
    page: int

    @classmethod
    def of(cls, numbers: Sequence[int]) -> "Ports":
        """From PORTS_NEEDED numbers."""
        broker, controller, metrics, receiver, page, *workers = numbers
        return cls(broker, controller, tuple(workers), metrics, receiver, page)


class Stage:
    """The running cast. `start` brings it up inside a Lab, which takes it down again."""

    def __init__(self, lab: Lab, ports: Ports) -> None:
        self.lab = lab
        self.ports = ports
        self.java: Java
        self.postgres: Postgres
        self.broker: Broker
        self.workers: list[Worker] = []
        self.receiver: Child
        self.job: Child

    @property
    def addresses(self) -> Addresses:
        """All that the checker is told."""
        return Addresses(
            bootstrap=self.broker.address,
            dsn=self.postgres.dsn,
            metrics=f"http://{HOST}:{self.ports.metrics}/metrics",
            receiver=self.receiver_url,
        )

    @property
    def page_url(self) -> str:
        return f"http://{HOST}:{self.ports.page}"

    @property
    def receiver_url(self) -> str:
        return f"http://{HOST}:{self.ports.receiver}"

    def start(self) -> None:
        """Bring everything up, each step announced and timed."""
        step, say = self.lab.progress.step, self.lab.progress.say
        require_space(self.lab.folder, SPACE_MB)
        self.java = java.find()
        say(f"Java {self.java.version}, found through {self.java.found_through}")
        if absent := len(jars.missing()):
            with step(f"fetching {absent} jars of Kafka {jars.kafka_release()} (about 55 MB)"):
                jars.fetch(self.java)
        class_path = jars.fetch(self.java)
        with step("PostgreSQL"):
            self.postgres = postgres.start(self.lab)
        with step(f"Kafka broker {jars.kafka_release()} at {HOST}:{self.ports.broker}"):
            self.broker = broker.start(self.lab, self.java, class_path, self.ports.broker, self.ports.controller)
        with step(f"alert receiver at {self.receiver_url}"):
            self._start_receiver()
        self.job = self.start_job()
        say(f"streaming job: started as process {self.job.pid}, still loading")
        with step(f"{WORKERS} Kafka Connect workers"):
            self.workers = workers.start(
                self.lab, self.java, class_path, self.broker,
                group=GROUP, ports=self.ports.workers, max_delay_ms=MAX_DELAY_MS,
            )  # fmt: skip
        with step("streaming job"):
            self.wait_for_job()

    def _start_receiver(self) -> None:
        command = [sys.executable, "-m", "lab.receivers.alert_receiver", "--port", str(self.ports.receiver)]
        self.receiver = self.lab.start("receiver", command, cwd=ROOT)

        def ready() -> bool:
            try:
                return local().get(f"{self.receiver_url}/-/ready", timeout=2).status_code == 200
            except httpx.HTTPError:
                return False

        self.lab.wait_for("alert receiver", ready, self.receiver)

    def configuration(self) -> dict[str, object]:
        """What the job is told."""
        release = jars.kafka_release()
        known = {"release": release, "java_version": self.java.version}
        return {
            "clusters": [
                {
                    "name": CLUSTER,
                    "bootstrap_servers": self.broker.address,
                    "session_timeout_ms": 6_000,
                    "rebalance_timeout_ms": 20_000,
                    "connect": {
                        GROUP: {**_topics(GROUP), **known, "max_delay_ms": MAX_DELAY_MS},
                        SIMULATED: {**_topics(SIMULATED), "release": release, "java_version": 17, "max_delay_ms": 0},
                    },
                }
            ],
            "database": {"dsn": self.postgres.dsn},
            "judge": {"wait_ms": 15_000},
            "http": {"host": HOST, "port": self.ports.metrics},
            "page": {"host": HOST, "port": self.ports.page},
            "alerting": {
                "path": "push",
                "alertmanagers": [self.receiver_url],
                # Nobody watches a demo for five minutes.
                "damping": {rule: {"for_ms": 0} for rule in ("duplicate_active", "imbalance")},
            },
            "spark": {"driver_memory": "700m", "checkpoint_dir": str(self.lab.folder / "spark")},
        }

    def start_job(self) -> Child:
        """Start `rebalance-monitor run` as a process of its own."""
        path = self.lab.folder / "monitor.yaml"
        with disk_errors():
            path.write_text(yaml.safe_dump(self.configuration(), sort_keys=False))
        command = [str(_command()), "run", "--config", str(path)]
        # The Java that was found, not one of another version that JAVA_HOME may name.
        return self.lab.start("job", command, environment=self.java.environment())

    def wait_for_job(self) -> None:
        """Until the job says that it has read everything up to the end."""
        self.lab.wait_for("streaming job", self.job_ready, self.job)

    def job_ready(self) -> bool:
        """What `rebalance_monitor_ready` says."""
        try:
            samples = scrape(self.addresses.metrics).get("rebalance_monitor_ready", [])
        except LabError:
            return False
        return bool(samples) and all(value == 1 for _, value in samples)


def _topics(group: str) -> dict[str, str]:
    return {"config_topic": workers.config_topic(group), "status_topic": workers.status_topic(group)}


def _command() -> Path:
    command = Path(sys.executable).parent / "rebalance-monitor"
    if not command.exists():
        raise LabError(f"{command} does not exist; run `make install`")
    return command
