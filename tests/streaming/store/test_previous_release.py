"""The release before runs on the next one's tables and states, and the next one goes on after it.

The next release is this tree with a migration that adds and a field that is new in the stored state. The one before it
is the commit that PREVIOUS names.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.store.state_deltas import applied
from tests.streaming.store import judging

pytestmark = pytest.mark.postgres
ROOT = Path(__file__).parents[3]
PREVIOUS: str | None = None
"""The commit of the last release; None: this tree, which is the first one."""
PARTS = ("assignors", "schemas", "streaming")
ADDS = """-- needs 0001
alter table rebalance_monitor.states add column next_note text;
alter table rebalance_monitor.positions add column next_count bigint not null default 0;
alter table rebalance_monitor.stored_generations add column next_score integer;
alter table rebalance_monitor.incidents add column next_score integer;
create table rebalance_monitor.next_table (name text primary key);
"""
FIELD = "    recurrences: Mapping[str, tuple[int, ...]] = field(default_factory=dict)\n"
WRITTEN = "    lines = [dumps(envelope), "


def taken(folder: Path, commit: str | None) -> Path:
    """The package as a folder that can be put in front of the path."""
    if commit is None:
        source = ROOT
    else:
        source = folder / "source"
        source.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "archive", commit, *PARTS, "rebalance_monitor", "conf"], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "x", "-C", str(source)], input=archive.stdout, check=True)
    made = folder / "path" / "rebalance_monitor"
    made.mkdir(parents=True)
    shutil.copy(source / "rebalance_monitor" / "__init__.py", made)
    for part in PARTS:
        # With what Python has compiled, but for what it is writing now.
        shutil.copytree(source / part, made / part, ignore=shutil.ignore_patterns("*.pyc.*"))
    return made.parent


def next_release(folder: Path) -> Path:
    """This tree with what the next one adds."""
    path = taken(folder, None)
    room = path / "rebalance_monitor" / "streaming"
    numbers = [int(one.name[:4]) for one in (room / "store" / "sql").iterdir()]
    (room / "store" / "sql" / f"{max(numbers) + 1:04}_next.sql").write_text(ADDS)
    state = room / "core" / "fold" / "state.py"
    text = state.read_text()
    assert (text.count(FIELD), text.count(WRITTEN)) == (1, 1)
    text = text.replace(FIELD, f"{FIELD}    next_note: str = ''\n")
    text = text.replace(WRITTEN, f"    envelope = replace(envelope, next_note='of the next release')\n{WRITTEN}")
    state.write_text(text.replace("import dataclass, field", "import dataclass, field, replace"))
    return path


def judge(path: Path, dsn: str, first: int, last: int) -> Mapping[str, Any]:
    """What `judging` says of the release in this folder."""
    done = subprocess.run(
        [sys.executable, judging.__file__, dsn, str(first), str(last)],
        env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told.pop("from").startswith(str(path))
    return told


def notes(dsn: str) -> int:
    """How many states the next release wrote last."""
    with psycopg.connect(dsn) as database:
        rows = database.execute("select state, delta from rebalance_monitor.states").fetchall()
    states = (whole if delta is None else applied(whole, delta) for whole, delta in rows)
    return sum(b"of the next release" in one for one in states)


def test_it_starts_on_the_next_ones_schema_and_states_and_the_next_one_goes_on_after_it(
    dsn: str, tmp_path: Path
) -> None:
    before, later = taken(tmp_path / "before", PREVIOUS), next_release(tmp_path / "later")
    read = list(records_of(judging.CAPTURE))
    cuts = [len(read) * part // 4 for part in range(5)]
    first = judge(before, dsn, cuts[0], cuts[1])
    assert (first["applied"][0], notes(dsn)) == (1, 0)
    upgraded = judge(later, dsn, cuts[1], cuts[2])
    assert len(upgraded["applied"]) >= 1
    assert upgraded["states"] > 0
    assert (written := notes(dsn)) > 0
    rolled_back = judge(before, dsn, cuts[2], cuts[3])
    assert rolled_back == {"applied": [], "states": rolled_back["states"]}
    assert rolled_back["states"] >= written
    again = judge(later, dsn, cuts[3], cuts[4])
    assert again["applied"] == []
    wanted = {
        (one["source"]["partition"], one["source"]["offset"]): one
        for one in replay(read, replace(settings_of(judging.CAPTURE), name="c")).objects
        if one["kind"] == "generation"
    }
    with psycopg.connect(dsn) as database:
        rows = database.execute('select partition, "offset", document from rebalance_monitor.generations').fetchall()
    assert len(wanted) > 40
    assert {(partition, offset): document for partition, offset, document in rows} == wanted
