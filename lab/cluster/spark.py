"""A standalone cluster of Spark on loopback, made from PySpark's own jars: a master, and workers."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from lab.cluster import class_data, java, jvm
from lab.ports import HOST, free_ports
from lab.process import Child, Lab
from lab.sessions import commands_with, end_session

_DEPLOY = "org.apache.spark.deploy"
_EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass(slots=True)
class SparkCluster:
    """Ends with its lab. `environ`: variables that its workers have beside those that they need."""

    lab: Lab
    workers: int = 2
    cores: int = 1
    environ: dict[str, str] = field(default_factory=dict)
    running: list[Child] = field(default_factory=list)
    _ports: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._ports = free_ports(2 + self.workers)

    @property
    def master(self) -> str:
        """Its address."""
        return f"spark://{HOST}:{self._ports[0]}"

    def start(self) -> None:
        """The master and all workers."""
        port, page, *_ = self._ports
        self._run(
            f"master-{port}",
            [f"{_DEPLOY}.master.Master", "--host", HOST, "--port", str(port), "--webui-port", str(page)],
        )
        self.running = [self._worker(number) for number in range(self.workers)]

    def restart_worker(self, number: int) -> None:
        """SIGKILL to a worker and its executors; then it is started again."""
        end_session(self.running[number].pid)
        self.running[number] = self._worker(number)

    def executors(self, option: str) -> list[int]:
        """Processes of the application whose executors' Java has this option."""
        return [pid for one in self.running for pid in commands_with(one.pid, _EXECUTOR, option)]

    def _worker(self, number: int) -> Child:
        name = f"worker-{self._ports[0]}-{number + 1}"
        return self._run(
            name,
            [
                f"{_DEPLOY}.worker.Worker", "--host", HOST, "--cores", str(self.cores), "--memory", f"{self.cores}g",
                "--webui-port", str(self._ports[2 + number]), "--work-dir", str(self.lab.folder / name), self.master,
            ],
        )  # fmt: skip

    def _run(self, name: str, command: list[str]) -> Child:
        home, found = Path(pyspark.__file__).parent, java.find()
        # As Spark's own launcher orders them, else Java does not take what was recorded of another order.
        jars = f"{next(home.glob('jars/slf4j-api-*.jar'))}:{home}/jars/*"
        recorded = class_data.flags(found, class_data.spark_jars(), class_data.SPARK)
        environment = {
            **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "SPARK_PUBLIC_DNS": HOST,
            "PYSPARK_PYTHON": sys.executable, "SPARK_SCALA_VERSION": "2.13",
            class_data.OPTIONS_OF_EVERY_JAVA: " ".join(recorded), **self.environ,
        }  # fmt: skip
        return self.lab.start(
            name, [found.command, *jvm.FLAGS, "-cp", jars, "-Xmx300m", *command], environment=environment
        )
