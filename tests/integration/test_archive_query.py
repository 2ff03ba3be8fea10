"""The query of docs/history.md over files that the archive wrote: it names the group that was moved most."""

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lab.paths import ROOT
from rebalance_monitor.streaming.core.columns import DAY_MS
from rebalance_monitor.streaming.core.model.results import Change
from rebalance_monitor.streaming.store.archive import ParquetArchive
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.postgres_server import postgres_server
from tests.streaming.builders import commit, generation

pytestmark = pytest.mark.integration
DAY = 20_463
"""2026-01-10."""


def query() -> str:
    page = (ROOT / "docs" / "history.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_documented_query_answers(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moved = {"one": ("a",), "two": ("a", "b", "c")}
    with postgres_server() as dsn, closing(PostgresStore(dsn, "c", now_ms=lambda: DAY * DAY_MS)) as store:
        store.migrate()
        epoch = store.claim()
        for number, (group, gained) in enumerate(moved.items()):
            made = generation(number, group=group, at_ms=DAY * DAY_MS, diff={"w1": Change(gained=gained)})
            store.commit(commit(epoch, number, number + 1, made))
        with store.database.session() as connection:
            assert ParquetArchive(str(tmp_path))(connection, DAY) == 2
    exec(compile(query().replace("/archive/", f"{tmp_path}/"), "history.md", "exec"), {})
    lines = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [[cell.strip() for cell in line] for line in lines[1:]] == [["c", "two", "1", "3"], ["c", "one", "1", "1"]]
