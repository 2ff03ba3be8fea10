"""What faults are done to: broker, PostgreSQL, Connect workers, a program that is notified, and two jobs of one
configuration, each of which is started again whenever it ends, as systemd or Kubernetes do it. In a world `on_spark`
the jobs fold on a standalone cluster of Spark with two workers."""

import os
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import psycopg
import yaml

from lab.asking import local
from lab.bench.prepared import described
from lab.bench.stage import BenchStage
from lab.chaos import isolated
from lab.chaos.copied_group import GROUP, CopiedGroup
from lab.chaos.load import LOG_TOPIC, PacedLoad
from lab.chaos.receiver import ReceiverProcess
from lab.cluster import broker, jars, postgres
from lab.cluster.spark import SparkCluster
from lab.errors import LabError
from lab.paths import ROOT
from lab.ports import HOST, free_ports
from lab.process import Child, Lab
from lab.sessions import commands_with, end_session
from rebalance_monitor.streaming.core.model.settings import ClusterSettings

RECOVERED_WITHIN_S = 180.0
LOOK_S = 0.25
NEXT_RECORDS = 20
JOBS = ("job-1", "job-2")
POSTGRES_DISK_MIB, JOB_DISK_MIB = 1_024, 64
LEASE_TAKEN = '"event": "lease_taken"'


class Monitor:
    """One of the jobs."""

    def __init__(self, lab: Lab, name: str, configuration: Path, points: Path, port: int) -> None:
        self._lab, self.name, self.port = lab, name, port
        self.disk = lab.folder / f"spark-{port}"
        self._command = [sys.executable, "-m", "lab.chaos.killing_job", str(configuration), str(points)]
        self.child: Child | None = None
        self.starts = 0

    def look(self) -> None:
        """Starts it if it does not run."""
        if self.child is not None and self.child.running():
            return
        if self.child is not None:
            end_session(self.child.pid)
        self.starts += 1
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.child = self._lab.start(self.name, self._command, environment=environment, cwd=ROOT)

    def ready(self) -> bool:
        with suppress(httpx.HTTPError):
            return local().get(f"http://{HOST}:{self.port}/readyz", timeout=2).status_code == 200
        return False

    def processes(self, *words: str) -> list[int]:
        """Processes of the job whose command has all these words."""
        assert self.child is not None
        return commands_with(self.child.pid, *words)

    @property
    def executor_option(self) -> str:
        """Of the Java of its executors, by which they are known."""
        return f"-Djob={self.name}"

    def taken(self) -> int:
        """How often it took the lease."""
        assert self.child is not None
        return self.child.log.read_text(errors="replace").count(LEASE_TAKEN)


