"""A secret planted in every place where one can stand is found nowhere in what the job writes, shows or is run with.

Real broker, PostgreSQL and job. The broker's own files and the configuration file hold the secrets, of course: these
are where they were planted.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer
from psycopg import sql

from lab.asking import local
from lab.cluster import broker, config_topic, jars, java, postgres, workers
from lab.demo.stage import GROUP, PORTS_NEEDED, Ports, Stage
from lab.paths import BUILD
from lab.ports import free_ports
from lab.process import Progress
from lab.sessions import members
from tests.integration.watched import own_lab
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
FOLDER = BUILD / "secrets"

# One per place, so that a find says where it leaked from.
SECRETS = {
    "connector configuration": "s3cr3t-connector-6c1f",
    "task configuration": "s3cr3t-task-9b2e",
    "session key": "czNjcjN0LXNlc3Npb24=",
    "unreadable config record": "s3cr3t-unreadable-4d7a",
    "status trace": "s3cr3t-trace-0f58",
    "unreadable status": "s3cr3t-status-77ab",
    "client properties": "s3cr3t-password-c3d9",
}
CONFIGS, STATUSES = workers.config_topic(GROUP), workers.status_topic(GROUP)


class Quiet(Stage):
    """The stage without Connect workers: what they would write is written by the test."""

    def start(self) -> None:
        self.java = java.find()
        class_path = jars.fetch(self.java)
        self.postgres = postgres.start(self.lab, synced=False)
        self.broker = broker.start(self.lab, self.java, class_path, self.ports.broker, self.ports.controller)
        config_topic.create(self.broker.address, {CONFIGS: 1, STATUSES: 1})
        self._start_receiver()
        self.job = self.start_job()
        self.wait_for_job()

    def configuration(self) -> dict[str, Any]:
        told: dict[str, Any] = super().configuration()
        # Without SASL on the listener the client keeps the password and never sends it.
        told["clusters"][0]["client"] = {"sasl.username": "monitor", "sasl.password": SECRETS["client properties"]}
        return told


@pytest.fixture
def stage() -> Iterator[Quiet]:
    with own_lab(FOLDER.name, Progress()) as lab:
        made = Quiet(lab, Ports.of(free_ports(PORTS_NEEDED)))
        made.start()
        yield made


def planted() -> Iterator[tuple[str, str, bytes]]:
    """(topic, key, value) of every record that holds a secret."""

    def text(value: object) -> bytes:
        return json.dumps(value).encode()

    password = {"tasks.max": "1", "database.password": SECRETS["connector configuration"]}
    yield CONFIGS, "connector-a", text({"properties": password})
    yield CONFIGS, "task-a-0", text({"properties": {"database.password": SECRETS["task configuration"]}})
    yield CONFIGS, "commit-a", text({"tasks": 1})
    key = {"key": SECRETS["session key"], "algorithm": "HmacSHA256", "creation-timestamp": 1}
    yield CONFIGS, "session-key", text(key)
    yield CONFIGS, "connector-b", f"{{'password': '{SECRETS['unreadable config record']}'".encode()
    failed = {"state": "FAILED", "trace": f"at {SECRETS['status trace']}", "worker_id": "w:8083", "generation": 1}
    yield STATUSES, "status-task-a-0", text(failed)
    yield STATUSES, "status-task-a-1", f"{{'trace': '{SECRETS['unreadable status']}'".encode()


def tables(dsn: str) -> Iterator[tuple[str, str]]:
    """Everything in the database, as text, by table."""
    with psycopg.connect(dsn) as database:
        names = database.execute(
            "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in names:
            query = sql.SQL("copy (select * from {}) to stdout").format(sql.Identifier(schema, table))
            with database.cursor() as cursor, cursor.copy(query) as copied:
                yield f"table {schema}.{table}", b"".join(map(bytes, copied)).decode("utf-8", "replace")


def processes(leader: int) -> Iterator[tuple[str, str]]:
    """Command lines and environments of the job's processes: driver, JVM, Python workers."""
    for pid in members(leader):
        for what in ("cmdline", "environ"):
            try:
                yield f"{what} of process {pid}", Path(f"/proc/{pid}/{what}").read_bytes().decode("utf-8", "replace")
            except OSError:
                continue  # it ended meanwhile


def files(folder: Path, *, but: set[Path]) -> Iterator[tuple[str, str]]:
    """What the job left in its folders: logs, checkpoint, scratch with plans, broadcasts and task blobs."""
    for path in folder.rglob("*"):
        if path.is_file() and not any(path.is_relative_to(other) for other in but):
            try:
                yield str(path.relative_to(folder)), path.read_bytes().decode("utf-8", "replace")
            except OSError:
                continue


def test_no_secret_is_found_anywhere(stage: Quiet) -> None:
    producer = Producer({"bootstrap.servers": stage.broker.address, "log_level": 0})
    for topic, key, value in planted():
        producer.produce(topic, key=key.encode(), value=value, partition=0)
    assert producer.flush(PATIENCE_S) == 0

    def told() -> set[str]:
        with psycopg.connect(stage.postgres.dsn) as database:
            rows = database.execute("select reason from rebalance_monitor.undecodable").fetchall()
        return {reason for (reason,) in rows}

    stage.lab.wait_for("both unreadable records", lambda: told() >= {"config_not_json", "not_json"}, stage.job)
    searched = [
        *tables(stage.postgres.dsn),
        *processes(stage.job.pid),
        ("/metrics", local().get(stage.addresses.metrics, timeout=PATIENCE_S).text),
        ("alerts", local().get(f"{stage.receiver_url}/received", timeout=PATIENCE_S).text),
        *files(FOLDER, but={FOLDER / "monitor.yaml", FOLDER / "postgres", FOLDER / "broker", FOLDER / "kafka"}),
    ]
    names = {name for name, _ in searched}
    assert any(name.startswith("table rebalance_monitor.") for name in names)
    assert any("cmdline" in name for name in names)
    assert any(name.startswith("spark") for name in names), "the job's checkpoint and scratch are elsewhere"
    found = [(place, name) for place, secret in SECRETS.items() for name, text in searched if secret in text]
    assert found == []
    # The search itself must be able to find: the configuration was planted, and the reader sees it.
    assert SECRETS["client properties"] in (FOLDER / "monitor.yaml").read_text()
    states = [text for name, text in searched if name == "table rebalance_monitor.group_states"]
    assert not states or any("a" in text for text in states)
