"""Versions that are supported, and the one sentence about every other."""

import re
from pathlib import Path

import psycopg
import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.config.supported import JAVA, POSTGRESQL, PYTHON, not_tested
from rebalance_monitor.streaming.spark.java import version_of
from rebalance_monitor.streaming.store import database
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("what", "version", "known", "sentence"),
    [
        ("Java", "25", JAVA, "Java 25 is not tested with this release; 17 and 21 are"),
        ("PostgreSQL", "19", POSTGRESQL, "PostgreSQL 19 is not tested with this release; 14, 15, 16, 17 and 18 are"),
        ("Python", "3.13", PYTHON, "Python 3.13 is not tested with this release; 3.11 is"),
        ("Java", "21", JAVA, None),
    ],
)
def test_a_version_that_nobody_tested_is_one_sentence(
    what: str, version: str, known: tuple[str, ...], sentence: str | None
) -> None:
    assert not_tested(what, version, known) == sentence


def test_the_documents_name_these_versions() -> None:
    text = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    for what, known in (("Java", JAVA), ("PostgreSQL", POSTGRESQL), ("Python", PYTHON)):
        assert f"| {what} | {', '.join(known)} |" in text
    classifiers = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert tuple(classifiers) == PYTHON


def test_a_javas_own_file_says_its_version(tmp_path: Path) -> None:
    (tmp_path / "release").write_text('IMPLEMENTOR="X"\nJAVA_VERSION="21.0.8"\n')
    assert version_of(tmp_path) == 21
    assert version_of(tmp_path / "nothing") == 0


@pytest.mark.postgres
def test_a_server_that_is_too_old_is_refused_by_whoever_connects(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Database(dsn)
    version = opened.version()
    assert str(version) in POSTGRESQL
    opened.close()
    monkeypatch.setattr(database, "OLDEST_POSTGRESQL", version + 1)
    with pytest.raises(
        DatabaseUnreachable, match=rf"is version {version}, and {version + 1} is the oldest that is sup"
    ):
        opened.version()


@pytest.mark.postgres
def test_run_ends_with_that_sentence(
    dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "monitor.yaml"
    config.write_text(f"clusters: [{{name: a, bootstrap_servers: 'k:1'}}]\ndatabase: {{dsn: '{dsn}'}}\n")
    monkeypatch.setattr(database, "OLDEST_POSTGRESQL", 99)
    assert main(["run", "--config", str(config)]) == 2
    assert capsys.readouterr().err.endswith("99 is the oldest that is supported; use a newer server\n")
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select to_regnamespace('rebalance_monitor')").fetchone() == (None,)