class World:
    """Runs from `start` until its lab ends."""

    def __init__(self, lab: Lab, seed: int, *, on_spark: bool = False) -> None:
        self.lab, self._seed = lab, seed
        self.spark = SparkCluster(lab, cores=len(JOBS)) if on_spark else None
        self.receiver = ReceiverProcess(lab)
        self.points = lab.folder / "points"
        self.monitors: list[Monitor] = []
        self._watching = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor", daemon=True)

    def start(self) -> None:
        self.points.mkdir()
        self._stage = BenchStage(self.lab)
        self._stage.prepare()
        self.postgres, self.broker = self._stage.postgres, self._stage.broker
        if isolated.entered():
            self._isolate_postgres()
        self.load = PacedLoad(self.broker.address, self._seed)
        self.receiver.start()
        self.load.prepare()
        self.group = CopiedGroup(self.lab, self._stage.java, self.broker, self.load)
        self.group.start()
        if self.spark is not None:
            self.spark.start()
        for name, port in zip(JOBS, free_ports(len(JOBS)), strict=True):
            path = self.lab.folder / f"{name}.yaml"
            monitor = Monitor(self.lab, name, path, self.points, port)
            path.write_text(yaml.safe_dump(self._configuration(monitor), sort_keys=False))
            self.monitors.append(monitor)
            if isolated.entered():
                self._on_small_disk(monitor.disk, JOB_DISK_MIB)
        self.monitors[0].look()
        self.wait("the first job", self.monitors[0].ready)
        self._supervisor.start()
        self.wait("the standby", self.standby_waits)
        self.load.start()

    def end(self) -> None:
        """No more records, and nobody starts a job again; all that was written is stored, judged and notified."""
        self.wait("all Connect workers", self.group.whole)
        self.group.stop()
        self.load.stop()
        self.recovered()
        self.wait("all verdicts", self._all_judged)
        self.wait("all notifications", self._all_notified)
        self._watching.set()
        self._supervisor.join()

    @property
    def settings(self) -> ClusterSettings:
        """What the jobs are told of the groups."""
        told = self.load.load.settings
        return replace(told, connect={**told.connect, GROUP: self.group.settings})

    def _configuration(self, monitor: Monitor) -> dict[str, object]:
        cluster = {"name": "chaos", "bootstrap_servers": self.broker.address, **described(self.settings)}
        return {
            "clusters": [cluster],
            "database": {"dsn": self.postgres.dsn},
            "source": {"offsets_topic": LOG_TOPIC, "heartbeat_ms": 2_000},
            "http": {"host": HOST, "port": monitor.port},
            "page": {"enabled": False},
            "audit": {"every_ms": None},
            "alerting": {"webhooks": [{"name": "hook", "url": f"{self.receiver.url}/hook"}]},
            "spark": {"driver_memory": "600m", "checkpoint_dir": str(monitor.disk), **self._of_cluster(monitor)},
        }

    def _of_cluster(self, monitor: Monitor) -> dict[str, object]:
        """Each job has a core of each worker."""
        if self.spark is None:
            return {}
        conf = {
            "spark.cores.max": str(self.spark.workers),
            "spark.executor.cores": "1",
            "spark.executor.memory": "700m",
            "spark.executor.extraJavaOptions": monitor.executor_option,
        }
        return {"master": self.spark.master, "conf": conf}

    def _isolate_postgres(self) -> None:
        """On a disk of its own and at a port of loopback."""
        (port,) = free_ports(1)
        data = self.postgres.data
        postgres.stop_server(data)
        self._on_small_disk(data, POSTGRES_DISK_MIB)
        self.lab.on_stop(lambda: postgres.stop_server(data))  # before its disk goes
        dsn = f"postgresql://postgres@{HOST}:{port}/postgres"
        self.postgres = replace(self.postgres, dsn=dsn, port=port)
        postgres.start_again(self.postgres)

    def _on_small_disk(self, folder: Path, mib: int) -> None:
        isolated.on_small_disk(folder, mib)
        self.lab.on_stop(lambda: isolated.taken_away(folder))

    def _supervise(self) -> None:
        while not self._watching.wait(LOOK_S):
            for one in self.monitors:
                one.look()

    # -- what is asked of it ---------------------------------------------------------------------------------------

    def wait(self, what: str, condition: Callable[[], bool], within_s: float = RECOVERED_WITHIN_S) -> None:
        deadline_s = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > deadline_s:
                raise LabError(f"{what}: not within {within_s:.0f} s; see {self.lab.folder / 'logs'}")
            time.sleep(LOOK_S)

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """LabError where the database does not answer."""
        try:
            with psycopg.connect(self.postgres.dsn, connect_timeout=5) as connection:
                return connection.execute(statement.encode()).fetchall()
        except psycopg.OperationalError as why:
            raise LabError(f"PostgreSQL does not answer: {why}") from why

    def holder(self) -> Monitor:
        """The job that judges now."""
        ((text,),) = self.rows("select holder from rebalance_monitor.leases")
        found = re.match(r"process (\d+) on ", str(text))
        for one in self.monitors:
            if found is not None and one.child is not None and one.child.pid == int(found[1]):
                return one
        raise LabError(f"nobody knows the job {text}")

    def standby_waits(self) -> bool:
        """Whether the other job could take over now."""
        holder = self.holder()
        for one in self.monitors:
            if one is not holder:
                with suppress(httpx.HTTPError):
                    asked = {"standby": "ok"}
                    answer = local().get(f"http://{HOST}:{one.port}/readyz", params=asked, timeout=2)
                    return answer.status_code == 200
        return False

    def taken(self) -> int:
        """How often a lease was taken up to now."""
        return sum(one.taken() for one in self.monitors)

    def recovered(self) -> None:
        """Waits until a job is ready and all that the broker has taken by now is stored; while the load goes on, also
        what it writes next: a job that was just killed may still look ready, with nothing to do."""
        written = sum(self.load.ends.values())
        self.wait("more records", lambda: self.load.over() or sum(self.load.ends.values()) >= written + NEXT_RECORDS)
        wanted = dict(self.load.ends)

        def stored() -> bool:
            with suppress(LabError):
                found = {
                    (topic, partition): at
                    for topic, partition, at in self.rows(
                        "select topic, partition, next_offset from rebalance_monitor.positions"
                    )
                }
                behind = any(int(str(found.get(place, 0))) < end for place, end in wanted.items())
                return not behind and any(one.ready() for one in self.monitors)
            return False

        self.wait("recovered", stored)

    def _all_judged(self) -> bool:
        """None waits for a sample of topics any more."""
        waiting = "select count(*) from rebalance_monitor.generations where pending_until_ms is not null"
        return self.rows(waiting) == [(0,)]

    def _all_notified(self) -> bool:
        return self.rows("select count(*) from rebalance_monitor.outbox where not done") == [(0,)]

    # -- what is done to it ----------------------------------------------------------------------------------------

    def crash_postgres(self) -> None:
        """And starts it again on its data."""
        postgres.crash(self.postgres)
        postgres.start_again(self.postgres)

    def kill_broker(self) -> None:
        """And starts it again on its data."""
        self.broker.child.kill()
        ports = (self._stage.ports.broker, self._stage.ports.controller)
        self.broker = broker.start(self.lab, self._stage.java, jars.fetch(self._stage.java), *ports)
