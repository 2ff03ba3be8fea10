"""`rebalance-monitor audit` as people and the job run it: the real package, a real PostgreSQL, a process of its own."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lab.asking import local
from rebalance_monitor.streaming.audit.suites import SUITES
from rebalance_monitor.streaming.cli.auditing import AuditProcess
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from tests.audit.conftest import Audit
from tests.audit.corruptions import CORRUPTIONS
from tests.waiting import PATIENCE_S, until

# A dozen processes that each load the package: seconds of CPU every one.
# Looked for, not imported: only those processes shall pay for it.
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.integration,
    pytest.mark.skipif(find_spec("great_expectations") is None, reason="the extra [audit] is not installed"),
]

Configured = Callable[..., str]
CONTRACTS = {contract.name: contract for suite in SUITES for contract in suite.contracts}
# What the package would use to speak to others, were it let.
TEMPTED = {"GX_ANALYTICS_ENABLED": "true", "GX_CLOUD_ACCESS_TOKEN": "x", "GX_CLOUD_ORGANIZATION_ID": "y"}

# Runs the command with every way out watched: names looked up, connections made. The finder sees the setting at the
# moment the package is imported.
WATCHED = """
import os, sys
def hook(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        if not isinstance(arguments[1] if event.startswith("socket.connect") else None, str):
            print("OUT", event, arguments[1:], file=sys.stderr)
            raise OSError("no way out")
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "great_expectations":
            print("IMPORTED WITH", os.environ.get("GX_ANALYTICS_ENABLED"),
                  [name for name in os.environ if name.startswith("GX_CLOUD_")], file=sys.stderr)
sys.addaudithook(hook)
sys.meta_path.insert(0, Finder())
from rebalance_monitor.streaming.cli import main
sys.exit(main(["audit", *sys.argv[1:]]))
"""


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def plant(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_a_sound_database_is_found_sound_and_nobody_else_is_spoken_to(
    dsn: str, configured: Configured, tmp_path: Path
) -> None:
    config = configured(dsn, data_docs_dir=str(tmp_path / "docs"))
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "--config", config, "-o", "json"],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False, env={**os.environ, **TEMPTED},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "IMPORTED WITH false []" in done.stderr
    assert "OUT" not in done.stderr
    told = objects(done.stdout)
    assert told[-1] == {"kind": "audit", "contracts": len(CONTRACTS) + len(SUITES), "broken": 0, "unknown": 0}
    assert {one["outcome"] for one in told[:-1]} == {"kept"}
    assert "generations" in (tmp_path / "docs" / "index.html").read_text(encoding="utf-8")


def test_it_works_where_there_is_no_network_at_all(dsn: str, configured: Configured, run_audit: Audit) -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-n", "true"], check=False).returncode:
        pytest.skip("no network namespaces here")
    done = run_audit(configured(dsn), before=("unshare", "-n"), **TEMPTED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" 0 broken, 0 unknown\n")
    assert done.stderr == ""


def test_what_is_broken_is_reported_contract_by_contract(dsn: str, configured: Configured, run_audit: Audit) -> None:
    plant(dsn, *(statement for statements in CORRUPTIONS.values() for statement in statements))
    plant(dsn, "alter table rebalance_monitor.positions rename column updated_at to moved_at")
    with psycopg.connect(dsn) as connection:
        counts = {one.name: len(connection.execute(one.broken.encode()).fetchall()) for one in CONTRACTS.values()}
    done = run_audit(configured(dsn), "-o", "json")
    assert done.returncode == 1, done.stderr
    told = [one for one in objects(done.stdout) if one["kind"] == "contract" and one["outcome"] != "kept"]
    columns = next(one for one in told if one["contract"] == "columns")
    assert (columns["table"], columns["examples"]) == ("positions", [{"missing": ["updated_at"]}])
    found = {one["contract"]: one["rows"] for one in told if one is not columns}
    assert found == {name: rows for name, rows in counts.items() if rows}
    # Some corruptions of one row hide each other; nearly all are there at once.
    assert len(found) > 0.85 * len(CONTRACTS)
    assert all(one["examples"] for one in told)


def test_a_query_that_takes_too_long_is_unknown_not_kept(dsn: str, configured: Configured, run_audit: Audit) -> None:
    plant(
        dsn,
        "alter table rebalance_monitor.other_groups rename to other_groups_before",
        'create view rebalance_monitor.other_groups as select cluster, "group", kind, records'
        " from rebalance_monitor.other_groups_before where pg_sleep(20) is null",
    )
    done = run_audit(configured(dsn, statement_timeout_ms=5_000), "-o", "json")
    assert done.returncode == 3, done.stdout[-2000:] + done.stderr
    unknown = [one for one in objects(done.stdout)[:-1] if one["outcome"] == "unknown"]
    assert {one["table"] for one in unknown} == {"other_groups"}
    assert all("timeout" in one["why"] for one in unknown)


def test_a_role_that_may_only_read_is_enough_and_less_is_said(
    dsn: str, configured: Configured, run_audit: Audit
) -> None:
    plant(dsn, "drop role if exists auditor", "create role auditor login")
    role = dsn.replace("postgres:@", "auditor:@")
    try:
        refused = run_audit(configured(None, dsn=role))
        assert refused.returncode == 2
        assert "may not read rebalance_monitor.generations" in refused.stderr
        plant(
            dsn,
            "grant usage on schema rebalance_monitor to auditor",
            "grant select on all tables in schema rebalance_monitor to auditor",
        )
        done = run_audit(configured(None, dsn=role))
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        plant(dsn, "drop owned by auditor", "drop role auditor")


@pytest.mark.parametrize(
    ("dsn_text", "sentence"),
    [
        ("postgresql://x:secret@127.0.0.1:1/none", "PostgreSQL at 127.0.0.1:1/none can't be used"),
        (None, "database.dsn is missing"),
        ("no text of this kind", "is not a PostgreSQL connection text"),
    ],
)
def test_what_must_be_mended_is_one_sentence(
    configured: Configured, run_audit: Audit, dsn_text: str | None, sentence: str
) -> None:
    done = run_audit(configured(dsn_text))
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "secret" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_package_or_the_tables_it_says_what_to_do(
    server: str, dsn: str, configured: Configured, run_audit: Audit, tmp_path: Path
) -> None:
    (tmp_path / "great_expectations.py").write_text("raise ImportError(name='great_expectations')")
    done = run_audit(configured(dsn), PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "great_expectations is not installed; install rebalance-monitor[audit]" in done.stderr
    empty = run_audit(configured(server))
    assert empty.returncode == 2
    assert "has no table rebalance_monitor.generations" in empty.stderr


class Told:
    """Notes what an exporter would be told."""

    def __init__(self) -> None:
        self.said: list[int | None] = []

    def audited(self, failed: int | None) -> None:
        self.said.append(failed)

    def wait_for(self, count: int) -> list[int | None]:
        until(lambda: len(self.said) >= count, 120)
        return self.said[:count]


def audited(exporter: Exporter) -> dict[str, float]:
    """What a scraper reads of audits at /metrics."""
    lines = local().get(f"{exporter.url}/metrics", timeout=PATIENCE_S).text.splitlines()
    found = dict(line.split() for line in lines if line.startswith("rebalance_monitor_audit_"))
    return {
        name.removeprefix("rebalance_monitor_audit_").removesuffix('{cluster="c"}'): float(value)
        for name, value in found.items()
    }


def test_the_job_runs_it_again_and_again_and_the_result_is_scraped(dsn: str, configured: Configured) -> None:
    began_s = time.time()
    exporter = Exporter(0, clusters=["c"])
    exporter.start()
    audits = AuditProcess(configured(dsn), exporter, every_ms=100, timeout_ms=900_000)
    try:
        before = {"success": 0, "last_run_timestamp_seconds": 0, "failed_expectations": 0}
        assert audited(exporter) == before, "nothing was audited yet"
        audits.start()
        until(lambda: audited(exporter)["success"] == 1, 120)
        first = audited(exporter)
        assert first["failed_expectations"] == 0
        assert began_s < first["last_run_timestamp_seconds"] <= time.time()
        plant(dsn, *CORRUPTIONS["gap_has_extent"])
        until(lambda: audited(exporter)["failed_expectations"] == 1, 120)
        second = audited(exporter)
        assert second["success"] == 0
        assert second["last_run_timestamp_seconds"] > first["last_run_timestamp_seconds"]
    finally:
        audits.stop()
        exporter.stop()


@pytest.mark.parametrize("program", ["import sys; print('no'); sys.exit(4)", "import os; os.kill(os.getpid(), 9)"])
def test_whatever_becomes_of_it_the_job_goes_on(program: str) -> None:
    told = Told()
    audits = AuditProcess(None, told, every_ms=10, timeout_ms=900_000, command=[sys.executable, "-c", program])
    audits.start()
    assert told.wait_for(2) == [None, None]
    audits.stop()


def test_a_command_that_is_not_there_harms_nobody() -> None:
    told = Told()
    audits = AuditProcess(None, told, every_ms=10, timeout_ms=900_000, command=["/nowhere/at/all"])
    audits.start()
    assert told.wait_for(2) == [None, None]
    audits.stop()


def test_a_child_ends_with_its_parent(dsn: str, configured: Configured) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "rebalance_monitor", "audit", "--config", configured(dsn), "--child"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(PATIENCE_S) == 143


def test_the_first_audit_waits_until_the_job_has_caught_up() -> None:
    told, asked = Told(), list[bool]()

    def caught_up() -> bool:
        asked.append(len(asked) == 2)
        return asked[-1]

    program = 'print(\'{"kind": "audit", "contracts": 1, "broken": 0, "unknown": 0}\')'
    command = [sys.executable, "-c", program]
    audits = AuditProcess(None, told, every_ms=10, timeout_ms=900_000, command=command, caught_up=caught_up)
    audits.start()
    assert told.wait_for(2) == [0, 0]
    audits.stop()
    assert asked == [False, False, True], "and is not asked again"
